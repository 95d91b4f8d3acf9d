"""Our own library in the process, libgdbcuda.so: room for trampolines through which unwinders find the caller.

cuda-load preloads it behind everything else. What is written there is the code and, at the same place of each table
behind it, what `unwinding` says of it. (shim/agent/guards.S)
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress

from gdbcuda.errors import Unreadable
from gdbcuda.files import places
from gdbcuda.linkage.image import LoadedSymbol
from gdbcuda.live import process
from gdbcuda.live.patching import detours
from gdbcuda.live.preloading import preload
from gdbcuda.live.prompt import settings
from gdbcuda.machine import unwinding
from gdbcuda.machine.detour import NoDetour

Tables = dict[int, bytes]  # address -> what is to be there; zeros are there already


@process.until_objects_change
def symbol(name: str) -> LoadedSymbol | None:
    """None where the process has not the library."""
    with suppress(Unreadable):  # the process may be dying
        for one in process.lasting_images():
            if os.path.basename(one.name) == places.AGENT:
                return one.lookup(name)
    return None


def area() -> LoadedSymbol | None:
    """Where the code goes."""
    return symbol(unwinding.AREA)


def is_inside(address: int) -> bool:
    found = area()
    return found is not None and found.address <= address < found.address + found.size


def tables(address: int, code: bytes, entries: Sequence[int]) -> Tables:
    """Of code that is to lie in the area, and comes to ``entries`` as to a function; `NoDetour` where its frames cannot
    be described."""
    found = area()
    assert found is not None
    try:
        described = unwinding.tables(code, [one - address for one in entries])
    except unwinding.UnknownFrame:
        raise NoDetour("what its first instructions do to the stack is not understood") from None
    return {address + found.size * index: raw for index, raw in enumerate(described, 1) if any(raw)}


def write(found: Tables) -> None:
    """All of them, or `NoDetour`."""
    if any(any(process.InferiorMemory().read(address, len(raw))) for address, raw in found.items()):
        raise NoDetour("there is something else in libgdbcuda.so")
    for address, raw in found.items():
        detours.write(address, raw)


def take_back(found: Tables) -> None:
    """No thread is in the code any more."""
    for address, raw in found.items():
        if process.InferiorMemory().read(address, len(raw)) == raw:
            detours.write(address, bytes(len(raw)))


def why_not() -> str:
    """Why the process has not the library."""
    if not settings.value("cuda-guard-stacks"):
        return "'set cuda-guard-stacks' is off"
    if not places.agent():
        return f"it is not built: {places.own_command()} demo --build-only does that"
    if not preload.STATE.files:
        return "cuda-load preloads it, at a start"
    return "gdbserver has started the process" if process.is_remote() else "the next run will have it"

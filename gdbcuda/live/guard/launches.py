"""A child by vfork meets no breakpoint of ours at libc's `syscall`, and at whatever else calls the kernel, until it
executes its program or ends.

It uses its parent's memory, and the kernel lets the parent wait for it. gdb may be busy with another process
meanwhile; a child that has to wait for gdb there keeps its parent from being stopped, and where gdb then stops
everything, it waits for the parent for ever. It does so where two children are launched one after the other: told of
the first one's exec late, gdb forgets that the parent waits for the second. (gdb's infrun.c:
handle_vfork_child_exec_or_exit; linux-nat.c: stop_wait_callback; linux-thread-db.c: try_thread_db_load_1.)
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, suppress

import gdb

from gdbcuda.errors import Unreadable
from gdbcuda.live import process
from gdbcuda.live.breakpoints import locations
from gdbcuda.live.guard.watch import Watch
from gdbcuda.live.host import inferiors
from gdbcuda.live.host.inferiors import PerInferior
from gdbcuda.live.placing import inserted, own_process, silence

OUT: PerInferior[dict[int, bytes]] = PerInferior(dict)  # address -> the program's own byte, which is there now


class KernelCall(Watch):
    """Looks on at what any program may call at any time."""


def on_new_thread(event: gdb.ThreadEvent) -> None:
    """gdb has stopped the parent's other threads, and lets the child go on only after this."""
    child = inferiors.of_event(event)
    sharing = inferiors.in_space(child.progspace)
    if own_process.CAN_CONFINE and len(sharing) > 1 and process.connection() == "native":
        with suppress(OSError), closing(process.RawMemory(child.pid)) as memory:
            for one in sharing:
                take_out(one, memory)


def take_out(inferior: gdb.Inferior, memory: process.RawMemory) -> None:
    of_user = {at for one in gdb.breakpoints() if one.number > 0 for at, _ in locations.places(one)}
    for address in set(addresses(inferior)) - of_user:
        with suppress(Unreadable):
            own = process.InferiorMemory().read(address, 1)
            if own != memory.read(address, 1) == silence.INT3:
                memory.write(address, own)
                OUT.of(inferior)[address] = own


def leave_to_launches() -> None:
    """A thread is about to make a child that shares memory and runs on. gdb takes its breakpoints out of that memory
    then, and gdbserver strikes them off its list. At a vfork gdb stops taking them out at the first that gdbserver does
    not know: what is still there would end the child."""
    if process.is_remote():
        for one in own_process.placed_in(gdb.selected_inferior().num):
            if isinstance(one.breakpoint, KernelCall) and one.breakpoint.is_valid():
                one.breakpoint.switch(False)


def addresses(inferior: gdb.Inferior) -> Iterator[int]:
    for one in own_process.placed_in(inferior.num):
        if isinstance(one.breakpoint, KernelCall) and one.breakpoint.is_valid() and one.breakpoint.enabled:
            yield one.address


def put_back(event: object = None) -> None:
    """Where no child has the memory any more."""
    for inferior in gdb.inferiors():
        out = OUT.of(inferior)
        if out and inferior.pid and len(inferiors.in_space(inferior.progspace)) == 1:
            wanted = set(addresses(inferior)) - silence.SILENT.of(inferior) if are_in(inferior) else set()
            with suppress(OSError), closing(process.RawMemory(inferior.pid)) as memory:
                for address, own in out.items():
                    with suppress(Unreadable):
                        if address in wanted and memory.read(address, 1) == own:
                            memory.write(address, silence.INT3)
            out.clear()


def are_in(inferior: gdb.Inferior) -> bool:
    """gdb's breakpoints, in the process: it tells of what ends with no thread selected."""
    return inserted.always() or any(one.is_running() for one in inferiors.threads(inferior))

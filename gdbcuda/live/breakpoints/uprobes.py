"""Breakpoints where a uprobe is: the kernel takes every int3 there for its own, and no debugger hears of it.

The uprobe's own int3 is in the memory of each process that has the file mapped, whichever process is watched.
(Linux: kernel/events/uprobes.c, uprobe_pre_sstep_notifier, handle_swbp.)
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress

import gdb

from gdbcuda.errors import Unreadable
from gdbcuda.live import process
from gdbcuda.live.breakpoints.locations import Location
from gdbcuda.live.host import console, inferiors
from gdbcuda.live.host.inferiors import PerInferior
from gdbcuda.text.printable import visible
from gdbcuda.text.sentences import some

INT3 = b"\xcc"
MOST_NAMED = 4
WHY = """
an int3 that is not gdb's is there. If it is a uprobe's (bpftrace, perf,
gdbcuda trace --with uprobe), the kernel keeps the stops: end what watches, and
run the program again.
"""
ON_JUMP = """\
gdbcuda: somebody has put a uprobe (bpftrace, perf) or a breakpoint on the jump of Breakpoint {} in
  {}: calls of it crash, as they go on in the middle of the jump. End what watches, and run the program again
"""
SAID: PerInferior[set[tuple[int, int]]] = PerInferior(set)  # breakpoint and address


def tell(breakpoint: gdb.Breakpoint, places: Sequence[Location]) -> None:
    """Of the places of one inferior. Once in a process."""
    inferior = inferiors.numbered(places[0].inferior) if places else None
    if inferior is not None and inferior.pid:
        with inferiors.selected(inferior):
            tell_of_selected(breakpoint.number, [one for one in places if one.enabled])


def tell_of_selected(number: int, places: Sequence[Location]) -> None:
    """One that cannot be looked at now is not the selected one."""
    selected = gdb.selected_inferior().num
    for place in (one for one in places if one.inferior == selected and (number, one.address) not in SAID()):
        if is_at(place.address):
            SAID().add((number, place.address))
            console.write(text(number, visible(place.function), visible(os.path.basename(place.file))))


def tell_of_jump(number: int, address: int, there: bytes, jump: bytes, own: bytes) -> None:
    """Once in a process, where somebody has made a byte of our jump an int3. (That a jump of ours is there is what our
    caller knows: a debugger's breakpoints are on all of its instructions, or on none.)"""
    from gdbcuda.elf.code.probed_jump import is_int3_in_jump  # loaded when first used

    if is_int3_in_jump(there, jump, own) and (number, address) not in SAID():
        SAID().add((number, address))
        console.write(ON_JUMP.format(number, visible(process.symbol_of(address)[0])))


def is_at(address: int) -> bool:
    """An int3 that is neither gdb's, which reads what is below its own, nor ours nor the file's. (Over a link nobody
    knows what the file has.)"""
    return process.connection() == "native" and is_others(address)


def is_others(address: int) -> bool:
    """Of a process of this machine."""
    with suppress(Unreadable):
        return process.original_code(address, 1) == INT3 and process.differs_from_file(address, 1)
    return False


def text(number: int, function: str, file: str) -> str:
    return f"Breakpoint {number} does not stop in {function} of {file}:{WHY}"


def tell_of_calls(file: str, functions: Mapping[int, str]) -> None:
    """Of those, by their addresses, that a log by stops is to have."""
    is_here = process.connection() == "native"
    kept = sorted(name for address, name in functions.items() if is_here and is_others(address))
    if kept:
        of = visible(f"{some(kept, MOST_NAMED)} of {os.path.basename(file)}")
        console.write(f"Not recorded are calls of {of}:{WHY}")

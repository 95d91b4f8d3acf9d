"""A register that gdb has borrowed of a thread, and does not give back.

gdb steps a thread off a breakpoint in a copy of the instruction. Where that names memory from its own place, the copy
does so from a register that holds the address behind the instruction. A signal, or gdb's stop for another thread, may
come before the copy is executed: gdb up to 13 then puts the program counter back, and not the register, which may be an
argument. So at breakpoints of ours it is put back here, when the thread is met again or gdb stops.
(gdb's amd64-tdep.c: fixup_riprel; displaced-stepping.c: displaced_step_buffers::finish.)
"""

from __future__ import annotations

from contextlib import suppress

import gdb

from gdbcuda.elf.code.x86_read import LONGEST_INSTRUCTION
from gdbcuda.live import process
from gdbcuda.live.host import inferiors
from gdbcuda.live.host.inferiors import PerInferior
from gdbcuda.live.threads import call_registers, positions
from gdbcuda.text.patterns import pattern

LENT = ("rcx", "rbx", "rbp", "rsi", "rdi")  # gdb takes the first that the instruction does not name
KEPT = ("rax", "rdx", "r8", "r9", "r10", "r11")
FROM_OWN_PLACE = pattern(r"[(\[]%?rip\b")
ARE_LOST = not hasattr(gdb, "notify_mi")  # gdb 14 is the first that gives them back itself, and that has this
MOST = 4  # arrivals of a thread: signal handlers make calls too

Arrivals = dict[tuple[int, int], tuple[int, ...]]  # by program counter and stack pointer: what was in registers
ARRIVALS: PerInferior[dict[int, Arrivals]] = PerInferior(dict)  # by thread


def arrived(address: int) -> None:
    """The selected thread is at a breakpoint, off which gdb will step it."""
    if not is_lost_at(address):
        return
    known = ARRIVALS().setdefault(call_registers.thread_number(), {})
    give_back(known, address)
    place = address, call_registers.current_stack_pointer()
    known.pop(place, None)
    known[place] = values()
    if len(known) > MOST:
        del known[next(iter(known))]


def is_lost_at(address: int) -> bool:
    return ARE_LOST and is_stepped_aside() and names_own_place(address)


def is_stepped_aside() -> bool:
    """By default where other threads run on meanwhile."""
    wanted = gdb.parameter("displaced-stepping")  # None: auto
    return bool(gdb.parameter("non-stop") or not process.is_remote()) if wanted is None else bool(wanted)


@process.until_objects_change
def names_own_place(address: int) -> bool:
    if process.machine() != "x86-64":
        return False
    try:
        first = gdb.selected_inferior().architecture().disassemble(address)[0]
    except gdb.MemoryError:
        return False
    return bool(FROM_OWN_PLACE.search(str(first["asm"])))


def values() -> tuple[int, ...]:
    return tuple(map(process.register, (*LENT, *KEPT)))


def give_back(known: Arrivals, address: int) -> None:
    """To the selected thread, if it is there once more."""
    before = known.get((address, call_registers.current_stack_pointer()))
    if before is None:
        return
    changed = [one for one in zip((*LENT, *KEPT), before, values()) if one[1] != one[2]]
    if len(changed) == 1:
        name, own, now = changed[0]
        if name in LENT and address < now <= address + LONGEST_INSTRUCTION:
            process.set_register(name, own)


def on_stop(event: object) -> None:
    """A thread that was stopped in the middle of its step is at the breakpoint again, and will not be met there."""
    for inferior in gdb.inferiors():
        known = ARRIVALS.of(inferior)
        if known:
            threads = inferiors.threads(inferior)
            for ended in known.keys() - {one.num for one in threads}:
                del known[ended]
            with positions.same_thread():
                for thread in threads:
                    with suppress(gdb.error):  # one that has gone, of which gdb has not heard
                        if known.get(thread.num) and positions.is_switched(thread):
                            give_back(known[thread.num], process.register("pc"))

"""A program that confines itself with seccomp would be ended for a system call of the recorder's: it makes none then.

Where the program makes the call past libc, gdb looks on at that instruction. Many calls come by some such instructions,
for each of which the program would wait: after so many of them the recorder is careful without having seen one. So it
is from the first child on that shares the program's memory: gdb takes its breakpoints out of both, and would look on no
more. (gdb's infrun.c: follow_fork_inferior.)

A child that gdb lets go may confine itself as well, and nobody reads what it records: it records nothing. It has lost
all breakpoints of gdb's, also the one that nobody meets.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Callable

import gdb

from gdbcuda.errors import Unreadable
from gdbcuda.live import process
from gdbcuda.live.guard import forks, launches, libc_calls
from gdbcuda.live.guard.launches import KernelCall
from gdbcuda.live.guard.watch import Watch
from gdbcuda.live.guarding import own_syscalls, seccomp
from gdbcuda.live.host import inferiors
from gdbcuda.live.host.inferiors import PerInferior
from gdbcuda.live.layers import this_snapshot
from gdbcuda.live.placing import silence
from gdbcuda.live.recording.in_process.past_gdb import write_word
from gdbcuda.live.recording.in_process.ring_process import RingProcess
from gdbcuda.live.threads import call_registers, children
from gdbcuda.machine.x86.x86_syscalls import CONFINING, ENDING, THREAD_ENDING
from gdbcuda.rings.ring_layout import NO_TICKS, STATE, WORD

MOST_LOOKS = 200
MOST_WATCHED = 32  # instructions of an object
IS_CLONING: PerInferior[list[bool]] = PerInferior(list)  # at the last stop a thread was in such a call
SHARES = "the program makes a child that shares its memory (clone, CLONE_VM), and gdb would not see it confine itself"


def look_out(state: RingProcess, on_last_call: Callable[[], None]) -> None:
    """If nobody does yet."""
    if state.watches is not None:
        return
    state.watches = []
    if seccomp.is_confined():
        state.confine()
    look_out_past_libc(state, on_last_call)
    start = process.auxiliary().get("AT_ENTRY")
    if start is not None:
        state.watches.append(NeverMet(start))


def on_stop(state: RingProcess, on_last_call: Callable[[], None]) -> None:
    IS_CLONING()[:] = [True] * children.is_one_being_made()
    look_out(state, on_last_call)


def on_continue(state: RingProcess) -> None:
    """A child that has the memory, or is about to, ends at the first of them."""
    state.switch_watches(not (IS_CLONING() or children.is_memory_shared()))


def tell_who_is_looked_on(state: RingProcess, are_children_recorded: bool) -> None:
    """The recorder. (``are_children_recorded``: without gdb.)"""
    lets_go = gdb.parameter("follow-fork-mode") == "parent" and gdb.parameter("detach-on-fork")
    place = next((one.address for one in state.watches or () if isinstance(one, NeverMet)), 0)
    wanted = place if lets_go and not are_children_recorded else 0
    if state.reader is not None and wanted != state.looked_on:
        write_word(state.reader.state + STATE["LOOKED_ON"] * WORD, wanted)
        state.looked_on = wanted


def may_meet_breakpoints() -> bool:
    """Each trap of a program that catches SIGTRAP takes ten times as long while one of them is anywhere: it meets none,
    unless it may confine itself. (Go's programs catch every signal, and make all system calls by one instruction.)"""
    names = {*seccomp.WAYS, *seccomp.WITHOUT_TICKS}
    is_by_name = any(one.symbols.undefined(names) for one in this_snapshot.objects().all)
    return is_by_name or not process.catches_sigtrap() or bool(own_syscalls.objects())


def look_out_in_libc(state: RingProcess, on_last_call: Callable[[], None]) -> None:
    """Once."""
    if state.watches is not None and not any(isinstance(one, libc_calls.LibcCall) for one in state.watches):
        state.watches += libc_calls.watches(
            (libc_calls.LAST, on_last_call),
            (libc_calls.EXEC, on_last_call),
            (seccomp.WAYS, state.confine),
            (seccomp.WITHOUT_TICKS, lambda: state.confine(NO_TICKS)),
            (forks.ALL_SHARING_WAYS, lambda: on_sharing(state)),
        )


def look_out_past_libc(state: RingProcess, on_last_call: Callable[[], None]) -> None:
    """In objects that have come since, too."""
    is_to_look = may_meet_breakpoints()
    if is_to_look:
        look_out_in_libc(state, on_last_call)
    for one in own_syscalls.objects():
        fresh = one.instructions - state.looked_at
        if one.in_doubt or len(one.instructions) > MOST_WATCHED:
            be_careful(state, one.reason)
            continue
        state.looked_at |= fresh
        assert state.watches is not None
        state.watches += [SystemCall(address, state, one.reason, on_last_call) for address in fresh]
    if is_to_look:
        look_out_for_ends(state, on_last_call)


def look_out_for_ends(state: RingProcess, on_last_call: Callable[[], None]) -> None:
    """Where the process ends, or becomes another program, past libc, and does nothing else: of instructions that make
    many calls those are watched that may confine it."""
    ends, of_threads, others = (
        {at for one in own_syscalls.objects(wanted) for at in one.instructions}
        for wanted in (ENDING, THREAD_ENDING, CONFINING)
    )
    fresh = ends - others - state.looked_at
    if len(fresh) <= MOST_WATCHED:
        assert state.watches is not None
        state.looked_at |= fresh
        state.watches += [KernelCall(address, on_last_call) for address in fresh - of_threads]
        state.watches += [ThreadEnd(address, on_last_call) for address in fresh & of_threads]


def on_new_thread(state: RingProcess) -> None:
    for one in state.watches or ():
        if isinstance(one, ThreadEnd) and one.ends_threads:
            one.switch(False)


def be_careful(state: RingProcess, reason: str) -> None:
    if not state.careful:
        state.careful = reason
        state.confine()


def on_sharing(state: RingProcess) -> None:
    be_careful(state, SHARES)
    forks.remember()
    launches.leave_to_launches()


class NeverMet(Watch):
    """At the program's entry point."""

    def __init__(self, address: int) -> None:
        super().__init__(address, lambda: None)


class ThreadEnd(KernelCall):
    """Where a thread ends by itself, and with the last one the process. gdb steps a thread off a breakpoint in a copy
    of the instruction, and does not get over its end there: gdb 13 waits for it for ever, and if the program ends
    meanwhile its exit code is lost. So it is off as long as there are others."""

    ends_threads = True

    def __init__(self, address: int, look: Callable[[], None]) -> None:
        super().__init__(address, look)
        self.switch(True)

    def switch(self, on: bool) -> None:
        super().switch(on and not (self.ends_threads and are_others()))


def are_others() -> bool:
    return not inferiors.has_one_thread()


class SystemCall(ThreadEnd):
    """At the instruction."""

    ends_threads = False  # for all that has been seen

    def __init__(self, address: int, state: RingProcess, reason: str, on_last_call: Callable[[], None]) -> None:
        super().__init__(address, self.see)
        self.on_last_call = on_last_call
        self.state, self.reason, self.looks, self.in_vain = state, reason, 0, 0

    def see(self) -> None:
        with suppress(Unreadable, gdb.error):
            words = [process.register(one) for one in ("rax", "rdi", "rsi")]
            self.ends_threads |= words[0] in THREAD_ENDING.numbers
            if words[0] in forks.NUMBERS or (self.ends_threads and are_others()):
                self.go_out_of_the_way()
            elif words[0] in ENDING.numbers:
                self.on_last_call()
            if seccomp.stops_ticks_by_syscall(*words):
                self.state.confine(NO_TICKS)
            elif seccomp.by_syscall(*words):
                self.state.confine()
            elif forks.shares_and_runs_on_by_syscall(*words):
                on_sharing(self.state)
                forks.stay_in_front(call_registers.thread_number(), range(self.address, self.address + 1))
            else:
                self.count()

    def go_out_of_the_way(self) -> None:
        """Up to the next stop: who is at the instruction is not stepped off it then. (Where it forks, gdb lets the
        parent go on in the copy.)"""
        be_careful(self.state, self.reason)
        self.switch(False)

    def count(self) -> None:
        self.looks += 1
        if self.looks >= MOST_LOOKS:
            be_careful(self.state, self.reason)
            self.in_vain = silence.let_pass(self.address, self.in_vain, lambda: self.switch(False))

"""How often each fault was injected: in the process by the machine code of its guard, or by gdb.

One number for each breakpoint and process. It is kept in 8 bytes of the process from the first guard on, and of a
process that has ended as it was last seen.
"""

from __future__ import annotations

from gdbcuda.errors import Unreadable
from gdbcuda.live import process
from gdbcuda.live.breakpoints import ours
from gdbcuda.live.patching import counter_words


def word(number: int) -> int:
    """The address where the process counts; `NoTrampolineSpace`."""
    one = ours.of(number).here().injected
    if one.word is None:
        one.word = counter_words.reserve()
        counter_words.write(one.word, one.number)
    return one.word


def count(number: int) -> int:
    """In the process that runs, else in the last one."""
    if not process.is_alive():
        return ours.of(number).ended().injected
    one = ours.of(number).here().injected
    if one.word is not None:
        try:
            one.number = counter_words.read(one.word)
        except Unreadable:  # the process is going
            one.word = None
    return one.number


def admit(number: int, most: int | None) -> bool:
    """One more by gdb, if there may be."""
    before = count(number)
    if most is not None and before >= most:
        return False
    one = ours.of(number).here().injected
    one.number = ours.of(number).ended().injected = before + 1
    if one.word is not None:
        counter_words.write(one.word, one.number)
    return True


def withdraw(number: int) -> None:
    """One less by gdb: the call had nothing that could be replaced."""
    one = ours.of(number).here().injected
    one.number = ours.of(number).ended().injected = max(0, count(number) - 1)
    if one.word is not None:
        counter_words.write(one.word, one.number)


def keep() -> None:
    """The process's memory goes with it."""
    for one in ours.filtered() if process.is_alive() else ():
        if one.filter is not None and one.filter.fault is not None:
            one.ended().injected = count(one.number)

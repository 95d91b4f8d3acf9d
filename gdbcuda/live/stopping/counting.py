"""How many calls a breakpoint's condition has let through in this process: what ``nth``, ``every`` and ``after`` ask.

One number for each breakpoint and process, which begins at zero with the process. It is kept here while gdb evaluates
the condition, and in the process while a guard counts there (`move_into_process`, `take_back`): a change of who
evaluates loses no call. A call that a guard has counted already must not be counted again by gdb's condition: the
guard answers for it (`already_decided`).
"""

from __future__ import annotations

from typing import Callable

from gdbcuda.errors import Unreadable
from gdbcuda.live.breakpoints import ours
from gdbcuda.live.breakpoints.ours import CallCount
from gdbcuda.live.patching import counter_words
from gdbcuda.live.threads import arrivals

# Asked in turn with a breakpoint's number, about the call that the selected thread is at: True or False if the
# counting terms have been decided (and the call counted) before gdb came to it, None if not.
already_decided: list[Callable[[int], bool | None]] = []


def of(breakpoint: int) -> CallCount:
    """The count of this breakpoint in the selected inferior's process."""
    return ours.of(breakpoint).here().count


def value(breakpoint: int) -> int:
    """How many calls the rest of the condition has let through until now."""
    count = of(breakpoint)
    if count.address is not None:
        try:
            count.number = counter_words.read(count.address)
        except Unreadable:
            count.address = None  # gone with its object: what was last seen goes on
    return count.number


def write(breakpoint: int, number: int) -> None:
    count = of(breakpoint)
    count.number = number
    if count.address is not None:
        counter_words.write(count.address, number)


def move_into_process(breakpoint: int, address: int) -> None:
    """From now on the process counts at ``address``, 8 bytes, on from where we are."""
    number = value(breakpoint)
    of(breakpoint).address = address
    write(breakpoint, number)


def take_back(breakpoint: int) -> None:
    """From now on we count, on from where the process is: to be called before its 8 bytes go."""
    if ours.find(breakpoint) is not None:  # else it is being deleted, which has ended its guard
        value(breakpoint)
        of(breakpoint).address = None


def passes(breakpoint: int, test: Callable[[int], bool]) -> bool:
    """One more call: does ``test`` say yes to its ordinal (1 is the first)? Every call is counted, and stops, once."""
    for decided in already_decided:
        answer = decided(breakpoint)
        if answer is not None:
            return answer
    return not arrivals.is_met_again(of(breakpoint).asked_last) and test(one_more(breakpoint))


def one_more(breakpoint: int) -> int:
    """A call's number: 1 is the first."""
    number = value(breakpoint) + 1
    write(breakpoint, number)
    return number

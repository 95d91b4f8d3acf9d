"""Faults in the trampoline of a guard: which calls they mean, what is done to them."""

from __future__ import annotations

from collections.abc import Iterable

from gdbcuda.faults.effects import Fault
from gdbcuda.faults.fault_code import Faults
from gdbcuda.files import places
from gdbcuda.live.breakpoints import ours
from gdbcuda.live.breakpoints.ours import GuardFilter, InjectedFault
from gdbcuda.live.patching import agent, trampoline_space
from gdbcuda.live.stopping import injections
from gdbcuda.machine import abi, trampoline
from gdbcuda.machine.detour import Detour, NoDetour

RECORDED = "its calls are being recorded, and it has another breakpoint"


def numbers(members: Iterable[int]) -> list[int]:
    """Those of the breakpoints that are faults."""
    return [number for number in members if any(one.fault is not None for one in ours.filters([number]))]


def of_function(found: Detour, members: Iterable[int]) -> Faults | None:
    """What the trampoline does in front of its tests; None where there are no faults. `NoDetour`."""
    wanted = [one for one in ours.filters(sorted(members)) if one.fault is not None]
    if not wanted:
        return None
    if len(list(members)) > 1 and trampoline_space.recorded_entry(found.function) is not None:
        raise NoDetour(RECORDED)
    made = Faults([code_of(one, one.fault) for one in wanted if one.fault], stack_words(wanted))
    if made.is_returned_to and not trampoline_space.is_unwound(found.function):
        raise NoDetour(f"{places.AGENT}, which calls return to, is not in the process, or near ({agent.why_not()})")
    return made


def code_of(wanted: GuardFilter, fault: InjectedFault) -> Fault:
    test = trampoline.all_of([term() for term in wanted.terms])
    return Fault(test, fault.plan.effect, injections.word(fault.number), fault.plan.most)


def stack_words(wanted: Iterable[GuardFilter]) -> int:
    """As many as any of the functions has: one code may stand for several."""
    return max(abi.stack_words(one.fault.function) for one in wanted if one.fault is not None)

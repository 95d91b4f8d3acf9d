"""``cuda-faults``, and what the commands that make faults say."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from gdbcuda.live import breakpoints, process
from gdbcuda.live.breakpoints import ours
from gdbcuda.live.commands import breaks
from gdbcuda.live.guarding import guards
from gdbcuda.live.layers import names
from gdbcuda.live.prompt.command import command
from gdbcuda.live.stopping import injections
from gdbcuda.text import render
from gdbcuda.text.printable import visible
from gdbcuda.text.sentences import counted, some

if TYPE_CHECKING:
    from gdbcuda.faults.fault_plan import FaultPlan
    from gdbcuda.live.faulting.fault_requests import FaultRequest

MOST_SHOWN = 8


def made(request: FaultRequest, verb: str) -> str:
    """One line a function, or one for many."""
    plans, left_out, condition = request.make()
    rest = breaks.called_from(request.request) + (f", if {condition.text}" if condition is not None else "")
    if len(plans) > MOST_SHOWN:
        said = next(iter(plans.values())).said
        numbers = names.breakpoint_numbers([*plans])
        rows = [f"{numbers}: {len(plans)} functions, each {verb} {said}{rest}"]
    else:
        rows = [row(number, plan, verb, request, rest) for number, plan in plans.items()]
    if left_out:
        rows.append(f"  (not for {some(left_out, breaks.MOST_SHOWN)})")
    return "\n".join(map(visible, rows))


def row(number: int, plan: FaultPlan, verb: str, request: FaultRequest, rest: str) -> str:
    one = breakpoints.by_number(number)
    assert one is not None
    place = " ".join(breaks.where(one, request.request)).strip()
    return f"Breakpoint {number}: {ours.wish(number).function} in {place} {verb} {plan.said}{rest}{breaks.guarded(one)}"


@command("cuda-faults", purpose="fault")
def cuda_faults() -> str:
    """Show the faults, and how often each was injected.

    Those of cuda-fail, cuda-delay and cuda-set. Behind "in the process" a guard does it, without a stop.
    Behind "by gdb" each call of the function stops, and the line says why there is no guard. disable, enable
    and delete take the numbers.

    Examples:
      cuda-faults
      delete 2"""
    numbers = faults()
    if not numbers:
        return "no faults; cuda-fail, cuda-delay and cuda-set make some"
    guards.refresh()
    rows = [(str(number), *said(number)) for number in numbers]
    return render.table(rows, ["fault", "injected", "by", "what"])


def faults() -> Sequence[int]:
    return sorted(one.number for one in ours.filtered() if one.wish is not None and one.filter and one.filter.fault)


def said(number: int) -> tuple[str, str, str]:
    found = ours.filter_of(number)
    assert found is not None and found.fault is not None
    one = breakpoints.by_number(number)
    who = by_whom(number) if one is not None and one.enabled else "disabled"
    return counted(injections.count(number), "time"), who, visible(ours.wish(number).words)


def by_whom(number: int) -> str:
    if not process.is_alive():
        return "no process"
    state, one = guards.state_of(number), breakpoints.by_number(number)
    if state == "guarded":
        return "in the process"
    return "nobody yet" if one is None or one.pending else f"by gdb{state.partition('not guarded')[2]}"

"""Whether a program sees that the driver has refused a call, and whether the books are right then."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from gdbcuda import api
from gdbcuda.contract.answers import statuses
from gdbcuda.contract.c_programs.building import Ran
from gdbcuda.contract.failing.one_function import SUCCESS, DriverFault
from gdbcuda.contract.failing.run_output import ProgramCall
from gdbcuda.ledger.effects import roles
from gdbcuda.text.units import human


class RunJudge(NamedTuple):
    """``usual``: the calls of a run in which the driver refuses nothing."""

    table: api.Table
    usual: Sequence[ProgramCall]

    def wrong(self, ran: Ran, made: Sequence[ProgramCall], fault: DriverFault) -> tuple[str, str]:
        """What is wrong first, and an example; "" where nothing is, or where it did not come to that call."""
        at = next((index for index, one in enumerate(made) if one.is_refused), None)
        begin, example = f"the driver refuses {fault.symbol}", f"its call number {fault.nth}"
        if ran.status:
            said = "".join(ran.errors.strip().splitlines()[-1:])
            return f"{begin}: a program {ran.ending}{self.behind(made)}", ": ".join(filter(None, [example, said]))
        if at is None:
            return "", ""
        what = next(self.wrongs(made, at, fault), "")
        return (f"{begin}: {what[0]}", f"{example}, {what[1]}" if what[1] else example) if what else ("", "")

    def wrongs(self, made: Sequence[ProgramCall], at: int, fault: DriverFault) -> Iterator[tuple[str, str]]:
        call = made[at]
        if call.result not in statuses(self.table.functions[call.name]).values():
            yield f"{call.name} returns what is not in {self.table.functions[call.name].result.name}", str(call.result)
        if call.result == SUCCESS and self.is_lost(call, fault):
            yield f"{call.name} says that all is well", ""
        failing = {one.name for one in self.usual if one.result}
        later = next((one for one in made[at + 1 :] if one.result and one.name not in failing), None)
        if later is not None:
            yield f"{later.name} fails later, which the driver has not refused", self.error_name(later)
        if call.result and not self.is_asking(call):
            yield from self.changed(made, at)
        yield from self.left_over(made)

    def is_asking(self, call: ProgramCall) -> bool:
        role = roles.role(self.table.functions[call.name])
        return role is not None and role.what == roles.INFO

    def is_lost(self, call: ProgramCall, fault: DriverFault) -> bool:
        """It is the program's own call that was refused, and the hook library has not tried again, or another way."""
        if api.base_name(fault.symbol) != api.base_name(call.name):
            return False
        at = next(index for index, one in enumerate(call.reached) if one.is_refused)
        if call.reached[at].thread != call.thread:
            return False  # a thread of the hook library's own has asked at that moment
        behind = [one.symbol for one in call.reached[at + 1 :]]
        return not any(api.base_name(one) == api.base_name(call.name)
                       or roles.takes_device_memory(self.table.functions[one]) for one in behind)  # fmt: skip

    def changed(self, made: Sequence[ProgramCall], at: int) -> Iterator[tuple[str, str]]:
        before, after = taken(reversed(made[:at])), taken(made[at:])
        for name, now in after.items():
            if now != before.get(name, now):
                yield f"{made[at].name} fails, and changes how much {name} says is used", human(now - before[name])

    def left_over(self, made: Sequence[ProgramCall]) -> Iterator[tuple[str, str]]:
        start, end, usual = taken(self.usual), taken(reversed(made)), taken(reversed(self.usual))
        for name, now in end.items():
            if usual.get(name) == start.get(name) != now:
                by = human(now - start[name])
                yield f"all is given back, and {name} does not return to the start", by

    def behind(self, made: Sequence[ProgramCall]) -> str:
        """The last call that does something."""
        names = [one.name for one in made if not self.is_asking(one)]
        return f" after {names[-1]}" if names else ""

    def error_name(self, call: ProgramCall) -> str:
        result = self.table.functions[call.name].result
        return (result.enum.name_of(call.result) if result.enum else None) or str(call.result)


def taken(made: Sequence[ProgramCall] | Iterator[ProgramCall]) -> dict[str, int]:
    """What each function says first."""
    found: dict[str, int] = {}
    for one in made:
        if one.said is not None:
            found.setdefault(one.name, one.said.taken)
    return found

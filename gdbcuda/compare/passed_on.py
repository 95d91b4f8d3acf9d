"""What a hook library has made of the calls that it got: what the driver, or the next library, was asked."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gdbcuda import api
from gdbcuda.compare.findings import Findings
from gdbcuda.compare.run_values import ValueReader
from gdbcuda.compare.sides import ComparedCall, RunSide
from gdbcuda.log.views.changes import changed

RESOLVING = "proc-address"  # the role of what hands out functions: that the hook's own are other ones is its job


class PassedOn:
    """Of one run. ``extra``: calls that no call of the program is passed on by."""

    def __init__(self, side: RunSide) -> None:
        self.side, self.findings = side, Findings()
        self.reader = ValueReader(side.table, (side.pids, side.pids))
        self.extra: list[ComparedCall] = []
        self.forwarded = 0
        for process in side.processes:
            missing: list[ComparedCall] = []
            extra = [one for call in process.calls() for one in self.of_call(call, missing)]
            self.tell_of_missing(missing, extra)

    def of_call(self, one: ComparedCall, missing: list[ComparedCall]) -> Iterator[ComparedCall]:
        """The extra calls; ``missing`` gets a call that was not passed on."""
        if one.of_program:
            self.reader.learn_both(one.name, one.call.out)
        if one.is_hooks and one.of_program and not resolves(one, self.side.table):
            asked = list(one.calls_of_others)
            passed = forwarded(one, asked)
            self.forwarded += passed is not None
            if passed is not None:
                self.compare(one, passed)
            elif not one.call.ended:  # one that has not returned may yet be
                missing.append(one)
            yield from (other for other in asked if other is not passed and not resolves(other, self.side.table))
        elif not one.of_program and not one.is_hooks and one.parent is None:  # by a thread of the hook library's
            yield one

    def compare(self, one: ComparedCall, passed: ComparedCall) -> None:
        if passed.name != one.name:
            self.tell(f"forwarded as {passed.name}: {one.name}", passed)
        for change in changed(one.call, passed.call):
            if change.what == "argument":
                values = self.reader.shown(one.name, change.name, change.asked, change.passed)
                self.tell(f"driver argument {one.name} {change.name}", passed, values)

    def tell_of_missing(self, missing: list[ComparedCall], extra: list[ComparedCall]) -> None:
        """What is missing in one call and extra in another is late, unless that has happened meanwhile: another thread
        makes the calls of the driver."""
        late: dict[str, list[ComparedCall]] = {}
        for one in extra:
            late.setdefault(one.call.base, []).append(one)
        for one in missing:
            later = late.get(one.call.base)
            meanwhile = next((other for other in later or () if is_within(other, one)), None)
            if later and meanwhile:
                later.remove(meanwhile)
                extra.remove(meanwhile)
                self.forwarded += 1
                self.compare(one, meanwhile)
            elif later:
                self.tell(f"forwarded late {one.name}", one)
                extra.remove(later.pop(0))
            else:
                self.tell(f"never forwarded {one.name}", one)
        for one in extra:
            fails = f", which fails: {one.call.result}" if one.call.failed else ""
            self.tell(f"extra call {one.name}{fails}", one)
        self.extra += extra

    def tell(self, head: str, one: ComparedCall, values: tuple[str, str] = ("", "")) -> None:
        self.findings.add(head, one.name, values, lambda: self.side.writer.line(one.call), is_drivers=True,
                          at=one.call.start)  # fmt: skip


def is_within(inner: ComparedCall, outer: ComparedCall) -> bool:
    """In time."""
    end = outer.call.end
    return end is not None and outer.call.start <= inner.call.start <= end


def forwarded(one: ComparedCall, asked: Iterable[ComparedCall]) -> ComparedCall | None:
    """A hook library may make such calls of its own, too: the one that is most alike."""
    same = [other for other in asked if other.call.base == one.call.base]
    return min(same, key=lambda other: len(list(changed(one.call, other.call))), default=None)


def resolves(one: ComparedCall, table: api.Table) -> bool:
    function = table.function(one.name)
    return function is not None and function.role == RESOLVING

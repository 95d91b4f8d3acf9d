"""One call of a hooked function whose answer is prescribed, and what was not passed on of it."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

from gdbcuda import api
from gdbcuda.api.table import STATUS_TYPES
from gdbcuda.contract.answers import DriverCall, driver_calls, prescription
from gdbcuda.contract.arguments import TEXT_AT, ArgumentMaker, Arguments, CallerMemory, meaningful, to_bytes
from gdbcuda.contract.bench import Bench
from gdbcuda.contract.program import ANSWER, Called, Program
from gdbcuda.contract.registry import Broken
from gdbcuda.contract.targets import HookTarget
from gdbcuda.text.sentences import some

ERRNO_BEFORE, ERRNO_AFTER = 11, 77  # as the program and the driver leave it
MOST_BYTES = 16  # of a value that are shown


class OneCall:
    def __init__(self, bench: Bench, program: Program, target: HookTarget, dice: random.Random) -> None:
        self.bench, self.program, self.target = bench, program, target
        self.function = bench.table.functions[target.symbol]
        self.maker = ArgumentMaker(self.function, dice, program.arena)
        self.given: Arguments = self.maker.make()
        self.result, self.is_written = b"", True
        self.called: Called | None = None
        self.reached: list[DriverCall] = []

    def made(self, status: int, is_written: bool = True) -> OneCall:
        """The driver answers with that status, and has written its out-values if ``is_written``."""
        self.result, self.is_written = self.prescribed(status), is_written
        answer = prescription(self.function, self.given, self.result, ERRNO_AFTER, is_written)
        pokes = [f"poke {one.offset:x} {one.before.hex()}" for one in self.given.pointees if one and one.before]
        address = self.bench.address(self.program, self.target)
        self.called = self.program.call(
            self.target.symbol, address, self.given.values, errno=ERRNO_BEFORE,
            before=[self.program.set(ANSWER, answer), *pokes],
        )  # fmt: skip
        self.reached = driver_calls(self.program.seen())
        return self

    def prescribed(self, status: int) -> bytes:
        kind = self.function.result
        if kind.spelling == STATUS_TYPES[self.function.api]:
            return to_bytes(status, kind.size)
        return self.maker.address(TEXT_AT) if kind.kind == "pointer" else self.maker.value(kind, "")

    # -- what is broken ------------------------------------------------------------------------------------

    def broken(self) -> list[Broken]:
        calls = [one for one in self.reached if one.symbol == self.target.symbol]
        if not calls:  # then the driver has answered nothing
            return [Broken(self.not_reached(), f"the program gets {self.got()}")]
        return [*self.on_the_way_down(calls), *self.on_the_way_back()]

    def on_the_way_down(self, calls: Sequence[DriverCall]) -> Iterator[Broken]:
        problems = [list(self.arguments_of(one)) for one in calls]
        best = min(problems, key=len)
        yield from best
        if not best and problems.count([]) > 1:
            yield Broken(f"the driver gets it {problems.count([])} times")

    def not_reached(self) -> str:
        others = [*dict.fromkeys(one.symbol for one in self.reached)]
        same = [one for one in others if api.base_name(one) == self.function.base]
        if same:
            return f"the driver gets {some(same)} instead"
        return "it does not reach the driver"

    def arguments_of(self, call: DriverCall) -> Iterator[Broken]:
        for index, (parameter, (value, pointed)) in enumerate(zip(self.function.parameters, call.arguments)):
            sent, pointee = self.given.values[index], self.given.pointees[index]
            if pointee is None or not pointee.is_known:
                if meaningful(parameter.type, value) != meaningful(parameter.type, sent):
                    yield Broken(f"argument {parameter.name} is changed", difference(sent, value))
            elif not any(value):
                yield Broken(f"argument {parameter.name} is NULL for the driver")
            elif pointee.is_read and not same(pointee, pointee.before, pointed):
                yield Broken(f"what argument {parameter.name} points to is changed",
                             difference(pointee.before, pointed or b""))  # fmt: skip

    def on_the_way_back(self) -> Iterator[Broken]:
        assert self.called is not None
        kind = self.function.result
        if meaningful(kind, self.called.result) != meaningful(kind, self.result):
            yield Broken("the result is changed", self.of_result())
        if self.called.errno != ERRNO_AFTER:
            yield Broken("errno is changed", f"the driver leaves {ERRNO_AFTER}, the program finds {self.called.errno}")
        yield from self.memory()

    def of_result(self) -> str:
        return f"the driver gives {self.bench.status_text(self.function, self.result)}, the program gets {self.got()}"

    def got(self) -> str:
        assert self.called is not None
        return self.bench.status_text(self.function, self.called.result)

    def memory(self) -> Iterator[Broken]:
        """Out-values, and what nobody was to write."""
        found = self.after()
        for parameter, pointee in zip(self.function.parameters, self.given.pointees):
            if pointee is None:
                continue
            there = bytes(found.pop(pointee.offset + at) for at in range(len(pointee.before)))
            expected = pointee.after if self.is_written and pointee.after else pointee.before
            if not same(pointee, expected, there):
                yield self.not_handed_out(parameter, pointee, expected, there)
        elsewhere = sorted(found)
        if any(offset in self.changed for offset in elsewhere):
            at = next(offset for offset in elsewhere if offset in self.changed)
            yield Broken("memory beyond its out-parameters is written", self.beyond(at))

    @property
    def changed(self) -> set[int]:
        assert self.called is not None
        return {offset + at for offset, new in self.called.changes.items() for at in range(len(new))}

    def after(self) -> dict[int, int]:
        """The bytes of the arena that are known, or were changed."""
        assert self.called is not None
        known = {one.offset + at: byte for one in self.given.pointees if one for at, byte in enumerate(one.before)}
        for offset, new in self.called.changes.items():
            known.update((offset + at, byte) for at, byte in enumerate(new))
        return known

    def beyond(self, offset: int) -> str:
        pairs = zip(self.function.parameters, self.given.pointees)
        near = [(offset - one.offset - len(one.before), of.name) for of, one in pairs if one and one.offset <= offset]
        return f"{near[-1][0]} bytes behind {near[-1][1]}" if near else "far from them"

    def not_handed_out(self, parameter: api.Parameter, pointee: CallerMemory, expected: bytes, there: bytes) -> Broken:
        if expected == pointee.before:
            return Broken(f"what {parameter.name} points to is written", difference(expected, there))
        if there == pointee.before:
            return Broken(f"out-value {parameter.name} is not written", f"the driver gives {shown(expected)}")
        return Broken(f"out-value {parameter.name} is changed", difference(expected, there))


def same(pointee: CallerMemory, expected: bytes, found: bytes | None) -> bool:
    if found is None:
        return False
    return expected == found or meaningful(pointee.type, expected) == meaningful(pointee.type, found)


def difference(ours: bytes, theirs: bytes) -> str:
    return f"{shown(ours)} -> {shown(theirs)}"


def shown(raw: bytes) -> str:
    """A number up to a word, else bytes."""
    if len(raw) <= 8:
        return hex(int.from_bytes(raw, "little"))
    return raw[:MOST_BYTES].hex(" ") + (" ..." if len(raw) > MOST_BYTES else "")

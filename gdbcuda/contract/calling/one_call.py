"""One call of a hooked function whose answer is prescribed, and what was not passed on of it."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from functools import partial

from gdbcuda import api
from gdbcuda.api.table import STATUS_TYPES
from gdbcuda.contract.answers import DriverCall, driver_calls, prescription, statuses
from gdbcuda.contract.argument_kinds import meaningful, to_bytes
from gdbcuda.contract.arguments import TEXT_AT, ArgumentMaker, Arguments, CallerMemory, Making
from gdbcuda.contract.bench import Bench
from gdbcuda.contract.c_programs import c_program
from gdbcuda.contract.c_programs.c_program import ShownCall
from gdbcuda.contract.calling import callbacks, contexts, remembered
from gdbcuda.contract.calling.call_values import difference, same, shown, status_text
from gdbcuda.contract.calling.told_calls import Called
from gdbcuda.contract.program import ANSWER, Program
from gdbcuda.contract.registry import Broken
from gdbcuda.contract.targets import HookTarget
from gdbcuda.text.sentences import counted, some

FORGETS, LOOKS = "cudaGetLastError", "cudaPeekAtLastError"
FORGOTTEN = "the program's last error is forgotten"
ERRNO_BEFORE, ERRNO_AFTER = 11, 77  # as the program and the driver leave it


def prepared(
    bench: Bench, program: Program, target: HookTarget, dice: random.Random, making: Making | None = None
) -> OneCall:
    return OneCall(bench, program, target.symbol, bench.address(program, target), dice, target.way, making)


class OneCall:
    """Of the function at ``address`` with the arguments of ``symbol``."""

    def __init__(
        self, bench: Bench, program: Program, symbol: str, address: int, dice: random.Random, way: str,
        making: Making | None = None,
    ) -> None:  # fmt: skip
        self.bench, self.program, self.address, self.way = bench, program, address, way
        self.function = bench.table.functions[symbol]
        self.maker = ArgumentMaker(self.function, dice, program.arena, making, bench.table)
        self.given: Arguments = self.maker.make()
        self.result, self.is_written, self.errno, self.is_aside = b"", True, ERRNO_AFTER, False
        self.failing = ""  # the answer before, with which a second thread's call is shown
        self.beside: Arguments | None = None  # of a call that another thread makes meanwhile
        self.called: Called | None = None
        self.reached: list[DriverCall] = []

    def made(
        self, status: int, is_written: bool = True, fault: str = "", is_aside: bool = False, sets_errno: bool = True
    ) -> OneCall:  # fmt: skip
        """The driver answers with that status, and has written its out-values if ``is_written``. ``fault``: what it
        answers before that to some call; ``is_aside``: another thread calls; ``sets_errno``: the driver does, else it
        leaves errno as the program has it."""
        self.result, self.is_written, self.is_aside = self.prescribed(status), is_written, is_aside
        self.errno = ERRNO_AFTER if sets_errno else ERRNO_BEFORE
        errno = ERRNO_AFTER if sets_errno else None
        usual = prescription(self.function, self.given, self.result, errno, is_written)
        answer = "\n".join(filter(None, [fault, usual]))
        self.program.seen()
        self.shown_call = self.shown(answer, is_aside)
        self.bench.last = partial(c_program.program, self.shown_call)
        self.called = self.program.call(
            self.function.symbol, self.address, self.given.values, errno=ERRNO_BEFORE,
            before=[self.program.set(ANSWER, answer), *self.given.pokes], is_aside=is_aside,
        )  # fmt: skip
        self.reached = driver_calls(self.program.seen())
        remembered.note(self)
        return self

    def shown(self, answer: str, is_aside: bool) -> ShownCall:
        answers = [self.failing, answer] if is_aside and self.failing else [answer]
        self.failing = answer
        return ShownCall(self.function, self.way, self.given, answers, ERRNO_BEFORE, self.program.arena)

    def found(self, what: str, example: str = "") -> Broken:
        """Something about this call."""
        return Broken(what, example, self.bench.last)

    def prescribed(self, status: int) -> bytes:
        kind = self.function.result
        if kind.spelling == STATUS_TYPES[self.function.api]:
            return to_bytes(status, kind.size)
        return self.maker.address(TEXT_AT) if kind.kind == "pointer" else self.maker.value(kind, "")

    # -- what is broken ------------------------------------------------------------------------------------

    @property
    def calls(self) -> list[DriverCall]:
        return [one for one in self.reached if one.symbol == self.function.symbol]

    @property
    def is_reached(self) -> bool:
        return bool(self.calls)

    @property
    def status(self) -> int:
        assert self.called is not None
        return int.from_bytes(self.called.result, "little", signed=True)

    @property
    def is_passed_on(self) -> bool:
        assert self.called is not None
        return meaningful(self.function.result, self.called.result) == meaningful(self.function.result, self.result)

    def no_status(self) -> Iterator[Broken]:
        """A result that is none of the API's."""
        if self.status not in statuses(self.function).values():
            yield self.found(f"it returns what is not in {self.function.result.name}", f"it returns {self.got()}")

    def broken(self) -> list[Broken]:
        calls = self.calls
        if not calls and remembered.is_answer(self):
            return [*self.of_machine(), *self.elsewhere()]
        if not calls:  # then the driver has answered nothing
            return [self.found(self.not_reached(), f"{self.asked_instead()}the program gets {self.got()}")]
        return [*self.on_the_way_down(calls), *self.on_the_way_back()]

    def on_the_way_down(self, calls: Sequence[DriverCall]) -> Iterator[Broken]:
        problems = [list(self.arguments_of(one)) for one in calls]
        best = min(problems, key=len)
        yield from best
        if not best and problems.count([]) > 1:
            yield self.found(f"the driver gets it {problems.count([])} times")

    def not_reached(self) -> str:
        others = [*dict.fromkeys(one.symbol for one in self.reached)]
        same = [one for one in others if api.base_name(one) == self.function.base]
        if same:
            return f"the driver gets {some(same)} instead"
        return "it does not reach the driver"

    def asked_instead(self) -> str:
        """Another function of the API, which `not_reached` does not tell."""
        names = dict.fromkeys(one.symbol for one in self.reached)
        others = [one for one in names if api.base_name(one) != self.function.base]
        return f"the driver gets {some(others)}, " if others else ""

    def arguments_of(self, call: DriverCall) -> Iterator[Broken]:
        of_callbacks = callbacks.replaced(self.function, self.given, call, self.program, self.bench.hook)
        if of_callbacks and self.function.base != callbacks.PLAYED:
            self.bench.note(f"transparent/{self.function.symbol}: {callbacks.NOT_TRIED}")
        for index, (parameter, (value, pointed)) in enumerate(zip(self.function.parameters, call.arguments)):
            sent, pointee = self.given.values[index], self.given.pointees[index]
            if index in of_callbacks:
                continue
            if pointee is None or not pointee.is_known:
                if meaningful(parameter.type, value) != meaningful(parameter.type, sent):
                    example = difference(sent, value, parameter.type)
                    yield self.found(f"argument {parameter.name} is changed", example)
            elif not any(value):
                yield self.found(f"argument {parameter.name} is NULL for the driver")
            elif pointee.is_read and not same(pointee, pointee.before, pointed):
                yield self.found(f"what argument {parameter.name} points to is changed",
                             difference(pointee.before, pointed or b"", pointee.type))  # fmt: skip

    def on_the_way_back(self) -> Iterator[Broken]:
        assert self.called is not None
        if not self.is_passed_on:
            yield self.found("the result is changed", self.of_result())
        yield from self.of_errno()
        yield from self.of_machine()
        yield from self.memory()
        yield from self.of_contexts()
        yield from self.of_last_error()

    def of_last_error(self) -> Iterator[Broken]:
        """Who asks the runtime for it has it forgotten, and nobody can put it back."""
        if self.function.symbol != FORGETS and any(one.symbol == FORGETS for one in self.reached):
            yield self.found(FORGOTTEN, f"it asks {FORGETS} by itself")

    def of_error_left(self) -> Iterator[Broken]:
        """After a call that went well, in which one of the hook library's own has failed."""
        last = self.program.call_by_name(LOOKS)
        if last and any(last.result):
            example = f"{LOOKS} gives {status_text(self.bench.table.functions[LOOKS], last.result)}"
            yield self.found("it fails for the hook library, and the program finds that as its last error", example)

    def of_contexts(self) -> Iterator[Broken]:
        """Of this thread, where the hook library has changed them for itself."""
        own = [one.symbol for one in self.reached if contexts.is_changing(one.symbol)]
        if not own or self.is_aside or contexts.is_changing(self.function.symbol) or not self.program.contexts:
            return
        found = contexts.of_thread(self.program)
        if found != self.program.contexts:
            there = "another one" if len(found) == 1 else counted(len(found), "context")
            yield self.found(contexts.CHANGED, f"{there}, after its {some(own)}")

    def of_machine(self) -> Iterator[Broken]:
        """The calling convention of x86-64."""
        for name, values in self.called.machine.items() if self.called else ():
            shown = partial(c_program.program, self.shown_call._replace(has_machine=True))
            yield Broken(f"{name} is not as the caller had it", values, shown)

    def of_errno(self) -> Iterator[Broken]:
        if self.called and self.called.errno != self.errno:
            said = f"the driver leaves {self.errno}, the program finds {self.called.errno}"
            yield self.found("errno is changed", said)

    def of_result(self) -> str:
        return f"the driver gives {status_text(self.function, self.result)}, the program gets {self.got()}"

    def got(self) -> str:
        assert self.called is not None
        return status_text(self.function, self.called.result)

    def memory(self) -> Iterator[Broken]:
        """Out-values, and what nobody was to write."""
        assert self.called is not None
        if not self.called.changes and not self.is_written:
            return  # as it should be
        for parameter, pointee in zip(self.function.parameters, self.given.pointees):
            if pointee is None:
                continue
            there = self.called.written_over(pointee.offset, pointee.before)
            expected = pointee.after if self.is_written and pointee.after else pointee.before
            if not same(pointee, expected, there):
                yield self.not_handed_out(parameter, pointee, expected, there)
        yield from self.elsewhere()

    def elsewhere(self) -> Iterator[Broken]:
        at = self.written_elsewhere()
        if at is not None:
            yield self.found("memory beyond its out-parameters is written", self.beyond(at))

    def written_elsewhere(self) -> int | None:
        """The first byte of the arena that was changed and that no argument leads to."""
        assert self.called is not None
        all_given = [*self.given.pointees, *(self.beside.pointees if self.beside else ())]
        places = sorted((one.offset, one.offset + len(one.before)) for one in all_given if one)
        for at, new in sorted(self.called.changes.items()):
            first = at
            for begin, end in places:
                first = end if begin <= first < end else first
            if first < at + len(new):
                return first
        return None

    def beyond(self, offset: int) -> str:
        pairs = zip(self.function.parameters, self.given.pointees)
        near = [(offset - one.offset - len(one.before), of.name) for of, one in pairs if one and one.offset <= offset]
        if near:
            return f"{near[-1][0]} bytes behind {near[-1][1]}"
        return "where a call before this one had its arguments" if self.maker.making.further else "far from them"

    def not_handed_out(self, parameter: api.Parameter, pointee: CallerMemory, expected: bytes, there: bytes) -> Broken:
        if expected == pointee.before:
            return self.found(f"what {parameter.name} points to is written", difference(expected, there, pointee.type))
        if there == pointee.before:
            return self.found(f"out-value {parameter.name} is not written", f"the driver gives {shown(expected)}")
        return self.found(f"out-value {parameter.name} is changed", difference(expected, there, pointee.type))

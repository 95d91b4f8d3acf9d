"""Answers that a hook library gives from memory: what a device is does not change, so it may ask the driver once."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple, Protocol

from gdbcuda import api
from gdbcuda.contract.answers import driver_calls
from gdbcuda.contract.argument_kinds import to_bytes
from gdbcuda.contract.arguments import OUT, Arguments, CallerMemory
from gdbcuda.contract.bench import Bench
from gdbcuda.contract.calling.call_values import same
from gdbcuda.contract.calling.told_calls import Called
from gdbcuda.contract.program import ANSWER, Program

SUCCESS = 0


class Answer(NamedTuple):
    """What a call returns, and what it leaves where each of its out-parameters points to."""

    result: bytes
    outs: list[bytes]


class MadeCall(Protocol):
    """Of `one_call.OneCall` what is looked at here."""

    bench: Bench
    function: api.Function
    program: Program
    given: Arguments
    called: Called | None
    result: bytes
    is_written: bool

    @property
    def is_reached(self) -> bool: ...


@cache
def may_be(function: api.Function) -> bool:
    """It asks what a device or the driver is, or what a status is called."""
    outs = [one for one in function.parameters if one.direction == OUT]
    return all(one.lasting for one in outs) if outs else is_text(function)


def is_text(function: api.Function) -> bool:
    return function.result.kind == "pointer"


def note(call: MadeCall) -> None:
    """What the driver has answered, for `is_answer`."""
    if may_be(call.function) and call.is_reached and call.is_written and is_success(call, call.result):
        made = Answer(call.result, [one.after for one in outs(call)])
        call.program.answers.setdefault(question(call), []).append(made)


def is_answer(call: MadeCall) -> bool:
    """The program gets what the driver has answered to the same question before, in this process, or answers when it
    is asked for it beside the hook library: that may have asked when the process began."""
    if not may_be(call.function) or call.called is None or not is_success(call, call.called.result):
        return False
    return any(is_there(call, call.called, known) for known in [*known_answers(call), *of_driver(call)])


def known_answers(call: MadeCall) -> list[Answer]:
    return call.program.answers.get(question(call), [])


def of_driver(call: MadeCall) -> list[Answer]:
    """Nothing where the hook library has changed the driver's code."""
    program, symbol = call.program, call.function.symbol
    address = program.address_of(call.bench.driver_place(symbol))
    if not address:
        return []
    before = [program.set(ANSWER, ""), *call.given.pokes]
    said = program.call(symbol, address, call.given.values, before=before)
    is_asked = any(one.symbol == symbol for one in driver_calls(program.seen()))
    return [Answer(said.result, [said.written_over(one.offset, one.before) for one in outs(call)])] * is_asked


def is_there(call: MadeCall, called: Called, known: Answer) -> bool:
    pairs = zip(outs(call), known.outs)
    return called.result == known.result and all(
        is_alike(one, after, called.written_over(one.offset, one.before)) for one, after in pairs)  # fmt: skip


def is_alike(pointee: CallerMemory, expected: bytes, found: bytes) -> bool:
    """Of a text what comes before its end."""
    if pointee.type is not None and pointee.type.kind == "char":
        expected, found = (one.partition(b"\0")[0] for one in (expected, found))
    return same(pointee, expected, found)


def is_success(call: MadeCall, result: bytes) -> bool:
    return is_text(call.function) or result == to_bytes(SUCCESS, call.function.result.size)


def outs(call: MadeCall) -> list[CallerMemory]:
    return [one for one in call.given.pointees if one and one.after]


def question(call: MadeCall) -> tuple[object, ...]:
    """The process, the function, and what is handed in."""
    pairs = zip(call.given.values, call.given.pointees)
    given = [value if pointee is None else pointee.before if pointee.is_read else b"" for value, pointee in pairs]
    return (call.program.copy, call.function.symbol, *given)

"""Answers that a hook library gives from memory: what a device is does not change, so it may ask the driver once."""

from __future__ import annotations

from typing import Protocol

from gdbcuda import api
from gdbcuda.contract.argument_kinds import to_bytes
from gdbcuda.contract.arguments import OUT, Arguments
from gdbcuda.contract.calling.told_calls import Called
from gdbcuda.contract.calling.values import same
from gdbcuda.contract.program import Program

SUCCESS = 0


class MadeCall(Protocol):
    """Of `one_call.OneCall` what is looked at here."""

    function: api.Function
    program: Program
    given: Arguments
    called: Called | None
    result: bytes
    is_written: bool

    @property
    def is_reached(self) -> bool: ...


def may_be(function: api.Function) -> bool:
    """It asks what a device or the driver is."""
    outs = [one for one in function.parameters if one.direction == OUT]
    return bool(outs) and all(one.lasting for one in outs)


def note(call: MadeCall) -> None:
    """What the driver has answered, for `is_answer`."""
    if may_be(call.function) and call.is_reached and call.is_written and is_success(call, call.result):
        call.program.answers.setdefault(question(call), []).append(outs(call))


def is_answer(call: MadeCall) -> bool:
    """The program gets what the driver has answered to the same question before, in this process."""
    if not may_be(call.function) or call.called is None or not is_success(call, call.called.result):
        return False
    return any(is_there(call, known) for known in call.program.answers.get(question(call), []))


def is_there(call: MadeCall, known: list[bytes]) -> bool:
    pairs = zip((one for one in call.given.pointees if one and one.after), known)
    called = call.called
    return called is not None and all(same(one, after, called.written_over(one.offset, one.before))
                                      for one, after in pairs)  # fmt: skip


def is_success(call: MadeCall, result: bytes) -> bool:
    return result == to_bytes(SUCCESS, call.function.result.size)


def outs(call: MadeCall) -> list[bytes]:
    return [one.after for one in call.given.pointees if one and one.after]


def question(call: MadeCall) -> tuple[object, ...]:
    """The process, the function, and what is handed in."""
    pairs = zip(call.given.values, call.given.pointees)
    given = [value if pointee is None else pointee.before if pointee.is_read else b"" for value, pointee in pairs]
    return (call.program.copy, call.function.symbol, *given)

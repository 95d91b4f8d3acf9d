"""The same call so often that what a hook library does once in many shows."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from gdbcuda import api
from gdbcuda.contract.answers import statuses
from gdbcuda.contract.c_programs import c_program
from gdbcuda.contract.calling import contexts, remembered
from gdbcuda.contract.calling.one_call import OneCall
from gdbcuda.contract.calling.told_calls import call_command
from gdbcuda.contract.program import ANSWER
from gdbcuda.contract.registry import Broken
from gdbcuda.ledger.effects import roles

SUCCESS = 0
MANY = 300  # more than a sample is taken of, or a table has room for


def broken(call: OneCall) -> Iterator[Broken]:
    """The driver refuses each: who passes one on that is not made has another result."""
    function, program = call.function, call.program
    if takes(function) or is_remembered(call):
        return
    result = call.prescribed(max(statuses(function).values(), default=0)).hex()
    answer = f"{function.symbol} result={result}"
    told = program.tell(
        program.set(ANSWER, answer),
        call_command(function.symbol, call.address, call.given.values), f"again {MANY:x} {result}",
    )  # fmt: skip
    made, lost = (int(word, 16) for word in told[-1].split())
    if lost:
        shown = partial(c_program.program, call.shown_call._replace(answers=[answer], times=MANY))
        yield Broken("in some of many calls the result is changed", f"in {lost} of {made}", shown)


def is_remembered(call: OneCall) -> bool:
    return remembered.may_be(call.function) and not call.made(SUCCESS).is_reached and remembered.is_answer(call)


def takes(function: api.Function) -> bool:
    """Memory, of which there is no end here: a limit refuses it some time."""
    return function.role == roles.ALLOC or contexts.is_changing(function.symbol)

"""A call that differs from the one before in a single argument: who answers it from memory has forgotten that one."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from gdbcuda import api
from gdbcuda.contract.argument_kinds import is_size
from gdbcuda.contract.c_programs import c_program
from gdbcuda.contract.calling.one_call import OneCall
from gdbcuda.contract.registry import Broken

SUCCESS = 0
TIMES = 8  # that another value is looked for: an ordinal of two devices may come again


def broken(call: OneCall) -> Iterator[Broken]:
    """After a call in which all is as it should be."""
    usual = call.given
    for index, parameter in enumerate(call.function.parameters):
        value = another(call, index, parameter)
        if value and parameter.type.kind not in ("struct", "union", "float"):
            call.given = usual.with_value(index, value)
            found = call.made(SUCCESS).broken()
            shown = partial(c_program.program, call.shown_call._replace(before=(index, usual.values[index])))
            for one in found:
                yield Broken(f"a call that differs in {parameter.name} alone: {one.what}", one.example, shown)
    call.given = usual


def another(call: OneCall, index: int, parameter: api.Parameter) -> bytes:
    """A value, where it is no memory and none of its size."""
    if call.given.pointees[index] or is_size(parameter) or parameter.name in call.maker.counts:
        return b""
    values = (call.maker.argument(parameter)[0] for _ in range(TIMES))
    return next((one for one in values if one != call.given.values[index]), b"")

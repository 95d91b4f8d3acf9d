"""Numbers that a program seldom has: 0, the largest one, and a value that its enum does not have, or not yet."""

from __future__ import annotations

from collections.abc import Iterator

from gdbcuda import api
from gdbcuda.contract.argument_kinds import is_size, to_bytes
from gdbcuda.contract.calling import remembered
from gdbcuda.contract.calling.one_call import OneCall
from gdbcuda.contract.registry import Broken

SUCCESS = 0
ADDRESS = "CUdeviceptr"  # which C has for a number, and 0 is none
NEWER = 1000  # behind the last value of an enum


def broken(call: OneCall) -> Iterator[Broken]:
    """A hook library may refuse them, in words of the API; what it does not refuse reaches the driver as it is."""
    if not any(odd(call, one) for one in call.function.parameters):
        return
    usual, known = call.given, {one.what for one in call.made(SUCCESS).broken()}
    if not call.is_reached:
        return
    for index, parameter in enumerate(call.function.parameters):
        for value in odd(call, parameter):
            call.given = usual.with_value(index, to_bytes(value, parameter.type.size))
            yield from (one for one in judged(call.made(SUCCESS)) if one.what not in known)


def odd(call: OneCall, parameter: api.Parameter) -> list[int]:
    kind = parameter.type
    if is_size(parameter) or parameter.name in call.maker.counts or kind.name == ADDRESS:
        return []
    if kind.enum is not None and kind.enum.values:
        last = max(kind.enum.values.values())
        return [-1, last + 1, last + NEWER]
    return [0, -1] if kind.kind in ("int", "uint") else []


def judged(call: OneCall) -> Iterator[Broken]:
    if call.is_reached:
        yield from call.broken()
        return
    yield from call.no_status()
    yield from call.of_machine()
    if call.status == SUCCESS and not remembered.is_answer(call):
        yield call.found("it succeeds, and the driver does not get it")

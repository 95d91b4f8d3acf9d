"""Functions of the program's that a call hands to the driver: a hook library may hand over its own in their place."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gdbcuda import api
from gdbcuda.contract.arguments import CallerMemory, is_function

if TYPE_CHECKING:
    from gdbcuda.contract.answers import DriverCall
    from gdbcuda.contract.one_call import OneCall

PLAYED = "cuLaunchHostFunc"  # in the situation that a stream is captured in


def replaced(call: OneCall, reached: DriverCall) -> set[int]:
    """The arguments which are functions of the hook library's, and the data that they are called with."""
    parameters = list(enumerate(call.function.parameters))
    functions = [at for at, one in parameters if is_callback(one.type)]
    changed = {at: value for at, (value, _) in enumerate(reached.arguments)
               if at in functions and value != call.given.values[at]}  # fmt: skip
    places = call.program.find(*(f"where {int.from_bytes(value, 'little'):x}" for value in changed.values()))
    if not changed or any(one.path != call.bench.hook for one in places):
        return set()
    if call.function.base != PLAYED:
        what = "the driver gets a function of the hook library's; whether that calls the program's is not tried"
        call.bench.note(f"transparent/{call.function.symbol}: {what}")
    return {*changed, *(at for at, one in parameters if is_data(one, call.given.pointees[at]))}


def is_callback(kind: api.Type) -> bool:
    return kind.kind == "function" or is_function(kind)


def is_data(parameter: api.Parameter, pointee: CallerMemory | None) -> bool:
    """Of which nobody has declared what it is."""
    target = parameter.type.target
    return target is not None and target.kind == "void" and not (pointee and pointee.is_known)

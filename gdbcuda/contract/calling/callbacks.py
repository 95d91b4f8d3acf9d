"""Functions of the program's that a call hands to the driver: a hook library may hand over its own in their place."""

from __future__ import annotations

from gdbcuda import api
from gdbcuda.contract.answers import DriverCall
from gdbcuda.contract.argument_kinds import is_function
from gdbcuda.contract.arguments import Arguments, CallerMemory
from gdbcuda.contract.program import Program

PLAYED = "cuLaunchHostFunc"  # in the situation that a stream is captured in
NOT_TRIED = "the driver gets a function of the hook library's; whether that calls the program's is not tried"


def replaced(function: api.Function, given: Arguments, reached: DriverCall, program: Program, hook: str) -> set[int]:
    """The arguments which are functions of the hook library's, and the data that they are called with."""
    parameters = list(enumerate(function.parameters))
    functions = [at for at, one in parameters if is_callback(one.type)]
    changed = {at: value for at, (value, _) in enumerate(reached.arguments)
               if at in functions and value != given.values[at]}  # fmt: skip
    places = program.find(*(f"where {int.from_bytes(value, 'little'):x}" for value in changed.values()))
    if not changed or any(one.path != hook for one in places):
        return set()
    return {*changed, *(at for at, one in parameters if is_data(one, given.pointees[at]))}


def is_callback(kind: api.Type) -> bool:
    return kind.kind == "function" or is_function(kind)


def is_data(parameter: api.Parameter, pointee: CallerMemory | None) -> bool:
    """Of which nobody has declared what it is."""
    target = parameter.type.target
    return target is not None and target.kind == "void" and not (pointee and pointee.is_known)

"""Pointers to functions that a hook library keeps under names of its own: ``static CUresult (*real)(…)``.

Which function such a one is of, only the code tells that reads it. (Intel SDM: MOV and CALL through memory at a
distance from the next instruction; gdb manual: "Types In Python".)
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Iterator

import gdb

from gdbcuda import api
from gdbcuda.errors import Unreadable
from gdbcuda.linkage import Linkage
from gdbcuda.live import process
from gdbcuda.live.checking import hook_variables
from gdbcuda.live.checking.hook_variables import HookVariable
from gdbcuda.live.checking.real_functions import CODE, LARGEST, LonePointer, code_pointer, function_in, pointers_to
from gdbcuda.live.layers import this_snapshot
from gdbcuda.machine.x86.code_references import data_references
from gdbcuda.text import cplusplus
from gdbcuda.text.patterns import pattern

EXECUTABLE = 1  # PF_X
STATUS = pattern(r"CUresult|cudaError_t|cudaError(?:_enum)?|nvmlReturn_t|nvmlReturn_enum")
ONWARD = pattern(r"real|orig|next|true|onward")


@process.until_objects_change
def nameless(hook: Linkage, file: str) -> tuple[LonePointer, ...]:
    """``function`` is "" where the hook's code does not tell, or tells of several."""
    found = dict(place for one in hook_variables.variables(file) for place in of_variable(one))
    users = functions_reading(hook, file, found)
    return tuple(LonePointer(users.get(address, ""), variable, address) for address, variable in found.items())


def of_variable(one: HookVariable) -> Iterator[tuple[int, str]]:
    """(address, name) of what may be a way on, and is not named after a function. What is static in a function of the
    hook's own is its own affair."""
    is_struct = one.type.code == gdb.TYPE_CODE_STRUCT and one.type.sizeof <= LARGEST
    members = pointers_to(one.type, CODE) if is_struct else []
    for at, field in members:
        if not function_in(field.name or "") and field.type is not None and gives_status(field.type):
            yield one.address + at, f"{one.name}.{field.name}"
    name = one.name.rpartition("::")[2]
    is_other = not (members or one.function or function_in(name)) and code_pointer(one.type) == gdb.TYPE_CODE_FUNC
    if is_other and (ONWARD.search(name) or gives_status(one.type)):
        yield one.address, one.name


def gives_status(pointer: gdb.Type) -> bool:
    """Does the function return what functions of the API return?"""
    function = pointer.strip_typedefs()
    function = function.target().strip_typedefs() if function.code == gdb.TYPE_CODE_PTR else function
    result = function.target() if function.code == gdb.TYPE_CODE_FUNC else None
    names = (result.name or "", result.strip_typedefs().name or "") if result is not None else ()
    return any(map(STATUS.fullmatch, names))


def functions_reading(hook: Linkage, file: str, wanted: Collection[int]) -> dict[int, str]:
    """By the pointer's address, the one API function whose hook reads it."""
    rows = sorted((address, name) for name, address in this_snapshot.symbol_table(file))
    starts, found = [address for address, _ in rows], dict[int, set[str]]()
    for start, end, flags in hook.image.segments if wanted and rows else ():
        if flags & EXECUTABLE:
            for site, target in data_references(code_at(start, end), start, wanted):
                name = rows[max(bisect_right(starts, site) - 1, 0)][1]
                found.setdefault(target, set()).add(function_in(cplusplus.plain(name)))
    named = {at: sorted(filter(None, names)) for at, names in found.items()}
    return {at: names[-1] for at, names in named.items() if len(set(map(api.base_name, names))) == 1}


def code_at(start: int, end: int) -> bytes:
    try:
        return process.original_code(start, end - start)
    except Unreadable:
        return b""

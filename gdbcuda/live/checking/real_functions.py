"""A hook library's pointers to real functions, read through its debug info: which of them are NULL, and why.

Tables of them are arrays of a struct with a name and a pointer: {fn_ptr, name} in most hook libraries. Others are named
after the function: variables, and members of a struct. The pointers that are there already are found without debug
info (`gdbcuda.routes.collect.pointers`); NULL has to be told by its name.
(gdb manual: "Objfiles In Python", "Types In Python".)
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Callable, NamedTuple

import gdb

from gdbcuda.errors import Unreadable
from gdbcuda.live import process
from gdbcuda.live.checking import hook_variables
from gdbcuda.live.checking.hook_variables import HookVariable
from gdbcuda.live.dlsym import wanted_requests
from gdbcuda.live.layers import table_version, this_snapshot
from gdbcuda.memory import string_at
from gdbcuda.routes.collect import Route
from gdbcuda.routes.snapshot import VENDORS, ProcessSnapshot
from gdbcuda.routes.verdicts import Verdict
from gdbcuda.text import cplusplus
from gdbcuda.text.patterns import pattern
from gdbcuda.text.printable import visible

if TYPE_CHECKING:
    from gdbcuda.linkage import Linkage
    from gdbcuda.routes.requests import Request

Names = Callable[[str], bool]  # is that function asked for?
UNKNOWN = "?"
LARGEST = 1 << 20  # bytes of one array
AN_API_NAME = pattern(r"(?:cu|nvml)[A-Z]\w*$|cuda[A-Z]\w*$")

CODE = (gdb.TYPE_CODE_FUNC, gdb.TYPE_CODE_VOID)
POINTER = 8  # bytes
A_WAY_ON = pattern(r"real|orig|next|true|fn|func|sym|proc|entry|addr")  # a void * of that name, in a hooked function


class LonePointer(NamedTuple):
    """``variable``: "real_cuInit", "driver.cuInit", "cuInit::real"."""

    function: str
    variable: str
    address: int


class RealFunctions(NamedTuple):
    """Offsets are within an entry of ``stride`` bytes."""

    variable: str
    address: int
    entries: int
    stride: int
    name_at: int
    pointer_at: int
    field: str


@process.until_objects_change
def tables(file: str) -> tuple[RealFunctions, ...]:
    """Of the object with that file name, as the loader names it."""
    return tuple(found for one in hook_variables.variables(file) for found in of_variable(one))


def of_variable(variable: HookVariable) -> Iterator[RealFunctions]:
    array = variable.type
    if array.code != gdb.TYPE_CODE_ARRAY or not 0 < array.sizeof <= LARGEST:
        return
    entry = array.target().strip_typedefs()
    if entry.code != gdb.TYPE_CODE_STRUCT or not entry.sizeof:
        return
    texts = pointers(entry, (gdb.TYPE_CODE_INT, gdb.TYPE_CODE_CHAR), 1)
    codes = pointers(entry, CODE)
    if texts and codes:
        count = array.sizeof // entry.sizeof
        yield RealFunctions(variable.name, variable.address, count, entry.sizeof, texts[0][0], *codes[0])


def pointers(entry: gdb.Type, codes: tuple[int, ...], size: int = 0) -> list[tuple[int, str]]:
    """(offset, name) of the members that point to that. C++'s static ones have no bitpos: they are not in the entry."""
    return [(at, one.name or "") for at, one in pointers_to(entry, codes, size)]


def pointers_to(entry: gdb.Type, codes: tuple[int, ...], size: int = 0) -> list[tuple[int, gdb.Field]]:
    found: list[tuple[gdb.Field, int | None]] = [(one, getattr(one, "bitpos", None)) for one in entry.fields()]
    return [(at // 8, one) for one, at in found if at is not None and is_pointer_to(one, codes, size)]


def is_pointer_to(field: gdb.Field, codes: tuple[int, ...], size: int) -> bool:
    kind = field.type.strip_typedefs() if field.type is not None else None
    if kind is None or kind.code != gdb.TYPE_CODE_PTR:
        return False
    pointed = kind.target().strip_typedefs()
    return pointed.code in codes and (not size or pointed.sizeof == size)


def entry_at(file: str, address: int) -> str:
    """ "in hook_entries[306].real", "in driver.cuInit": an entry of a table, a member of a struct; else ""."""
    for table in tables(file):
        index, rest = divmod(address - table.address, table.stride)
        if 0 <= index < table.entries and rest == table.pointer_at:
            return f"in {table.variable}[{index}].{table.field}"
    return next((f"in {one.variable}" for one in lone_pointers(file) if one.address == address), "")


def null_entries(snapshot: ProcessSnapshot, hook: Linkage, names: Names, asked: Iterable[Request]) -> list[Route]:
    """Its pointers for the names that are NULL: entries of its tables, and variables named after a function. ``asked``:
    the requests that were logged."""
    file = this_snapshot.file_of(hook)
    answered = requests_of(file, asked)
    found: list[LonePointer] = []
    for table in tables(file):
        known = [*entries(snapshot, table)]
        is_of_api = any(table_version.table().function(name) for _, name, _ in known)
        for index, name, _ in (one for one in known if not one[2] and is_of_api and names(one[1])):
            place = f"{table.variable}[{index}].{table.field}"
            found.append(LonePointer(name, place, table.address + index * table.stride + table.pointer_at))
    found += null_among(snapshot, (one for one in lone_pointers(file) if names(one.function)))
    return [null_route(snapshot, file, one, answered.get(one.function)) for one in found]


def null_lone(
    snapshot: ProcessSnapshot, file: str, lone: Iterable[LonePointer], asked: Iterable[Request]
) -> list[Route]:  # fmt: skip
    answered = requests_of(file, asked)
    return [null_route(snapshot, file, one, answered.get(one.function)) for one in null_among(snapshot, lone)]


def requests_of(file: str, asked: Iterable[Request]) -> dict[str, Request]:
    return by_function(one for one in asked if one.asker.file == file and one.returned)


def null_among(snapshot: ProcessSnapshot, lone: Iterable[LonePointer]) -> list[LonePointer]:
    return [one for one in lone if is_null(snapshot, one)]


def is_null(snapshot: ProcessSnapshot, one: LonePointer) -> bool:
    try:
        return snapshot.memory.read(one.address, POINTER) == bytes(POINTER)
    except Unreadable:
        return False


def null_route(snapshot: ProcessSnapshot, file: str, one: LonePointer, asked: Request | None) -> Route:
    in_vain = "NULL: looked up in vain" if asked is not None and asked.answer is None else ""
    verdict = Verdict("real", why_null(snapshot, one.function, asked))
    return Route(one.function or UNKNOWN, "pointer", file, "hook", f"in {one.variable}", None, verdict, one.address,
                 in_vain)  # fmt: skip


def by_function(requests: Iterable[Request]) -> dict[str, Request]:
    """The last request for each name; for what was never asked for, what its function asked for in vain instead."""
    made = list(requests)
    instead = {function_in(cplusplus.plain(one.asker.function)): one for one in made if one.answer is None}
    return instead | {one.name: one for one in made}


def why_null(snapshot: ProcessSnapshot, name: str, asked: Request | None) -> str:
    """``asked``: the hook's last request for the name."""
    if not name:
        return "NULL: of which function it is, neither its name nor the hook's code tells"
    if asked is not None and asked.name != name:
        instead = f"request #{asked.number} from its function, for {visible(asked.name)}"
        return f"NULL: {instead}, failed: {asked.verdict.why}"
    if asked is not None:
        failed = f"failed: {asked.verdict.why}" if asked.answer is None else "was answered, and that is not kept here"
        return f"NULL: request #{asked.number} for it {failed}"
    if not any(one.symbols.find(name) for one in snapshot.in_layer(*VENDORS)):
        return "NULL: no loaded library of the vendor's has it"
    if wanted_requests.is_on():
        return "NULL: not looked up, as far as the log of requests goes"
    return "NULL: not looked up yet, or in vain (cuda-dlsym log on, from the start, tells)"


@process.until_objects_change
def lone_pointers(file: str) -> tuple[LonePointer, ...]:
    """Those that are named after a function: real_cuInit, cuInit_real, driver.cuInit; and those of a hook."""
    return tuple(pointer for one in hook_variables.variables(file) for pointer in named_after(one))


def named_after(variable: HookVariable) -> Iterator[LonePointer]:
    kind, name = variable.type, variable.name.rpartition("::")[2]
    members = pointers(kind, CODE) if kind.code == gdb.TYPE_CODE_STRUCT and kind.sizeof <= LARGEST else []
    for at, member in members:
        if function_in(member):
            yield LonePointer(function_in(member), f"{variable.name}.{member}", variable.address + at)
    code = code_pointer(kind)
    of_its_own = code == gdb.TYPE_CODE_FUNC or (code == gdb.TYPE_CODE_VOID and A_WAY_ON.search(name))
    function = function_in(name) or (function_in(variable.function) if of_its_own else "")
    if code is not None and function:
        yield LonePointer(function, variable.name, variable.address)


def code_pointer(kind: gdb.Type) -> int | None:
    """What a pointer to code points to, an atomic one too: TYPE_CODE_FUNC, TYPE_CODE_VOID; None for what is none."""
    while kind.code == gdb.TYPE_CODE_STRUCT and kind.sizeof == POINTER:
        inner = [one.type for one in kind.fields() if hasattr(one, "bitpos") and one.type is not None]
        if not inner or inner[0].sizeof != POINTER:
            return None
        kind = inner[0].strip_typedefs()
    code = kind.target().strip_typedefs().code if kind.code == gdb.TYPE_CODE_PTR else None
    return code if code in CODE else None


def function_in(name: str) -> str:
    """The API function that a pointer is named after: "cuInit" of real_cuInit and of cuInit_real; else ""."""
    found = AN_API_NAME.search(name)
    meant = found.group() if found else ""
    while meant and table_version.table().function(meant) is None:
        meant = meant.rpartition("_")[0]
    return meant


def entries(snapshot: ProcessSnapshot, table: RealFunctions) -> Iterator[tuple[int, str, int]]:
    """(index, name, pointer) of those that have a name."""
    try:
        data = snapshot.memory.read(table.address, table.entries * table.stride)
        for index in range(table.entries):
            text, code = (struct.unpack_from("<Q", data, index * table.stride + at)[0]
                          for at in (table.name_at, table.pointer_at))  # fmt: skip
            if text:
                yield index, string_at(snapshot.memory, text), code
    except Unreadable:
        return

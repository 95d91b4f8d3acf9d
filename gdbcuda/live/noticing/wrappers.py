"""What `ld --wrap` has put in front of API functions, in the program and in its libraries: whose own calls go there."""

from __future__ import annotations

from collections.abc import Iterator, Set
from contextlib import suppress
from typing import NamedTuple

from gdbcuda.errors import Unreadable, UserError
from gdbcuda.linkage import Linkage
from gdbcuda.live import process
from gdbcuda.live.host.inferiors import PerInferior
from gdbcuda.live.layers import this_snapshot
from gdbcuda.routes.answering import Answering
from gdbcuda.routes.snapshot import Reached

WRAPPER = "__wrap_"
FEW = 20  # names that are looked up one by one


class Wrapped(NamedTuple):
    function: str
    address: int
    file: str  # which was linked so


# by program, where it is, and the names that were looked for
PROGRAMS: PerInferior[dict[tuple[str, int, frozenset[str]], list[Wrapped]]] = PerInferior(dict)
# by library and the names that were looked for; and whether gdb had read the library's symbols
LIBRARIES: PerInferior[dict[tuple[Linkage, frozenset[str]], tuple[bool, list[tuple[str, int]]]]] = PerInferior(dict)


def wrapped(names: Set[str]) -> Iterator[Answering]:
    """What an object was linked with for --wrap: its own calls of the function go there."""
    program = process.strip_prefix(process.program())
    for one in wrappers(names):
        reached = Reached(one.address, (WRAPPER + one.function,), one.file, "app")
        how = f"{reached.object} is linked with --wrap={one.function}"
        yield Answering(one.function, reached, how, is_of_object=one.file != program)


def wrappers(names: Set[str]) -> Iterator[Wrapped]:
    yield from of_program(names)
    if process.is_alive():
        with suppress(UserError, Unreadable):  # the loader has not begun
            yield from of_libraries(frozenset(names))


def of_program(names: Set[str]) -> list[Wrapped]:
    """What is loaded changes nothing of the program's own."""
    asked = process.program(), process.auxiliary().get("AT_ENTRY", 0), frozenset(names)
    if asked not in PROGRAMS():
        PROGRAMS()[asked] = [*found_in_program(names)]
    return PROGRAMS()[asked]


def found_in_program(names: Set[str]) -> Iterator[Wrapped]:
    """A lookup costs less than the whole table of a large program, but through gdbserver packets."""
    file = process.strip_prefix(process.program())
    if len(names) > FEW or process.is_remote():
        known = this_snapshot.static_functions(process.program())
        yield from (Wrapped(name, known[WRAPPER + name], file) for name in names if WRAPPER + name in known)
        return
    for name in names:
        inside = [address for address in process.decoded(WRAPPER + name) if process.in_program(address)]
        yield from (Wrapped(name, process.function_start(address) or address, file) for address in inside)


@process.until_objects_change
def of_libraries(names: frozenset[str]) -> list[Wrapped]:
    snapshot = this_snapshot.now()
    program = snapshot.objects.all[0]
    return [Wrapped(name, address, snapshot.file_of(library))
            for library in snapshot.in_layer("app") if library is not program
            for name, address in of_library(library, names)]  # fmt: skip


def of_library(library: Linkage, names: frozenset[str]) -> list[tuple[str, int]]:
    """gdb searches the names of all objects, and would again at each load."""
    known = LIBRARIES()
    was_read, found = known.get((library, names), (None, []))
    if not was_read:
        is_read = process.objfile_of(this_snapshot.file_of(library)) is not None
        found = found if was_read is is_read else [*found_in_library(library, names)]
        known[library, names] = is_read, found
    return found


def found_in_library(library: Linkage, names: frozenset[str]) -> Iterator[tuple[str, int]]:
    """A wrapper calls the function that it is in front of, so its library refers to that. One that is not exported is
    looked up by gdb: where a library refers to many functions, as a framework's does, that would be a wait."""
    referred = frozenset(library.symbols.undefined(names).values())
    has_any = bool(referred) and library.dynamic.may_have_string(WRAPPER)
    exported = library.symbols.defined(frozenset(WRAPPER + name for name in referred)) if has_any else {}
    for name in sorted(referred):
        known = [one.address for one in exported.get(WRAPPER + name, ())]
        if not known and len(referred) <= FEW:
            known = hidden(library, name)
        yield from ((name, address) for address in known)


def hidden(library: Linkage, name: str) -> list[int]:
    inside = [address for address in process.decoded(WRAPPER + name) if library.image.holds(address)]
    return [process.function_start(address) or address for address in inside]

"""Who is who: the objects of the process in search order, their layers, what of the API each exports, and why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from gdbcuda.api import vendor
from gdbcuda.linkage import Linkage
from gdbcuda.linkage.hook_library import RESOLVERS
from gdbcuda.live import layers, process
from gdbcuda.live.layers import library_files, noticed, table_version
from gdbcuda.live.layers.code import answering_code
from gdbcuda.live.noticing import answer_search
from gdbcuda.routes.answering import Answering
from gdbcuda.routes.snapshot import ProcessSnapshot

PROGRAM, NAMED, BY_NAME, OTHER = "the program", "cuda-load", "its name", "the program's"
NOTICED, REPLACES = "what it exports", "what leads there"


class Member(NamedTuple):
    """An object of the process. ``exports``: kind of function ("driver", "nvml", "runtime") -> how many; ``resolvers``
    are those that it defines (dlsym …); ``answers``: functions that its code is known to answer for under other names;
    ``order`` is its place in the loader's search, None for what dlopen brought, 0
    for an audit library, which has a namespace of its own."""

    layer: str
    file: str
    exports: dict[str, int]
    resolvers: tuple[str, ...]
    known_by: str
    order: int | None
    answers: tuple[str, ...] = ()


def members() -> list[Member]:
    """UserError where there is no process, or the loader has not begun."""
    snapshot = answer_search.notice_all()
    order = {one: number for number, one in enumerate(snapshot.objects.startup, 1)}
    answering = answer_search.seen_now(snapshot)
    found = [member(snapshot, one, order.get(one), answering) for one in snapshot.objects.all]
    known = {one.file for one in found}
    others = [file for file in noticed.hooks() if file not in known]
    return [*found, *(Member("hook", file, {}, (), NOTICED, 0, answers(file, answering)) for file in others)]


def members_at_end() -> list[Member]:
    """Of a program that has ended, by the files that gdb still has of it, without the loader's order; [] where there is
    none."""
    objfiles = [] if process.is_alive() else process.program_space().objfiles()
    files = [process.strip_prefix(one.filename) for one in objfiles if one.filename and one.owner is None]
    program = process.strip_prefix(process.program())
    if not [one for one in files if one != program]:
        return []
    return [member_of_file(one, *told_by_name(one, program)) for one in files if not vendor.is_vdso(one)]


def told_by_name(file: str, program: str) -> tuple[str, str]:
    """Its layer, and why."""
    if file == program:
        return "app", PROGRAM
    if layers.is_named(file):
        return "hook", NAMED
    if file in noticed.SEEN():
        return "hook", NOTICED
    return layers.layer_of_object(file), BY_NAME if vendor.layer_of(file) else OTHER


def member_of_file(file: str, layer: str, why: str) -> Member:
    exported = library_files.exported(file) if layer != "system" else frozenset()
    table = table_version.table().functions
    counts = dict(Counter(table[one].api for one in exported if one in table))
    return Member(layer, file, counts, tuple(one for one in RESOLVERS if one in exported), why, None)


def member(
    snapshot: ProcessSnapshot, one: Linkage, order: int | None, answering: Sequence[Answering]
) -> Member:
    layer, file = snapshot.layers[one], snapshot.file_of(one)
    table, resolvers = snapshot.table.functions, tuple(name for name in RESOLVERS if one.symbols.find(name))
    exports: dict[str, int] = {}
    if layer != "system":
        exports = dict(Counter(table[name].api for name in one.symbols.defined(snapshot.api_names) if name in table))
    return Member(layer, file, exports, resolvers, known_by(snapshot, one, layer, file), order,
                  answers(file, answering))  # fmt: skip


def answers(file: str, answering: Sequence[Answering]) -> tuple[str, ...]:
    """What is seen now, and what requests have shown."""
    here = {one.function for one in answering if one.reached.file == file}
    known = (names for address, names in answering_code.FUNCTIONS().items() if process.object_of(address) == file)
    return tuple(sorted(here.union(*known)))


def known_by(snapshot: ProcessSnapshot, one: Linkage, layer: str, file: str) -> str:
    if one is snapshot.objects.all[0]:
        return PROGRAM
    if layer == "hook":
        return NAMED if layers.is_named(file) else NOTICED if noticed.STATE().hooks.get(file) else REPLACES
    return BY_NAME if vendor.layer_of(file) else OTHER

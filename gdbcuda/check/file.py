"""The report on one file: a hook library or a program, alone or together."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator

from gdbcuda import api, elf
from gdbcuda.api.vendor import api_of, major_version
from gdbcuda.check.finding import Report
from gdbcuda.check.registry import ANY, LIBRARY, PAIR, PROGRAM, findings
from gdbcuda.check.subjects.subject import Subject, important_first
from gdbcuda.errors import UserError

_PROGRAMS = ("executable", "pie")


def check(
    path: str | os.PathLike[str],
    table: api.Table | None = None,
    program: str | os.PathLike[str] | None = None,
    sysroot: str | os.PathLike[str] | None = None,
    hook: str | os.PathLike[str] | None = None,
    maps: Iterable[tuple[str, str]] = (),
    of_both: bool = True,
) -> Report:
    """The report on one file; UserError, one line, when it cannot be read.

    ``program``: the file is a hook library for that program. ``hook``: the file is a program, to be run under
    that hook library. Either adds what can be said about the two together, unless ``of_both`` is false: then the file
    alone is judged, by what the other one asks of it. ``table`` is by default the one of
    the CUDA version that the program uses, else the newest. ``maps``: gdb's rules for sources, (FROM, TO).
    """
    root = elf.Root(sysroot)
    file = elf.open(root.of_user(os.fspath(path)))
    library, started = (file, None) if file.kind not in _PROGRAMS else (None, file)
    if library and program is not None:
        started = _opened(root, program, _PROGRAMS, "is not a program")
    elif started and hook is not None:
        library = _opened(root, hook, ("shared",), "is not a shared library")
    role = _role(file)
    subject = Subject(file, library, started, table or _table_for(file, library, started, root), root, tuple(maps))
    is_pair = of_both and bool(library and started)
    report = _empty(subject, role, is_pair)
    on = {"hook library": (ANY, LIBRARY), "program": (ANY, PROGRAM), "file": (ANY,)}[role]
    for finding in findings(subject, (*on, PAIR) if is_pair else on):
        report.add(finding)
    if role == "hook library":
        report.functions = dict(_functions(subject))
    return report


def _functions(subject: Subject) -> Iterator[tuple[str, list[str]]]:
    yield "exported", subject.in_order
    yield "not_hooked", important_first(subject.not_hooked)
    with contextlib.suppress(UserError):  # the finding "damaged" tells
        if subject.hidden_is_known:
            yield "hidden", important_first(subject.hidden)


def _role(file: elf.Elf) -> str:
    return {"shared": "hook library", "pie": "program", "executable": "program"}.get(file.kind, "file")


def _opened(root: elf.Root, path: str | os.PathLike[str], kinds: tuple[str, ...], problem: str) -> elf.Elf:
    file = elf.open(root.of_user(os.fspath(path)))
    if file.kind not in kinds:
        raise UserError(f"{file.path}: {problem} (ELF type: {file.kind})")
    return file


def _table_for(file: elf.Elf, library: elf.Elf | None, started: elf.Elf | None, root: elf.Root) -> api.Table:
    """Of the CUDA version that the program or the library is linked to, else the newest."""
    newest = api.load()
    if started:
        version = Subject(file, library, started, newest, root).uses.runtime_version
    else:
        version = next((major_version(name) for name in file.needed if api_of(name) == "runtime"), "")
    return api.load(cuda=version) if version else newest


def _empty(subject: Subject, role: str, pair: bool) -> Report:
    good = {"hook library": "ready", "program": "can be hooked", "file": "no findings"}[role]
    return Report(
        path=subject.file.path,
        role=role,
        machine=subject.file.machine,
        build_id=subject.file.build_id,
        cuda=subject.table.cuda,
        nvml=subject.table.nvml,
        good="will be reached" if pair else good,
    )

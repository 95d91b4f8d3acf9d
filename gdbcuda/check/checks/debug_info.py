"""Debug info: is it there, can gdb read it, and does it describe code that can be stepped through."""

from __future__ import annotations

import os
import re

from gdbcuda.check.registry import ANY, LIBRARY, PROGRAM, Answer, Answered, check
from gdbcuda.check.subjects.subject import Subject
from gdbcuda.elf.dwarf.compile_units import MOST_UNITS, Unit
from gdbcuda.text.sentences import counted, some

_FLAGS = "compile and link with -g -O0, and do not strip (no -s, no `strip`, no `install -s`)"
_CMAKE = "; with CMake: -DCMAKE_BUILD_TYPE=Debug"
_SAYS_VERSION = re.compile(r"^(Go) cmd/compile go([^ ;]+)|\((rustc) version ([^ )]+)")
_LEVEL = re.compile(r"(?:^| )-O(\w*)(?= |$)")


def _without(subject: Subject) -> str | None:
    if subject.with_debug_info:
        return None
    return f"no .debug_info section ({_left_of_symtab(subject)})"


def _left_of_symtab(subject: Subject) -> str:
    table = subject.file.symtab
    if not len(table):
        return "no .symtab either: stripped"
    return ".symtab is there" if table.has_local_functions else ".symtab has only what is global: strip -x"


@check(
    "no-debug-info", "warning", LIBRARY,
    means="it works, but gdb shows addresses only: no source lines, no arguments, no breakpoint on FILE:LINE",
    do=_FLAGS + _CMAKE,
)  # fmt: skip
def library_without(subject: Subject) -> Answer:
    return _without(subject)


@check(
    "program-no-debug-info", "note", PROGRAM,
    means="the hook library can be debugged; the program's own frames show no source and no arguments",
    do="compile the program with -g, if you have its source",
)  # fmt: skip
def program_without(subject: Subject) -> Answer:
    return _without(subject)


@check("debug-info", "note", ANY, means="gdb shows source lines, arguments and variables")
def present(subject: Subject) -> Answer:
    file = subject.with_debug_info
    if not file:
        return None
    units = [unit for unit in subject.units if unit.tag != "partial_unit"]
    if not units:
        return f".debug_info of {file.dwarf.sections['.debug_info'].size} bytes, not unpacked here"
    versions = sorted({unit.version for unit in units})
    elsewhere = f" in {file.path}" if file is not subject.file else ""
    producers = sorted({_compiler(unit) for unit in units if unit.producer})
    dwarf = "DWARF " + "/".join(map(str, versions))
    return f"{dwarf}, {_sources(units)}, {some(producers, 3) or 'compiler unknown'}{elsewhere}"


def _sources(units: list[Unit]) -> str:
    """(rustc makes several units of a file.)"""
    if len(units) == MOST_UNITS:
        return f"{MOST_UNITS} source files or more"
    packages = {unit.name for unit in units if unit.is_package}
    files = {(unit.directory, unit.name) for unit in units if not unit.is_package}
    kinds = (files, "source file"), (packages, "package")
    return some([counted(len(found), what) for found, what in kinds if found], 2)


def _compiler(unit: Unit) -> str:
    """ "gcc 12.2.0 -O0": the level is known for gcc only, which writes its options down."""
    if (told := _SAYS_VERSION.search(unit.producer)) is not None:
        return " ".join(filter(None, told.groups()))
    words = unit.producer.split()
    if not words or words[0] != "GNU":
        return " ".join(words[:4])
    version = next((word for word in words[2:] if word[0].isdigit()), "")
    return f"as {version}" if words[1:2] == ["AS"] else f"gcc {version} -O{_level(unit)}"


def _level(unit: Unit) -> str:
    """What follows -O, the last time (that one counts): "2"; "0" without."""
    levels = _LEVEL.findall(unit.producer)
    return (levels[-1] or "1") if levels else "0"


def _optimised(unit: Unit) -> bool:
    return _level(unit) not in ("0", "g")


@check(
    "optimised", "warning", LIBRARY,
    means="stepping jumps about, variables are <optimized out>, small functions have no breakpoint of their own",
    do="compile with -O0 (or -Og) instead" + _CMAKE,
)  # fmt: skip
def optimised(subject: Subject) -> Answer:
    units = [unit for unit in subject.units if unit.producer]
    fast = [unit for unit in units if _optimised(unit)]
    if not fast:
        return None
    names = some(sorted({os.path.basename(unit.name) for unit in fast}), 4)
    seen = f"{len(fast)} of {counted(len(units), 'source file')} compiled with -O{_level(fast[0])}: {names}"
    return Answered(seen, severity="" if len(fast) * 2 > len(units) else "note")


@check(
    "no-frame-pointer", "note", LIBRARY,
    means="profilers and backtraces through stripped code lose the caller",
    do="add -fno-omit-frame-pointer to the optimised build",
)  # fmt: skip
def without_frame_pointer(subject: Subject) -> Answer:
    fast = [unit for unit in subject.units if _optimised(unit)]
    missing = [unit for unit in fast if "-fno-omit-frame-pointer" not in unit.producer]
    return f"{counted(len(missing), 'optimised source file')} without -fno-omit-frame-pointer" if missing else None


@check(
    "line-tables-only", "warning", LIBRARY,
    means="gdb knows lines, but no arguments and no variables",
    do="compile with -g instead of -g1",
)  # fmt: skip
def line_tables_only(subject: Subject) -> Answer:
    units = [unit for unit in subject.units if re.search(r" -g(gdb)?1(?= |$)", unit.producer)]
    return f"{counted(len(units), 'source file')} compiled with -g1" if units else None


@check(
    "debug-compression", "note", ANY,
    means="gdb unpacks it while loading: slower to start",
)  # fmt: skip
def compressed(subject: Subject) -> Answer:
    file = subject.with_debug_info or subject.file
    kinds = sorted({contents.compression for contents in file.dwarf.sections.values()} - {""})
    if not kinds:
        return None
    if "zstd" in kinds:
        return Answered(
            "debug sections compressed with zstd",
            do="a gdb without zstd (before 13) says `unable to decompress`: link with -gz=zlib or -gz=none",
        )
    return f"debug sections compressed with {some(kinds)}"


@check(
    "split-debug-missing", "warning", ANY,
    means="most of the debug info is in .dwo files, and gdb does not find them",
    do="keep the .dwo files where they were made (or `dwp -e FILE`), or compile without -gsplit-dwarf",
)  # fmt: skip
def split_missing(subject: Subject) -> Answer:
    split = [unit for unit in subject.units if unit.split]
    if not split or os.path.exists(subject.file.path + ".dwp"):
        return None
    missing = sorted({path for path in map(_dwo, split) if not os.path.exists(path)})
    return f"{len(missing)} of {len(split)} .dwo files missing: {some(missing, 2)}" if missing else None


def _dwo(unit: Unit) -> str:
    return os.path.join(unit.directory, unit.split)


@check("split-debug", "note", ANY, means="the debug info is in files of its own: they must stay where they are")
def split(subject: Subject) -> Answer:
    if os.path.exists(subject.file.path + ".dwp"):
        return f"{subject.file.path}.dwp"
    found = [unit for unit in subject.units if unit.split and os.path.exists(_dwo(unit))]
    return f"{len(found)} .dwo files, all found" if found and split_missing(subject) is None else None


@check(
    "debug-link-missing", "warning", LIBRARY,
    means="the debug info was put into a file of its own, and gdb will not find it",
)  # fmt: skip
def link_missing(subject: Subject) -> Answer:
    link = subject.file.debuglink
    if not link or subject.debug_file or ".debug_info" in subject.file.dwarf.sections:
        return None
    folder = os.path.dirname(os.path.realpath(subject.file.path))
    return Answered(
        f".gnu_debuglink names {link.name}; no file of that name with the right build-id or CRC was found",
        do=f"copy it to {folder}/{link.name}, or in gdb: add-symbol-file, `set debug-file-directory DIR`",
    )


@check(
    "no-build-id", "note", ANY,
    means="nobody can tell whether a loaded library, a core file or a debug file belongs to this very build",
    do="link with -Wl,--build-id",
)  # fmt: skip
def no_build_id(subject: Subject) -> Answer:
    return None if subject.file.build_id else "no .note.gnu.build-id"

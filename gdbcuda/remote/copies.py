"""Is the copy here what runs there: the findings of ``cuda-check`` on a program of another machine.

Decided by build-ids: of the file here, and in the process's memory. (ld(1): --build-id; gdb manual: "Files",
``add-symbol-file``, ``set solib-search-path``; "File Transfer", ``remote get``.)
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator
from typing import NamedTuple

from gdbcuda import elf
from gdbcuda.check.finding import Finding
from gdbcuda.errors import UserError
from gdbcuda.files.source_places import common
from gdbcuda.remote import substitute_path

TWO_BUILDS = "they are two builds: breakpoints land beside their lines, arguments are read from wrong places"
TWO_BUILDS_READ_THERE = "gdb reads the one that runs and stops in the right places; the sources here may be others"
SHOWN = 12  # digits of a build-id that a person compares


class Copy(NamedTuple):
    """An object of the process, and the file here that is taken for it ("" if there is none).

    ``is_read_there``: gdb has fetched the other machine's own file. ``debug``: gdb has lines for its functions; None
    where gdb has no symbols of it at all. ``looked_for``: sources of those functions, where gdb looks for them."""

    file: str
    base: int
    build_id: str | None
    here: str
    debug: bool | None
    looked_for: tuple[str, ...] = ()
    is_read_there: bool = False

    @property
    def name(self) -> str:
        return os.path.basename(self.file)


def findings(copy: Copy) -> Iterator[Finding]:
    known = file_here(copy)
    if known is not None:
        yield from same(copy, known)
    is_same = known is not None and known.build_id == copy.build_id
    if not copy.debug:
        yield from no_debug_info(copy, known if is_same else None)
    missing = [path for path in copy.looked_for if not os.path.exists(path)]
    if missing:
        yield no_sources(copy, missing)
    elif copy.looked_for:
        yield Finding("sources-found", "note", f"{copy.name}: its sources are here, {copy.looked_for[0]} among them",
                      "gdb shows them")  # fmt: skip


def file_here(copy: Copy) -> elf.Elf | None:
    try:
        return elf.open(copy.here) if copy.here else None
    except UserError:
        return None


def same(copy: Copy, known: elf.Elf) -> Iterator[Finding]:
    if not (copy.build_id and known.build_id):
        yield Finding("no-build-id", "warning", f"{copy.name} has no build-id, here or in the process",
                      "nobody can tell whether the two are the same build", "link it with -Wl,--build-id")  # fmt: skip
    elif copy.build_id == known.build_id:
        yield Finding("same-build", "note", f"{copy.name} in the process is the same build as {copy.here} (build-id "
                      f"{copy.build_id[:SHOWN]}\u2026)", "lines and arguments are read right")  # fmt: skip
    else:
        yield Finding("other-build", "error", f"{copy.name} in the process has build-id {copy.build_id[:SHOWN]}\u2026, "
                      f"{copy.here} has {known.build_id[:SHOWN]}\u2026",
                      TWO_BUILDS_READ_THERE if copy.is_read_there else TWO_BUILDS,
                      f"bring one of them to the other side and begin again; to get the one from there:\n"
                      f"    remote get {shlex.quote(copy.file)} {shlex.quote(copy.here)}",
                      f"{copy.name} here is not what runs")  # fmt: skip


def no_debug_info(copy: Copy, known: elf.Elf | None) -> Iterator[Finding]:
    """``known``: a file here of the same build."""
    has_debug = known is not None and ".debug_info" in known.dwarf.sections
    if copy.debug is None:
        yield Finding("no-symbols", "warning", f"gdb has no symbols of {copy.name}: the sysroot has no such file",
                      "breakpoints by name do not find it",
                      f"in gdb:\n    set solib-search-path {os.path.dirname(copy.here)}" if known is not None
                      else "let gdb fetch it from there:\n    set sysroot target:")  # fmt: skip
    elif has_debug:
        yield Finding("debug-info-here", "warning", f"gdb reads {copy.file} of the other machine, which is stripped",
                      f"{copy.here} is the same build with debug info, and not used",
                      f"in gdb:\n    add-symbol-file {shlex.quote(copy.here)} -o {copy.base:#x}")  # fmt: skip


def no_sources(copy: Copy, missing: list[str]) -> Finding:
    found = substitute_path.of_files(filter(None, [copy.here])).maps
    rule = found[0] if found else (common(missing), "DIR")
    return Finding("sources-not-found", "warning", f"{copy.name}: gdb looks for {missing[0]}, which is not here",
                   "it stops at the right place and has no line to show",
                   "in gdb" + (", with the place of your sources" if not found else "")
                   + f":\n    set substitute-path {' '.join(map(quoted, rule))}")  # fmt: skip


def quoted(word: str) -> str:
    return word if word == "DIR" else shlex.quote(word)

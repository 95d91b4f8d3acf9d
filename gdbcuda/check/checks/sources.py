"""Are the sources where the debug info says, and which line to gdb would mend it."""

from __future__ import annotations

import os

from gdbcuda.check.registry import ANY, Answer, Answered, check
from gdbcuda.check.subjects.subject import Subject
from gdbcuda.files.source_places import MOST_PATHS, common, here, source_path, substitution, tops
from gdbcuda.text.sentences import some

# Rust's own library's, and what cgo has written for a while: no machine has those there.
NOBODYS = "/rustc/", "/rust/deps/", "/_/runtime/cgo/", "/tmp/go-build"


@check(
    "sources-missing", "warning", ANY,
    means="gdb stops at the right place and has no source to show for it",
)  # fmt: skip
def missing(subject: Subject) -> Answer:
    if subject.file.kind != "shared":
        return None  # whoever debugs a hook library may well have no source of the program
    named = (source_path(unit.directory, unit.name) for unit in subject.units if not unit.is_package)
    own = (path for path in named if path and not path.startswith(NOBODYS))
    paths = list(dict.fromkeys(own))[:MOST_PATHS]
    gone = [path for path in paths if not os.path.exists(here(path, subject.maps))]
    if not gone:
        return None
    return Answered(f"{len(gone)} of {len(paths)} source files are not here: {some(gone, 2)}", do=advice(gone))


def advice(gone: list[str]) -> str:
    """The line to type in gdb, with a place that was found or with a placeholder."""
    if not gone[0].startswith("/"):
        return "the paths are relative; in gdb:\n    directory DIR_WHERE_THE_COMPILER_RAN"
    found = substitution(gone, tops())
    if found:
        return f"in gdb:\n    set substitute-path {found[0]} {found[1]}"
    return f"in gdb, with the place of your sources:\n    set substitute-path {common(gone)} DIR"

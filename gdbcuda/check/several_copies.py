"""Two files of one soname: DT_RUNPATH or DT_RPATH of some object, or its path, has led to a second one."""

from __future__ import annotations

import os
from collections.abc import Iterator
from os.path import basename

from gdbcuda.check.finding import Finding
from gdbcuda.routes import collect, verdicts
from gdbcuda.routes.snapshot import ProcessSnapshot
from gdbcuda.text.sentences import some


def findings(snapshot: ProcessSnapshot) -> Iterator[Finding]:
    by_soname: dict[tuple[str, str], list[str]] = {}
    for one in snapshot.in_layer("driver", "runtime"):
        soname = one.dynamic.soname or basename(one.image.name)
        by_soname.setdefault((soname, snapshot.layers[one]), []).append(snapshot.file_of(one))
    for (soname, layer), files in by_soname.items():
        if len(files) > 1:
            seen = f"{soname} is loaded {len(files)} times: {', '.join(files)}"
            yield of_runtimes(snapshot, files, seen) if layer == "runtime" else of_drivers(snapshot, files, seen)


def of_drivers(snapshot: ProcessSnapshot, files: list[str], seen: str) -> Finding:
    means = f"the hook hands on to one of them{run_paths(snapshot, files)}"
    return Finding("second-driver", "error", seen, means, "let all find the same file")


def of_runtimes(snapshot: ProcessSnapshot, files: list[str], seen: str) -> Finding:
    """Where one was preloaded, a program that loads its own by path has two, and calls the first."""
    used = bound_to(snapshot, files)
    if len(used) > 1:
        means = f"each has callers, and an error that one keeps the other does not know{run_paths(snapshot, files)}"
        return Finding("second-runtime", "warning", seen, means, "let all find the same file")
    bound = f"what refers to it is bound to {used[0]}" if used else "nothing refers to it by name"
    if not used and any(verdicts.runtime(snapshot, name) for name in snapshot.hooked_names):
        bound = "the hook answers what refers to it, and hands on to one of them"
    return Finding("second-runtime", "note", seen, f"{bound}; others answer only who asks by their handle")


def bound_to(snapshot: ProcessSnapshot, files: list[str]) -> list[str]:
    """Those of the files that slots of the program and its libraries lead to."""
    asking = snapshot.in_layer("app")
    routes = (route for one in asking for route in collect.references(snapshot, one, snapshot.api_names))
    reached = {route.reached.file for route in routes if route.reached is not None}
    return [file for file in dict.fromkeys(files) if file in reached]


def run_paths(snapshot: ProcessSnapshot, files: list[str]) -> str:
    """Whose leads to where one of these is."""
    folders = {os.path.normpath(os.path.dirname(file)) for file in files}
    named = [f"{basename(file)} has {kind} {path}" for one in snapshot.objects.all if snapshot.layers[one] == "app"
             for file, (kind, path) in [(snapshot.file_of(one), one.dynamic.run_path)]
             if folders.intersection(searched(file, path))]  # fmt: skip
    return f"; {some(named)}" if named else ""


def searched(file: str, path: str) -> list[str]:
    """The folders of a run path (ld.so(8): $ORIGIN)."""
    origin = os.path.dirname(file)
    named = (one.replace("${ORIGIN}", origin).replace("$ORIGIN", origin) for one in path.split(":") if one)
    return [os.path.normpath(one) for one in named]

"""A run with faults and without a prompt: what ``gdbcuda fail`` has gdb do.

The program has its own standard streams: gdb writes elsewhere. (gdb manual: "Signals", "Environment".)
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from typing import Any, NamedTuple

import gdb

from gdbcuda.errors import UserError
from gdbcuda.live import process
from gdbcuda.live.breakpoints import ours
from gdbcuda.live.host import gdb_cli
from gdbcuda.live.preloading import preload
from gdbcuda.live.stopping import injections

FATAL = ("SIGSEGV", "SIGABRT", "SIGBUS", "SIGILL", "SIGFPE", "SIGTERM", "SIGINT", "SIGHUP", "SIGQUIT", "SIGSYS")
SETTINGS = (
    "set confirm off", "set pagination off", "set breakpoint pending on", "set disable-randomization off",
    "set startup-with-shell on", "handle all nostop noprint pass",
    *(f"handle {name} stop pass" for name in FATAL),  # what gdb stops at, it can look at once more
)  # fmt: skip


class BatchRun(NamedTuple):
    """``streams``: descriptors of the program's standard input, output and errors; ``unset`` of gdb's own variables."""

    command: str
    hook: str
    program: Sequence[str]
    streams: Sequence[int]
    variables: dict[str, str]
    unset: Sequence[str]
    result: str


def run(text: str) -> None:
    """``text``: the fields of a `BatchRun` as JSON."""
    wanted = BatchRun(**json.loads(text))
    found: dict[str, Any] = {}
    try:
        found = to_its_end(wanted)
    except (gdb.error, UserError) as problem:
        found["problem"] = str(problem)
    with open(wanted.result, "w", encoding="utf-8") as file:
        json.dump(found, file)


def to_its_end(wanted: BatchRun) -> dict[str, Any]:
    for line in SETTINGS:
        gdb_cli.execute(line)
    for name, value in wanted.variables.items():
        gdb_cli.execute(f"set environment {name} = {value}")
    for name in wanted.unset:
        gdb_cli.execute(f"unset environment {name}")
    if wanted.hook:
        gdb_cli.execute(f"cuda-load {shlex.quote(wanted.hook)}")
    gdb_cli.execute(wanted.command)
    preload.need_ours(True, "faults")
    gdb_cli.execute(f"run {run_line(wanted)}")
    while process.is_alive():
        gdb_cli.execute("continue")
    return {"status": number("_exitcode"), "signal": number("_exitsignal"), "faults": [*map(said, numbers())]}


def run_line(wanted: BatchRun) -> str:
    """Of a POSIX shell. The descriptors that gdb has for it are not the program's."""
    source, output, errors = wanted.streams
    ends = " ".join(f"{one}>&-" for one in wanted.streams)
    return f"{' '.join(map(shlex.quote, wanted.program[1:]))} <&{source} >&{output} 2>&{errors} {ends}"


def number(name: str) -> int | None:
    value = gdb.convenience_variable(name)
    return None if value is None else int(value)


def numbers() -> list[int]:
    return sorted(one.number for one in ours.filtered() if one.wish is not None and one.filter and one.filter.fault)


def said(number: int) -> dict[str, Any]:
    why = ours.of(number).ended().by_gdb
    return {"words": ours.wish(number).words, "times": injections.count(number), "why": why}

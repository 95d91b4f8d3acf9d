"""The link to a remote target: which server is at its other end, and what a slow one is spared.

gdb reads the byte under each breakpoint that is made, writes all of them when the program goes on, and takes all out at
each stop: with one that never stops on every API function some thousand packets. (gdb manual: "Files",
``trust-readonly-sections``.)
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterator

import gdb

from gdbcuda.errors import Unreadable
from gdbcuda.live import process
from gdbcuda.live.host import gdb_cli
from gdbcuda.live.placing import inserted

LOG = "cuda-log"
TRUST = "trust-readonly-sections"
MANY = 100  # breakpoints
CONDITIONS = "breakpoint condition-evaluation"
_ours: list[bool] = []  # it was "auto" before


@contextlib.contextmanager
def planting() -> Iterator[None]:
    """Code is read from the files, if they are on this machine."""
    wanted = process.is_remote() and not str(gdb.parameter("sysroot")).startswith(process.REMOTE_PREFIX)
    if not wanted or gdb.parameter(TRUST) or not gdb_cli.is_possible():
        yield
        return
    gdb_cli.execute(f"set {TRUST} on")
    try:
        yield
    finally:
        gdb_cli.execute(f"set {TRUST} off")


@contextlib.contextmanager
def as_it_is() -> Iterator[None]:
    """Code is read from the process, within `planting` too."""
    with trusting("off"):
        yield


@contextlib.contextmanager
def trusting(wanted: str) -> Iterator[None]:
    before = "on" if gdb.parameter(TRUST) else "off"
    if before == wanted or not gdb_cli.is_possible():
        yield
        return
    gdb_cli.execute(f"set {TRUST} {wanted}")
    try:
        yield
    finally:
        gdb_cli.execute(f"set {TRUST} {before}")


def code_in_file(address: int, size: int) -> bytes:
    """What the object's file has there, behind a link as gdb reads it; b"" where that is not known."""
    if not process.is_remote():
        return process.code_in_file(address, size)
    with trusting("on"):
        try:
            return process.InferiorMemory().read(address, size) if trusts_files() else b""
        except Unreadable:
            return b""


def trusts_files() -> bool:
    """What gdb reads may be the file's code, whatever is in the process."""
    return bool(gdb.parameter(TRUST))


def keep_inserted(count: int) -> None:
    """Breakpoints stay in the process while it stands, until `as_before`. Where the server tests conditions, gdb sends
    all that are in the process once more whenever a library comes, in case that a condition is another one now; and for
    each gdbserver looks whether all the others are there still."""
    if count > MANY and process.is_remote():
        gdb_cli.when_possible(test_conditions_here)
        inserted.keep(LOG)


def as_before() -> None:
    inserted.release(LOG)
    if _ours:
        gdb_cli.when_possible(test_conditions_anywhere)


def test_conditions_here() -> None:
    """A user's own choice is left alone."""
    if gdb.parameter(CONDITIONS) == "auto":
        gdb_cli.execute(f"set {CONDITIONS} host")
        _ours.append(True)


def test_conditions_anywhere() -> None:
    if _ours and gdb.parameter(CONDITIONS) == "host":
        gdb_cli.execute(f"set {CONDITIONS} auto")
    _ours.clear()


@functools.cache
def is_cuda_gdb() -> bool:
    """Asked once, at the start: in an event it cannot be."""
    return bool(gdb_cli.execute("complete info cuda "))


def gdbserver() -> str:
    """The one that this debugger speaks to: cuda-gdb refuses any but its own."""
    return "cuda-gdbserver" if is_cuda_gdb() else "gdbserver"

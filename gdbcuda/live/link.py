"""The link to a remote target: which server is at its other end, and what a slow one is spared.

gdb reads the byte under each breakpoint that is made, writes all of them when the program goes on, and takes all out at
each stop: with one that never stops on every API function some thousand packets. (gdb manual: "Set Breaks",
``breakpoint always-inserted``; "Files", ``trust-readonly-sections``.)
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import gdb

from gdbcuda.live import target

KEPT = "breakpoint always-inserted"
TRUST = "trust-readonly-sections"
MANY = 100  # breakpoints

_has_set = False  # it was off before


@contextlib.contextmanager
def planting() -> Iterator[None]:
    """Code is read from the files, if they are on this machine."""
    wanted = target.is_remote() and not str(gdb.parameter("sysroot")).startswith(target.REMOTE_PREFIX)
    if not wanted or gdb.parameter(TRUST):
        yield
        return
    gdb.execute(f"set {TRUST} on", to_string=True)
    try:
        yield
    finally:
        gdb.execute(f"set {TRUST} off", to_string=True)


def keep_inserted(count: int) -> None:
    """Breakpoints stay in the process while it stands, until `as_before`."""
    global _has_set
    if count > MANY and target.is_remote() and not gdb.parameter(KEPT):
        gdb.execute(f"set {KEPT} on", to_string=True)
        _has_set = True


def as_before() -> None:
    global _has_set
    if _has_set:
        gdb.execute(f"set {KEPT} off", to_string=True)
        _has_set = False


def is_cuda_gdb() -> bool:
    return bool(gdb.execute("complete info cuda ", to_string=True))


def gdbserver() -> str:
    """The one that this debugger speaks to: cuda-gdb refuses any but its own."""
    return "cuda-gdbserver" if is_cuda_gdb() else "gdbserver"

"""One thread runs and the others are held, for the few instructions that only one may be in.

(gdb manual: "All-Stop", ``set scheduler-locking``.)
"""

from __future__ import annotations

import gdb

from gdbcuda.live import gdb_cli, link

SETTING = "scheduler-locking"
_as_set: list[str] = []  # by the user, while it is not so


def is_possible() -> bool:
    """cuda-gdb's targets cannot; and an error of gdb.execute within ``stop`` ends the user's continue."""
    return not link.is_cuda_gdb()


def hold() -> bool:
    """From the next moment that the program goes on."""
    if _as_set:
        return True
    if not is_possible():
        return False
    before = str(gdb.parameter(SETTING))
    try:
        gdb_cli.execute(f"set {SETTING} on")
    except gdb.error:
        return False
    _as_set.append(before)
    return True


def release() -> bool:
    """Whether they were held until now."""
    if not _as_set:
        return False
    before = _as_set.pop()
    gdb_cli.when_possible(lambda: restore(before))
    return True


def restore(before: str) -> None:
    gdb_cli.execute(f"set {SETTING} {before}")

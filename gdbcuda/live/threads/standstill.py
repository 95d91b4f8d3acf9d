"""Whether gdb stops all threads to look at one, and how it is made to. (gdb manual: "Maintenance Commands",
target-non-stop; "All-Stop Mode".)"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import gdb

from gdbcuda.errors import UserError
from gdbcuda.live import process
from gdbcuda.live.host import gdb_cli, inferiors

NON_STOP = "maintenance show target-non-stop"
WANTED: list[str] = []  # how the user has gdb step, while we have it step in place (`preloading.main_thread`)
IS_NON_STOP: inferiors.PerInferior[list[bool]] = inferiors.PerInferior(list)  # it cannot be changed while one runs


def stands_still() -> bool:
    """All of the process does whenever gdb looks; else the other threads run on."""
    if process.raw_memory() is None:
        return True
    known = IS_NON_STOP()
    if not known and gdb_cli.is_possible():
        known.append("is off" not in gdb_cli.execute(NON_STOP))
    return known == [False]


def stays_in_place() -> bool:
    """The same for as long as the process lives."""
    return not WANTED and steps_in_place()


def steps_in_place() -> bool:
    """Whether gdb steps a thread over a breakpoint by taking the breakpoint out, all other threads standing still; else
    it lets the thread execute the instruction elsewhere. (gdb manual: "Maintenance Commands", displaced-stepping.)"""
    wanted = gdb.parameter("displaced-stepping")  # None: auto
    return stands_still() if wanted is None else not wanted


@contextlib.contextmanager
def other_threads_held() -> Iterator[None]:
    """Errors: `UserError` where there are others, and the debugger cannot hold them (cuda-gdb 13)."""
    with contextlib.ExitStack() as held:
        try:
            held.enter_context(gdb_cli.setting("scheduler-locking", "on"))
        except gdb.error as problem:
            if len(inferiors.threads()) > 1:
                raise UserError(f"the other threads cannot be held meanwhile: {problem}") from None
        yield

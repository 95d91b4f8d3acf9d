"""Does the process run, or can gdb look at it? (gdb manual: "Threads In Python".)"""

from __future__ import annotations

import gdb

from gdbcuda.errors import Unreadable, UserError
from gdbcuda.live.host import gdb_cli, inferiors
from gdbcuda.live.process.auxiliary_vector import auxiliary
from gdbcuda.live.process.memory import InferiorMemory
from gdbcuda.live.process.state import is_alive, is_remote


def is_running() -> bool:
    """Some thread runs. A remote target that runs does not even tell its threads, and asking for them is a packet: in
    all-stop mode they run and stop together."""
    thread = inferiors.selected_thread()
    if thread is not None and thread.is_valid() and not gdb.parameter("non-stop"):
        return bool(thread.is_running())
    try:
        return any(thread.is_running() for thread in inferiors.threads())
    except gdb.error:
        return True


def pause() -> str:
    """What to say of a command that needs a stopped thread; in non-stop mode another one may be stopped."""
    how = "interrupt -a; or thread N, one that is stopped" if gdb.parameter("non-stop") else "interrupt, or Ctrl-C"
    return f"the program is running: pause it first ({how})"


def is_thread_running() -> bool:
    """The selected thread runs: it has no registers and no frame to look at."""
    return is_alive() and gdb_cli.is_thread_running()


def require_stopped() -> None:
    """UserError while gdb cannot look: a remote target that runs answers nothing, and before gdb 11 no program that
    runs. For commands, not for events."""
    if is_thread_running() and (is_remote() or not has_readable_stack()):
        raise UserError(pause())


def has_readable_stack() -> bool:
    """Whether the process's memory can really be read now: for code and constants gdb may answer from the files."""
    try:
        InferiorMemory().read(auxiliary()["AT_RANDOM"], 1)
    except (Unreadable, KeyError):
        return False
    return True

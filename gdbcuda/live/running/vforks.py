"""From a vfork on only the child goes on, until it executes its program or ends. Then all do.

The kernel lets the parent wait meanwhile, so gdb could not stop it: where something else stops, or is stepped over a
breakpoint, gdb waits for the parent, and the parent for a child that gdb has stopped. And gdb stops the parent's other
threads at the vfork; all go on when the program is continued. (gdb's infrun.c:
stop_all_threads, handle_vfork_child_exec_or_exit)
"""

from __future__ import annotations

import gdb

from gdbcuda.live.host import gdb_cli
from gdbcuda.live.running import last_steps

ALONE = ("schedule-multiple off", "follow-fork-mode child")
TOGETHER = ("schedule-multiple on", "follow-fork-mode parent")
NOTED = "commands {}\nsilent\npython __import__('gdbcuda.live.running.vforks', fromlist=['*']).note({!r})\nend"
VFORK, EXEC = "vfork", "exec"
_catching: dict[str, int] = {}  # numbers of catchpoints
_caught: list[str] = []  # since the program went on


def watch() -> None:
    for event in (VFORK, EXEC):
        gdb_cli.execute(f"catch {event}")
        _catching[event] = int(gdb.parse_and_eval("$bpnum"))
        gdb_cli.execute(NOTED.format(_catching[event], event))
    gdb_cli.execute(f"disable {_catching[EXEC]}")


def note(event: str) -> None:
    _caught.append(event)


def is_ahead() -> bool:
    """The program has stopped where it is about to make a vfork."""
    return VFORK in _caught


def end_step() -> None:
    """Of the thread that was about to step over it."""
    thread = gdb.selected_thread()
    let_child_go_on()
    if thread is not None and thread.is_valid():
        thread.switch()
    gdb.write("gdbcuda: a vfork has ended the step: finish leads out of it\n")


def let_child_go_on() -> bool:
    """False where something else has stopped it: that is for the user."""
    _caught.clear()
    ends: list[gdb.ExitedEvent] = []
    gdb.events.exited.connect(ends.append)
    last_steps.switch(False)
    try:
        for setting in ALONE:
            gdb_cli.execute(f"set {setting}")
        gdb_cli.execute(f"enable {_catching[EXEC]}")
        gdb_cli.execute_aloud("continue")
    finally:
        gdb.events.exited.disconnect(ends.append)
        last_steps.switch(True)
        gdb_cli.execute(f"disable {_catching[EXEC]}")
        for setting in TOGETHER:
            gdb_cli.execute(f"set {setting}")
    is_ours = bool(ends) or EXEC in _caught
    _caught.clear()
    return is_ours

"""A process has begun, ended, or become another one: what was known of it goes. (gdb manual: "Events In Python".)"""

from __future__ import annotations

import gdb

from gdbcuda.live import process
from gdbcuda.live.host import console, inferiors
from gdbcuda.live.host.lazily import if_loaded
from gdbcuda.live.placing import own_process
from gdbcuda.live.preloading import presence
from gdbcuda.live.stopping import stops

ONE_AT_A_TIME = (
    "gdbcuda: this gdb watches one process at a time: with several, returns, the log and cuda-dlsym may miss calls or "
    "name the wrong process (gdb 13 and newer keep them apart; cuda-help gdbs)\n"
)
_said: list[bool] = []


def on_exit(event: gdb.ExitedEvent) -> None:
    """Exited, killed, or detached from: for gdb the process is no more."""
    inferiors.end_process(event.inferior)
    process.forget()
    inferiors.forget_ended(event.inferior.num)
    own_process.leave(event.inferior.num)
    own_process.free(event.inferior.num)


def on_inferior_deleted(event: gdb.InferiorDeletedEvent) -> None:
    inferiors.end_process(event.inferior)
    inferiors.forget_all(event.inferior.num)


def on_new_thread(event: gdb.ThreadEvent) -> None:
    """The first thread of a process that gdb tells of: where gdbserver has attached to several, all are there already.
    (gdb adds the leader of a dying process a second time: that is no new one.)"""
    inferior = inferiors.of_event(event)
    if (inferior.pid or inferiors.new_thread(event).num == 1) and inferiors.begin_process(inferior):
        begin(inferior)


def on_clear_objfiles(event: gdb.ClearObjFilesEvent) -> None:
    """gdb has no event for exec, but it takes the old program's symbols away: from now on it is another process."""
    for inferior in inferiors.have_executed(event.progspace):
        begin(inferior)
        presence.on_exec(inferior)


def begin(inferior: gdb.Inferior) -> None:
    process.forget()
    inferiors.forget_all(inferior.num)
    own_process.leave(inferior.num)
    # gdb 10 to 12 cannot keep the breakpoints of several processes apart: the newest is watched alone. Not while one
    # forks, for there gdb is in the middle of its list of breakpoints.
    if not own_process.CAN_CONFINE and not inferiors.is_forked(inferior):
        for other in gdb.inferiors():
            inferiors.forget_ended(other.num)
    stops.new_process()
    if not own_process.CAN_CONFINE and stay_several(inferior):
        if not _said:
            console.write(ONE_AT_A_TIME)
        _said.append(True)
        if inferiors.is_forked(inferior):  # gdb 10 aborts if another process is selected within its fork
            return
    if_loaded("guarding.guards", "on_process")(inferior)
    if_loaded("recording.call_log", "on_process")(inferior)


def stay_several(newest: gdb.Inferior) -> bool:
    """Of a fork gdb leaves one alone, unless told otherwise."""
    are_kept = not inferiors.is_forked(newest) or not gdb.parameter("detach-on-fork")
    return are_kept and sum(1 for one in gdb.inferiors() if one.pid) > 1

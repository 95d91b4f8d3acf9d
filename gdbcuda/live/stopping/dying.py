"""A signal that may end the process: gdb lets its threads go on one by one, and asks of each where it is.

The first one takes the signal along, and the kernel may have ended the others by then. gdb fails in the middle of it,
and later in an assertion of its own. What it has read before it does not read again.
(gdb's infrun.c: proceed_resume_thread_checked, resume_1.)
"""

from __future__ import annotations

import gdb

from gdbcuda.live import process
from gdbcuda.live.host import inferiors
from gdbcuda.live.threads import positions

NOT_GIVEN = ("SIGINT", "SIGTRAP")  # to the program, unless the user says so


def on_stop(event: gdb.StopEvent) -> None:
    if isinstance(event, gdb.SignalEvent) and event.stop_signal not in NOT_GIVEN and not process.is_remote():
        positions.newest({one.num for one in inferiors.threads()})

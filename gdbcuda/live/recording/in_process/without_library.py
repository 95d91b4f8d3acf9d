"""A process that the recorder is not in: what started it has given it an environment of its own, which names no library
of ours."""

from __future__ import annotations

import os

from gdbcuda.calls.references import MISSING
from gdbcuda.linkage import Linkage
from gdbcuda.live import process
from gdbcuda.live.host import console
from gdbcuda.live.patching import agent
from gdbcuda.live.preloading import presence
from gdbcuda.live.recording.base import planting
from gdbcuda.live.recording.base.log_notes import LogNotes
from gdbcuda.text.printable import visible


def tell(log: LogNotes, linkage: Linkage) -> None:
    """Once, when the first object with functions to be recorded is loaded while it runs."""
    if (MISSING, agent.__name__) in log.noted() or agent.area() is not None or not presence.is_settled():
        return
    if not process.is_thread_running() or not planting.spots(linkage, log.wish.functions, log.wish.places):
        return
    program = os.path.basename(process.program())
    what = f"a program without libgdbcuda.so, as one with an environment of its own: no call of {program} is recorded"
    log.note(MISSING, agent.__name__, {"name": program, "what": what, "count": 1})
    console.write(visible(f"cuda-log: {what}") + "\n")

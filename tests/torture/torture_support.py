"""Plays one session of a build under gdb with an extension of the test's."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import cases
import processes
from building import Build
from lines import Tools
from playing import Outcome
from sessions import Session

TORTURE = Path(__file__).resolve().parents[2] / "scripts" / "torture.d"


class Torture:
    """Plays a session of that build with an extension, and gives what was found: kind -> text."""

    def __init__(self, build: Build, plain: Outcome, folder: Path) -> None:
        self.build, self.plain, self.folder = build, plain, folder

    def play(self, extension: Path, session: Session) -> dict[str, str]:
        """The processes of other tests, which this one's worker has started, go on."""
        gdb, others = os.environ.get("GDBCUDA_GDB", "gdb"), frozenset(processes.descendants(os.getpid()))
        tools = Tools(gdb, shutil.which("gdbserver") or "gdbserver", extension, others)
        work = cases.Work(1, 0, [0], tools, self.folder, float("inf"))
        player = cases.Player(work, self.build, session, self.plain, self.folder.name)
        processes.adopt_orphans()
        try:
            return {one.kind: one.text for one in player.play(False)}
        finally:
            processes.adopt_orphans(False)

"""A session typed at a terminal: breakpoints with commands that continue and step, until the program has ended."""

from __future__ import annotations

import os
import pty
import select
import signal
import subprocess
import time
from pathlib import Path

import lines
import stuck
from building import Build
from lines import Place, Tools
from playing import Outcome, read, read_places
from processes import mine, send
from sessions import Session

PROMPT = "(gdb) "


def play(build: Build, session: Session, tools: Tools, folder: Path, control: bool, limit: float) -> Outcome:
    folder.mkdir()
    place = Place(folder)
    (folder / "hold").write_text("")
    line = [*tools.line(control, place, session), "--args", *lines.program_line(build, place, "/dev/null")]
    typed = Typed(
        line, lines.environment(session, dict(os.environ)) | {"TERM": "dumb", "NO_COLOR": "1"}, limit, place.out
    )
    outcome = Outcome(terminal=True)
    try:
        typed.wait_for_prompt()
        for word in [*lines.setup(build, session, control), *watched(session, control), "run"]:
            typed.type(word)
        for _ in range(session.stops):
            if not typed.programs():
                break
            typed.type("continue")
        for word in ("delete", "continue", "info breakpoints") if typed.programs() else ("info breakpoints",):
            typed.type(word)
    except TimeoutError:
        where = stuck.stacks(typed.gdb.pid, next(iter(typed.programs()), 0), folder)
        outcome.stuck, outcome.slow = f"{where}; {typed.progress.last_part()}", typed.progress.is_slow
    finally:
        typed.close()
        for pid in mine(place.out):
            send(pid, signal.SIGKILL)
    outcome.out, outcome.text, outcome.places = read(place.out), typed.text, read_places(place)
    outcome.seconds = time.monotonic() - typed.began
    place.text.write_text(typed.text)
    return outcome


def watched(session: Session, control: bool) -> list[str]:
    """The first goes on by itself, the second makes a step and goes on at the prompt."""
    found = []
    for watch, commands in zip(session.watches, (["silent", "continue"], ["silent", "step"])):
        said = watch.plain if control else watch.cuda
        found += [said, *(["y"] if control and said.startswith("break") else []), "commands", *commands, "end"]
    return found


class Typed:
    """gdb in a pseudo-terminal. ``type`` waits for the next prompt; within commands the prompt is ">"."""

    def __init__(self, line: list[str], environment: dict[str, str], limit: float, out: Path) -> None:
        self.master, slave = pty.openpty()
        self.gdb = subprocess.Popen(line, stdin=slave, stdout=slave, stderr=slave, env=environment,
                                    start_new_session=True)  # fmt: skip
        os.close(slave)
        self.text, self.seen = "", 0
        self.began = time.monotonic()
        self.patience = stuck.Patience(limit)
        self.out, self.progress = out, stuck.Progress()

    def programs(self) -> list[int]:
        """(It may be stopped before it has said who it is.)"""
        return [one for one in mine(self.out) if one != self.gdb.pid]

    def pids(self) -> list[int]:
        return sorted({self.gdb.pid, *mine(self.out)})

    def type(self, line: str) -> None:
        self.seen = len(self.text)
        os.write(self.master, line.encode() + b"\n")
        self.wait_for_prompt()

    def wait_for_prompt(self) -> None:
        while not self.at_prompt():
            if self.progress.stands(self.pids, [self.out]) or self.patience.is_over():
                raise TimeoutError
            if not self.read(0.2) and self.gdb.poll() is not None:
                return

    def at_prompt(self) -> bool:
        new = self.text[self.seen :]
        return new.endswith((PROMPT, "\n>", "(y or [n]) ")) and not self.read(0.05)

    def read(self, seconds: float) -> bool:
        if not select.select([self.master], [], [], seconds)[0]:
            return False
        try:
            data = os.read(self.master, 65536)
        except OSError:  # the other end is closed
            return False
        self.text += data.decode(errors="replace").replace("\r", "")
        return bool(data)

    def close(self) -> None:
        send(-self.gdb.pid, signal.SIGKILL)
        self.gdb.wait()
        os.close(self.master)

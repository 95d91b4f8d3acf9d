"""Plays one session of a build, and says what happened. The program is watched from outside as well: its processes,
its memory, the time that it takes."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import lines
import segments
import stuck
from building import Build
from lines import ATTACHED, Place, Tools
from processes import alive, descendants, mine, send
from sessions import Session

TICK = 0.004  # seconds between looks
MOST_WORDS = 1 << 26  # bytes that gdb may say: a run of 60 stops says some hundred thousand


@dataclass
class Outcome:
    """What a run has left: the program's lines, its wait status (None where nobody could tell), gdb's words and notes,
    the lines of the saved log, bytes of code that are not the files', processes that live on."""

    out: list[str] = field(default_factory=list)
    status: int | None = None
    gdb_status: int | None = None
    notes: list[dict[str, Any]] = field(default_factory=list)
    text: str = ""
    log: list[str] = field(default_factory=list)
    places: set[int] = field(default_factory=set)  # addresses at which breakpoints have been
    memory: list[str] = field(default_factory=list)
    left: list[str] = field(default_factory=list)
    stuck: str = ""
    slow: bool = False  # it was not at its end, and on its way there
    seconds: float = 0
    terminal: bool = False
    killed: bool = False  # by the harness, at a random time
    killed_at: int = 0  # behind so many stops

    @property
    def same(self) -> list[str]:
        """The lines that are the same in every run, but not in the same order: threads and children write them."""
        return sorted(line for line in self.out if line.startswith("="))

    def noted(self, what: str) -> list[dict[str, Any]]:
        return [note for note in self.notes if note["what"] == what]


def plainly(build: Build, folder: Path, limit: float) -> Outcome:
    """The program by itself: the measure."""
    folder.mkdir()
    outcome, place = Outcome(), Place(folder)
    words = [str(build.program), str(place.out), "/dev/null", "/dev/null", str(build.library)]
    began = time.monotonic()
    with place.text.open("w") as text:
        program = subprocess.Popen(words, env=own_environment(build), stdin=subprocess.DEVNULL, stdout=text,
                                   stderr=text, start_new_session=True)  # fmt: skip
        try:
            outcome.status = program.wait(limit)
        except subprocess.TimeoutExpired:
            os.killpg(program.pid, signal.SIGKILL)
            program.wait()
            outcome.stuck = "the program alone"
    outcome.seconds = time.monotonic() - began
    outcome.out, outcome.text = read(place.out), "\n".join(read(place.text))
    return outcome


def own_environment(build: Build, session: Session | None = None) -> dict[str, str]:
    preload = {"LD_PRELOAD": lines.preloaded(build)} if lines.preloaded(build) else {}
    return lines.environment(session, dict(os.environ)) | preload


def read(path: Path) -> list[str]:
    return path.read_text(errors="replace").splitlines() if path.exists() else []


def read_places(place: Place) -> set[int]:
    return {int(line, 16) for line in read(place.places)}


class Run:
    """``kill_at``: the stop behind which the program is killed, instead of the session's time. gdb alone is faster."""

    def __init__(self, build: Build, session: Session, tools: Tools, folder: Path, control: bool, limit: float,
                 kill_at: int = 0) -> None:  # fmt: skip
        folder.mkdir()
        self.build, self.session, self.tools, self.control = build, session, tools, control
        self.place, self.outcome = Place(folder), Outcome()
        self.pipes = {name: self.pipe(name) for name in ("gate", "hold")}
        self.pid = 0
        self.parent: subprocess.Popen[bytes] | None = None  # of an attached program
        self.pokes, self.kill_after, self.kill_at = list(session.pokes), session.kill_after, kill_at
        self.began, self.started = time.monotonic(), 0.0
        self.notes_end = 0
        self.progress, self.patience = stuck.Progress(), stuck.Patience(limit)
        self.files = self.place.out, self.place.notes, self.place.text

    def pipe(self, name: str) -> int:
        os.mkfifo(self.place.folder / name)
        return os.open(self.place.folder / name, os.O_RDWR)

    def play(self) -> Outcome:
        if self.session.start in ATTACHED:
            self.start_program()
        self.began = time.monotonic()
        with self.place.text.open("w") as text:
            self.gdb = self.start_gdb(text)
            while not self.over():
                if self.progress.stands(self.all_mine, self.files) or self.patience.is_over():
                    where = stuck.stacks(self.gdb.pid, self.pid, self.place.folder)
                    self.outcome.stuck = f"{where}; {self.progress.last_part()}"
                    self.outcome.slow = self.progress.is_slow
                    break
                if self.place.text.stat().st_size > MOST_WORDS:
                    self.outcome.stuck = f"gdb has written {MOST_WORDS >> 20} MiB; {self.progress.last_part()}"
                    break
                self.look()
                time.sleep(TICK)
        self.outcome.seconds = time.monotonic() - self.began
        self.clear_up()
        self.outcome.gdb_status = self.gdb.returncode
        self.outcome.out, self.outcome.text = read(self.place.out), "\n".join(read(self.place.text))
        self.outcome.log, self.outcome.places = read(self.place.log), read_places(self.place)
        if self.place.text.stat().st_size > MOST_WORDS:
            os.truncate(self.place.text, MOST_WORDS >> 6)
        return self.outcome

    def start_gdb(self, text: Any) -> subprocess.Popen[bytes]:
        line = lines.gdb_line(self.build, self.session, self.tools, self.place, self.pid, self.control)
        return subprocess.Popen(line, env=lines.environment(self.session, dict(os.environ)), stdin=subprocess.DEVNULL,
                                stdout=text, stderr=subprocess.STDOUT, start_new_session=True)  # fmt: skip

    def start_program(self) -> None:
        words = lines.program_line(self.build, self.place, str(self.place.folder / "gate"))
        with (self.place.folder / "program.out").open("w") as text:
            its = own_environment(self.build, self.session)
            self.parent = subprocess.Popen(words, env=its, stdin=subprocess.DEVNULL, stdout=text, stderr=text,
                                           start_new_session=True)  # fmt: skip
        while not self.pid and self.parent.poll() is None:
            self.see_pid()
            time.sleep(TICK)

    def all_mine(self) -> list[int]:
        return sorted({self.gdb.pid, *mine(self.place.out)})

    # ---- while it runs ----

    def look(self) -> None:
        self.see_pid()
        self.read_notes()
        said = {note["what"] for note in self.outcome.notes}
        if len(self.outcome.noted("watch")) == len(self.session.watches):
            self.release("gate")
        if "started" in said and not said & {"end", "exited", "finished", "hits"}:
            self.poke()
        if self.pid and self.is_held():
            self.at_the_end(said)
        self.reap()

    def see_pid(self) -> None:
        ready = [line for line in read(self.place.out) if line.startswith("# ready ")]
        self.pid = int(ready[-1].split()[2]) if ready else self.pid

    def read_notes(self) -> None:
        if not self.place.notes.exists():
            return
        with self.place.notes.open() as file:
            file.seek(self.notes_end)
            while (line := file.readline()).endswith("\n"):
                self.outcome.notes.append(json.loads(line))
                self.notes_end = file.tell()

    def poke(self) -> None:
        self.started = self.started or time.monotonic()
        now = time.monotonic() - self.started
        if self.pid and self.kill_after and self.is_to_be_killed(now):
            self.kill_after, self.outcome.killed = 0, True
            self.outcome.killed_at = len(self.outcome.noted("stop"))
            send(self.pid, signal.SIGKILL)
        while self.pid and self.pokes and now > self.pokes[0]:
            self.pokes.pop(0)
            send(self.pid, signal.SIGUSR2)

    def is_to_be_killed(self, now: float) -> bool:
        return len(self.outcome.noted("stop")) >= self.kill_at if self.kill_at else now > self.kill_after

    def is_held(self) -> bool:
        return "hold" in self.pipes and "# holding" in read(self.place.out)

    def at_the_end(self, said: set[str]) -> None:
        """The program waits behind its last call. Once gdb has left it, all its code must be the files' again."""
        if "end" not in said:
            self.release("hold")
        elif self.session.end == "deletes":
            if "standing" not in said:
                return  # gdb is at it still
            if not self.control and any(note["kind"] == "deletes" for note in self.outcome.noted("end")):
                self.compare_code([str(self.build.library), str(self.build.program)])
            self.release("hold")
        elif self.gdb.poll() is not None or self.has_detached():
            if self.session.end != "leaves":  # there functions go on with the recorder
                self.compare_code([])
            self.release("hold")

    def has_detached(self) -> bool:
        """A gdb may end only after its gdbserver, which waits for the program that it has started (16.3)."""
        said = [note["what"] for note in self.outcome.notes]
        return self.session.end in ("detaches", "leaves") and "exited" in said[said.index("end") :]

    def compare_code(self, only: list[str]) -> None:
        patched = [int(line.split()[2], 16) for line in read(self.place.out) if line.startswith("# patched ")]
        found = segments.changed(self.pid, only, segments.around(patched))
        if patched:  # a trampoline stays too, and its mprotect makes data look like code
            found = [one for one in found if not one.filling]
        if self.session.stays_in_library:
            found = [one for one in found if os.path.basename(one.file) != segments.OUR_LIBRARY]
        inside, islands = (self.standing(what) for what in ("places", "islands"))
        stay = segments.staying(found, inside, islands)
        found = [one for one in found if one not in stay and not any(map(one.goes_on, stay))]
        self.outcome.memory += [str(one) for one in found if str(one) not in self.outcome.memory]

    def standing(self, what: str) -> list[tuple[str, int]]:
        return segments.places(self.pid, [pc for note in self.outcome.noted("standing") for pc in note[what]])

    def release(self, name: str) -> None:
        if name in self.pipes:
            os.close(self.pipes.pop(name))

    def reap(self) -> None:
        if self.parent is not None:
            self.outcome.status = self.parent.poll()
        elif self.pid and self.outcome.status is None:
            try:
                done, status = os.waitpid(self.pid, os.WNOHANG)
                self.outcome.status = os.waitstatus_to_exitcode(status) if done else None
            except ChildProcessError:  # it is gdb's child still
                pass

    def over(self) -> bool:
        if self.gdb.poll() is None:
            return False
        self.look()
        return not self.pid or not alive(self.pid)

    # ---- afterwards ----

    def clear_up(self) -> None:
        for name in list(self.pipes):
            self.release(name)
        for pid in (*descendants(self.gdb.pid), self.gdb.pid) if self.outcome.stuck else ():
            send(pid, signal.SIGKILL)
        self.outcome.left = [] if self.outcome.stuck else self.leftovers(3)
        for pid in {*mine(self.place.out), *self.children()}:  # a gdbserver names no file and outlives gdb
            send(pid, signal.SIGKILL)
        self.gdb.wait()
        if self.parent is not None:
            self.parent.wait()
        self.read_notes()
        self.reap_all()

    def leftovers(self, seconds: float) -> list[str]:
        until = time.monotonic() + seconds
        while (found := mine(self.place.out)) and time.monotonic() < until:
            self.reap_all()
            time.sleep(0.05)
        return [f"process {pid} is left over: {stuck.state(pid)}" for pid in found]

    def children(self) -> list[int]:
        """Ours, theirs, and those that were adopted; they may have ended."""
        return descendants(os.getpid(), self.tools.spared)

    def reap_all(self) -> None:
        self.reap()
        for pid in self.children():
            with contextlib.suppress(ChildProcessError):  # it is somebody else's child still
                done, status = os.waitpid(pid, os.WNOHANG)
                if done:
                    self.has_ended(pid, os.waitstatus_to_exitcode(status))

    def has_ended(self, pid: int, status: int) -> None:
        if pid == self.pid:
            self.outcome.status = status
        for one in filter(None, (self.gdb, self.parent)):
            one.returncode = status if one.pid == pid else one.returncode

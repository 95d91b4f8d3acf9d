"""The cases of one build, played and judged. What differs is tried again, and then under gdb without us."""

from __future__ import annotations

import shutil
import signal
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import building
import compiling
import judging
import playing
import processes
import sessions
import terminal
import traced
from building import Build
from compilers import Failed
from difference import Difference
from kinds import Kind
from lines import REMOTE, Tools
from playing import Outcome
from sessions import PER_BUILD, TRACED, Session

CHILDREN_A_SECOND = 20  # at least
LIMIT, TIMES_PLAIN = 25, 60  # seconds that a run may take, and times the plain run's besides
BY_STOPS = 4  # times as long where each call of some functions is two stops: 60,000 calls are 100 seconds
AGAIN, CONTROLS, MORE_CONTROLS = 2, 3, 12
QUICK_CONTROLS = 1


@dataclass
class Finding:
    case: int
    kind: str
    text: str
    runs: int = 1  # of so many runs
    found: int = 1  # so many showed it
    control_runs: int = 0
    control_found: int = 0
    control_worse: int = 0  # so many ended in a way that says nothing about it
    about: str = ""
    folder: str = ""
    watch: int = -1

    @property
    def is_gdbs(self) -> bool:
        """gdb alone shows it too, or has never come so far that it could."""
        shown = self.kind in judging.KNOWN or self.control_found > 0
        return shown or (self.control_worse > 0 and self.control_runs == 0)

    def is_among(self, found: Sequence[Difference]) -> bool:
        return any((one.kind, one.watch) == (self.kind, self.watch) for one in found)


@dataclass
class Result:
    """Of one build: what was played, what was found, and what this run itself did wrong."""

    cases: list[int] = field(default_factory=list)
    times: dict[int, float] = field(default_factory=dict)  # seconds of each case
    kinds: set[str] = field(default_factory=set)
    findings: list[Finding] = field(default_factory=list)
    error: str = ""
    left_out: str = ""  # why nothing was played
    seconds: float = 0


class Unfit(Exception):
    """Alone, the program is wrong already, by what its sanitizer makes of it: it is no measure."""


@dataclass(frozen=True)
class Work:
    seed: int
    build: int
    sessions: Sequence[int]
    tools: Tools
    folder: Path
    until: float  # on the monotonic clock: no case begins later
    confirm: bool = True  # else what was found is only tried without us
    alone: Kind | None = None  # the only part
    control: bool = False  # without us from the first


def play(work: Work) -> Result:
    processes.adopt_orphans()
    began, result = time.monotonic(), Result()
    try:
        build = building.choose(work.seed, work.build, work.folder, work.alone)
    except OSError as problem:
        return Result(error=f"--seed {work.seed} --case {work.build * PER_BUILD}: {problem}")
    try:
        building.write(build)
        compiling.compile_all(build)
        plain = measure(build)
        for number in work.sessions:
            if time.monotonic() < work.until:
                play_case(work, build, sessions.choose(build, number), number, plain, result)
    except Unfit as problem:
        result.left_out = f"--seed {work.seed} --case {work.build * PER_BUILD}: {problem} [{build}]"
    except OSError as problem:  # no room on the disk, say: it is no finding, and what others have found is told
        result.error = f"--seed {work.seed} --case {work.build * PER_BUILD}: {problem}"
        for pid in processes.below(build.folder):
            processes.send(pid, signal.SIGKILL)
    except Failed as problem:
        result.error = f"--seed {work.seed} --case {work.build * PER_BUILD}: {problem} [{build}]"
    if not result.findings and not result.error:
        shutil.rmtree(build.folder)
    result.seconds = time.monotonic() - began
    return result


def measure(build: Build) -> Outcome:
    """The program alone, twice: what it prints must be the same, else it is no measure."""
    first, second = (
        playing.plainly(build, build.folder / name, LIMIT * 2 + build.children / CHILDREN_A_SECOND)
        for name in ("plain", "plain-again")
    )
    for one in (first, second):
        if one.stuck or one.status != build.status or one.same != first.same or "= wrong" in "".join(one.same):
            raise (Unfit if build.is_sanitized else Failed)(
                f"alone, the program ends with {one.status} {one.stuck} {sorted(set(one.same) ^ set(first.same))[:3]}"
            )
    return first if first.seconds > second.seconds else second


def play_case(work: Work, build: Build, session: Session, number: int, plain: Outcome, result: Result) -> None:
    case = build.number * PER_BUILD + number
    player = Player(
        work, build, session, plain, f"case-{case}" + (f".{result.cases.count(case)}" if case in result.cases else "")
    )
    began = time.monotonic()
    found = player.play(work.control)
    result.cases.append(case)
    result.times[case] = round(time.monotonic() - began, 1)
    result.kinds |= build.kinds() | session.kinds()
    if found:
        (player.folder / "session").write_text(f"{session}\n{build}\n")
        findings = [
            Finding(case, one.kind, one.text, about=f"{session}; {build}", folder=str(player.folder),
                    watch=one.watch) for one in found
        ]
        if work.control:
            for one in findings:
                one.runs, one.found, one.control_runs, one.control_found = 0, 0, 1, 1
        elif all(one.kind == judging.SLOW for one in findings):
            pass  # and would be so again
        elif work.confirm:
            player.confirm(findings)
        else:
            player.try_alone(findings, CONTROLS if player.gdb_fails_at_times else QUICK_CONTROLS)
        result.findings += findings
    else:
        shutil.rmtree(player.folder)


class Player:
    """Runs of one case, each in a folder of its own."""

    def __init__(self, work: Work, build: Build, session: Session, plain: Outcome, name: str) -> None:
        self.work, self.build, self.session, self.plain = work, build, session, plain
        self.folder = build.folder / name
        self.folder.mkdir()
        self.runs = 0
        self.killed_at = 0

    def play(self, control: bool) -> list[Difference]:
        self.runs += 1
        folder = self.folder / f"{'control' if control else 'run'}-{self.runs}"
        limit = LIMIT + TIMES_PLAIN * self.plain.seconds
        by_stops = self.session.deed == "logs" or any(one.kind == "log" for one in self.session.watches)
        limit *= BY_STOPS if by_stops else 1
        if self.session.start in TRACED:
            outcome = traced.play(self.build, self.session, self.work.tools, folder, control, limit)
            return traced.differences(self.build, self.session, self.plain, outcome, control)
        if self.session.start == "terminal":
            outcome = terminal.play(self.build, self.session, self.work.tools, folder, control, limit)
        else:
            kill_at = self.killed_at if control else 0
            outcome = playing.Run(self.build, self.session, self.work.tools, folder, control, limit, kill_at).play()
            self.killed_at = outcome.killed_at
        return judging.differences(self.build, self.session, self.plain, outcome, control)

    def confirm(self, findings: list[Finding]) -> None:
        """How often it shows again, and whether gdb's own breakpoints at the same places do the same."""
        for _ in range(AGAIN):
            again = self.play(False)
            for finding in findings:
                finding.runs += 1
                finding.found += finding.is_among(again)
        is_rare = self.gdb_fails_at_times or any(one.found < one.runs for one in findings)
        self.try_alone(findings, MORE_CONTROLS if is_rare else CONTROLS)

    def try_alone(self, findings: list[Finding], times: int) -> None:
        """Under gdb without us, until it has shown all of them."""
        for _ in range(times):
            alone = self.play(True)
            for finding in findings:
                if judging.says_nothing(finding.kind, {one.kind for one in alone}):
                    finding.control_worse += 1
                else:
                    finding.control_runs += 1
                    finding.control_found += finding.is_among(alone)
            if all(finding.control_found for finding in findings):
                break

    @property
    def gdb_fails_at_times(self) -> bool:
        """It does so alone, but not in most runs. A child that shares the program's memory is nobody's: gdb takes its
        breakpoints out of the memory of both, and misses calls, or leaves one that ends the child. Of a child that is
        made as gdb detaches gdbserver has not told it yet. (gdb's infrun.c: handle_inferior_event; remote.c:
        remote_detach_1.) And gdb or gdbserver may wait for ever for a process that somebody has killed, or crash. What
        a step needs at the caller gdb takes out as the step ends: a child of which it hears later has it still."""
        parts, session = {part.name for part in self.build.parts}, self.session
        return (
            "clones" in parts
            or (session.is_stepped and "forks" in parts)
            or session.end == "killed"
            or (session.start in REMOTE and session.end == "detaches")
        )

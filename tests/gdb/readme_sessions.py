"""The sessions of README.md and the manual, typed as they stand: behind "$ " in a shell, behind "(gdb) " in its gdb.

python tests/gdb/readme_sessions.py FOLDER [WORD] types those with the word in FOLDER, a clone, and prints what came.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "gdbcuda" / "manual").glob("*.md"))]
PROMPTED = re.compile(r"(\$|\(gdb\)) (.*?)(?:  +#.*)?$")  # what stands behind two blanks and a # is not typed
OPENS_GDB = re.compile(r"\bgdb\s(?!.*-batch)")
SECONDS = 300


@dataclass
class Step:
    """``lines``: what the page shows behind the command."""

    prompt: str
    command: str
    lines: list[str] = field(default_factory=list)


@dataclass
class Session:
    """One block of the page."""

    page: Path
    line: int
    steps: list[Step] = field(default_factory=list)

    def __str__(self) -> str:
        return f"{self.page.name}:{self.line}"

    @property
    def width(self) -> int:
        """Of the terminal in which the page was made: tables fit theirs."""
        return max(80, *(len(line) for step in self.steps for line in step.lines), 80)

    def shell_lines(self) -> Iterator[tuple[str, list[str]]]:
        """Each with the commands that are typed into the gdb that it opens."""
        starts = [place for place, step in enumerate(self.steps) if step.prompt == "$"]
        for start, end in zip(starts, [*starts[1:], len(self.steps)]):
            yield self.steps[start].command, [step.command for step in self.steps[start + 1 : end]]


def sessions(page: Path) -> list[Session]:
    """Every block in ``` without a language that has a prompt."""
    found, text = [], page.read_text()
    for block in re.finditer(r"^```\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        session = Session(page, text[: block.start()].count("\n") + 1)
        for line in block[1].splitlines():
            typed = PROMPTED.match(line)
            if typed:
                session.steps.append(Step(typed[1], typed[2]))
            elif session.steps:
                session.steps[-1].lines.append(line)
        if session.steps:
            found.append(session)
    return found


def typed(session: Session, folder: Path, environment: dict[str, str]) -> str:
    """All that came."""
    variables = {**environment, "COLUMNS": str(session.width)}
    return "".join(shell(line, inside, folder, variables) for line, inside in session.shell_lines())


def shell(line: str, inside: list[str], folder: Path, environment: dict[str, str]) -> str:
    if inside:
        script = folder / "typed.gdb"
        script.write_text("\n".join(inside) + "\n")
        play = f"python from gdbcuda.live.prompt.script import play; play({str(script)!r})"
        line = OPENS_GDB.sub(lambda gdb: f'{gdb[0]}-nx -batch -ex "{play}" ', line, count=1)
    done = subprocess.run(["bash", "-c", line], cwd=folder, env=environment, text=True, timeout=SECONDS, check=False,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)  # fmt: skip
    return f"$ {line}\n{done.stdout}"


MASKS = (
    (r"0x[0-9a-f]{6,16}", "0x…"),
    (r"\b\d+(\.\d+)? (s|ms|us|ns)\b", "… s"),
    (r"\b\d+\.\d{6}\b", "…"),
    (r"\b(process|child process|LWP) \d+", r"\1 …"),
    (r"build-id [0-9a-f]+", "build-id …"),
    (r", frame \d+", ", frame …"),  # of a machine that has libc's debug info
    (r"/[\w./-]+?/(?=gdbcuda(/| |$)|\.gdbinit)", "/…/"),
    (r"source /\S+", "source …"),
    (r"^(T\d+) +[\w.!]+$", r"\1 …"),  # a timeline
    (r"^[T\d]+ [\w.!]{40,}$", "T …"),
    (r"-{3,}", "---"),
    (r" +", " "),
)


def masked(line: str) -> str:
    """Without what differs from run to run, and from machine to machine."""
    for pattern, instead in MASKS:
        line = re.sub(pattern, instead, line)
    return line.strip()


def missing(session: Session, said: str) -> list[str]:
    """The first line of the page that did not come, and those behind it; "..." stands for any number of lines."""
    came = iter([masked(line) for line in said.splitlines()])
    shown = [masked(line) for step in session.steps for line in step.lines]
    wanted = [line for line in shown if line not in ("", "...")]
    return next((wanted[place:] for place, line in enumerate(wanted) if line not in came), [])


def main() -> None:
    path = f"{ROOT}/.venv/bin:{os.environ['PATH']}"
    for session in [one for page in PAGES for one in sessions(page)]:
        if any(word in step.command for word in sys.argv[2:] or [""] for step in session.steps):
            said = typed(session, Path(sys.argv[1]).resolve(), {**os.environ, "PATH": path})
            print(f"==== {session}\n{said}\n==== missing: {missing(session, said)}\n")


if __name__ == "__main__":
    main()

"""One gdb with the extension and without a process, which many tests ask one after another.

For what needs no process and changes nothing: help, completion, mistakes. After each test it proves that it is as it
was."""

from __future__ import annotations

import os
import select
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from scenario import GDB, ROOT, SECONDS, checked

ALONE = ("set prompt", "set confirm off", "set pagination off")
# breakpoints, convenience variables, settings, Python's own names
STATE = (
    "maint info breakpoints", "info inferiors", "show convenience", "show args", "show environment",
    "python print(sorted(globals()))",
    "python print([(n, gdb.parameter(n)) for n in ('confirm', 'pagination', 'width', 'height', 'listsize')])",
    "python print([(row, gdb.parameter(row[5:]))"
    " for row in gdb.execute('complete show cuda-', to_string=True).split('\\n') if row])",
)  # fmt: skip


class IdleGdb:
    """Started when it is first asked, and anew after whatever went wrong: no test suffers from the one before."""

    def __init__(self, environment: dict[str, str], program: Path | None = None) -> None:
        self.environment, self.program = environment, program
        self.running: subprocess.Popen[bytes] | None = None
        self.number = 0
        self.clean = ""

    def start(self) -> None:
        line = [GDB, "-nx", "-q", "-x", str(ROOT / "gdbcuda.py"), *([str(self.program)] if self.program else [])]
        self.running = subprocess.Popen(
            line, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=self.environment
        )
        self.lines(*ALONE)
        self.clean = self.lines(*STATE)

    def run(self, *lines: str) -> str:
        """What gdb prints of the lines, as ``Scenario.run`` without a hook library."""
        if self.running is None:
            self.start()
        return checked(self.lines(*lines))

    def lines(self, *lines: str) -> str:
        assert self.running is not None and self.running.stdin is not None
        self.number += 1
        end = f"@end of {self.number}@\n"
        try:
            typed = (*lines, "echo " + end.replace("\n", "\\n"))
            self.running.stdin.write("".join(f"{line}\n" for line in typed).encode())
            self.running.stdin.flush()
            return self.until(end)
        except BaseException:  # a time limit or Ctrl-C as well: nobody else ends this gdb
            self.stop()
            raise

    def until(self, end: str) -> str:
        assert self.running is not None and self.running.stdout is not None
        pipe, text, last = self.running.stdout.fileno(), b"", time.monotonic() + SECONDS
        while not text.endswith(end.encode()):
            ready, _, _ = select.select([pipe], [], [], max(0, last - time.monotonic()))
            data = os.read(pipe, 1 << 16) if ready else b""
            assert data, f"gdb {'has ended' if ready else 'says nothing more'} after:\n{text.decode(errors='replace')}"
            text += data
        return text[: -len(end)].decode(errors="replace")

    def prove_clean(self) -> None:
        """Nothing is left over for the next test."""
        if self.running is not None:
            now, before = self.lines(*STATE), self.clean
            if now != before:
                self.stop()
            assert now == before, "this test leaves something behind in the gdb that others share: "\
                f"{sorted({*now.splitlines()} ^ {*before.splitlines()})}"

    def stop(self) -> None:
        if self.running is not None:
            self.running.kill()
            self.running.communicate()
            self.running = None

    def lent(self, session: pytest.Session) -> Iterator[IdleGdb]:
        """To one test. One that fails, here or elsewhere, leaves the next one a new gdb."""
        failed = session.testsfailed
        yield self
        if session.testsfailed > failed:
            self.stop()
        self.prove_clean()

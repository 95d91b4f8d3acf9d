"""`gdbcuda run` in a shell: with nobody at the prompt, and at a terminal."""

from __future__ import annotations

import subprocess
import sys

from scenario import GDB, ROOT, Scenario, checked
from terminal import Typist


def run(local: Scenario, *words: object, stdin: str = "", **more: str) -> subprocess.CompletedProcess[str]:
    environment = {**local.environment(), "GDBCUDA_GDB": GDB, **more}
    done = subprocess.run([sys.executable, "-m", "gdbcuda", "run", *map(str, words)], env=environment, cwd=ROOT,
                          input=stdin, capture_output=True, text=True, timeout=120)  # fmt: skip
    checked(done.stderr)
    return done


class RunTypist(Typist):
    """`gdbcuda run` at a terminal."""

    def __init__(self, local: Scenario, *words: object) -> None:
        self.line = [sys.executable, "-m", "gdbcuda", "run", *map(str, words)]
        super().__init__({**local.environment(), "GDBCUDA_GDB": GDB, "PYTHONPATH": str(ROOT)}, extension=False)

    def words(self, *more: str) -> list[str]:
        return self.line

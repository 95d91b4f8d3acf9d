"""What ``gdbcuda conform`` takes."""

from __future__ import annotations

from gdbcuda.command_line.argument_types import FILE, NUMBER, SIZE, text
from gdbcuda.command_line.options import flag, option, optional_word, options
from gdbcuda.command_line.shell_command import Coloured

SECONDS, SEED = 300, 1


class ConformOptions(Coloured):
    lib: str | None = optional_word(FILE, "the hook library")
    only: list[str] = options(text("GLOB"), "these cases: a group, an API function, or GROUP/FUNCTION")
    seconds: int = option(NUMBER, f"so long the cases may take ({SECONDS})", default=SECONDS)
    jobs: int = option(NUMBER, "so many cases at a time (1)", default=1)
    seed: int = option(NUMBER, f"other arguments, in another order ({SEED})", default=SEED)
    env: list[str] = options(text("NAME=VALUE"), "a variable of the hook library's environment")
    limit: int = option(SIZE, "how much memory the hook library lets a process have in that environment", default=0)
    real: bool = flag("over the driver of this machine: what needs prescribed answers is left out")
    allow: str | None = option(FILE, "what is meant, one a line")
    accept: str | None = option(FILE, "write such a file, which allows all that was found")
    json: bool = flag("for scripts: one JSON object")
    junit: str | None = option(FILE, "write a report for CI")
    show: str | None = option(text("CASE"), "the C program that shows what is broken in this case")
    output: str | None = option(text("FOLDER"), "write it there, as case.c, beside what it is compiled and run with",
                                short="-o")  # fmt: skip
    list: bool = flag("the groups of cases, and what each asks")
    all: bool = flag("all that was found")

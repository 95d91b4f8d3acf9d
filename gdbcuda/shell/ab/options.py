"""What ``gdbcuda ab`` takes."""

from __future__ import annotations

from gdbcuda.command_line.argument_types import FILE, NUMBER, TIME, one_of, text
from gdbcuda.command_line.options import flag, option, options, rest
from gdbcuda.command_line.shell_command import Coloured

AUTO, RECORDER, STOPS = "auto", "recorder", "stops"
LAST = 32768


class AbOptions(Coloured):
    hook: list[str] = options(FILE, "the hook library; a second one is compared with the first")
    env: list[str] = options(text("NAME=VALUE"), "a variable of the runs with a hook library")
    allow: str | None = option(FILE, "differences that are meant, one a line")
    accept: str | None = option(FILE, "write such a file, which allows all that was found")
    json: bool = flag("for scripts: one JSON object")
    junit: str | None = option(FILE, "write a report for CI")
    report: str | None = option(FILE, "write a page of HTML")
    twice: bool = flag("run the first twice: what differs there as well, the hook library has not changed")
    repeat: int = option(NUMBER, "as --twice, with so many runs more", default=0)
    limit: float | None = option(TIME, "so long a run may take (default: the second ten times the first and a minute)",
                                 "--timeout")  # fmt: skip
    way: str = option(one_of(AUTO, RECORDER, STOPS), "how calls are recorded (default: by the recorder where it works)",
                      "--with", default=AUTO)  # fmt: skip
    last: int = option(NUMBER, f"of each thread so many calls may wait to be written ({LAST})", default=LAST)
    all: bool = flag("all rows of each list")
    output: str | None = option(text("FOLDER"), "keep both logs there, and what the program wrote", short="-o")
    program: list[str] = rest(text("PROGRAM"), "the program and its arguments")

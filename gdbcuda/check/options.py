"""What ``gdbcuda check`` and ``cuda-check`` both take; gdb loads this file at its start."""

from __future__ import annotations

from gdbcuda.command_line.options import Options, flag


class ReportOptions(Options):
    json: bool = flag("a JSON document (schema: gdbcuda/check/schema.json)")
    quiet: bool = flag("the verdicts only")
    all: bool = flag("what each note means too, where a terminal has no room for it")

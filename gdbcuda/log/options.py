"""What the views of a log take, in a shell and at gdb's prompt; gdb loads this file at its start.

A session knows its functions, layers and threads: `live.commands.log_views` gives these options its own types. There
functions are written without an option, and the condition is the rest of the line.
"""

from __future__ import annotations

from collections.abc import Sequence

from gdbcuda.command_line.argument_types import FILE, NUMBER, SIZE, text
from gdbcuda.command_line.options import Options, WideOptions, flag, option, options


class DataOptions(Options):
    json: bool = flag("for scripts: JSON, one object a line")


class WhereOptions(DataOptions):
    places: Sequence[str] = options(text("LAYER|LIB"), "in these layers or libraries", "--in")


class WhichOptions(WhereOptions):
    function: list[str] = options(text("FUNCTION"), "these functions alone: symbols, base names, globs")


class FilterOptions(WhichOptions):
    thread: int | None = option(NUMBER, "of the thread with this number in gdb")
    failed: bool = flag("calls that returned an error, or did not return")
    condition: str | None = option(
        text("COND"), "only calls for which COND holds, with what pointers led to when they began", "--if"
    )


class LatestOptions(FilterOptions, WideOptions):
    last: int | None = option(NUMBER, "the last N calls; 0 for all")


class ShowOptions(LatestOptions):
    tree: bool = flag("calls below the call that made them")
    changed: bool = flag(
        "what the hook library changed: arguments, results, calls not forwarded, extra calls"
    )
    stack: bool = flag("with the backtrace of each call (cuda-log start --stack N)")


class SummaryOptions(FilterOptions, WideOptions):
    all: bool = flag("all rows of each table, not only the first")


class CoverageOptions(DataOptions):
    lcov: str | None = option(FILE, "write a tracefile for lcov and genhtml: where functions begin, by debug info")
    all: bool = flag("all rows and names, not only the first")


class LedgerOptions(WideOptions):
    least: int = option(SIZE, "of live, leaks and by-site: the blocks of at least SIZE bytes", default=0)

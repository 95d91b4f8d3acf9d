"""What is typed behind ``cuda-break``, and who reads it again where a saved breakpoint has it."""

from __future__ import annotations

from collections.abc import Callable

import gdb

from gdbcuda.command_line.argument_types import one_of
from gdbcuda.command_line.options import Options, condition, flag, option, words
from gdbcuda.live.frames.session_types import CALLERS, FUNCTION, LAYERS, complete_condition

# By command: makes a breakpoint what its words ask for, which `save breakpoints` has kept.
ADOPTERS: dict[str, Callable[[gdb.Breakpoint, str], None]] = {}


class BreakOptions(Options):
    function: list[str] = words(
        FUNCTION, "API function: a symbol (cuMemAlloc_v2), a base name (cuMemAlloc) or a glob ('cuMem*')", least=1
    )
    places: tuple[str, ...] = option(
        LAYERS, "the layer or library to stop in; several with commas (default: the hook's, else the outermost)",
        "--in", default=(),
    )  # fmt: skip
    callers: tuple[str, ...] = option(
        CALLERS,
        "whose calls: app (program and its libraries; the default in the hook), hook, any, a library or a function",
        "--from", default=(),
    )  # fmt: skip
    on: str = option(
        one_of("enter", "return", "error"),
        "enter (default), return, or error: a return with a status other than success", default="enter",
    )  # fmt: skip
    exact: bool = flag("cuMemAlloc means the symbol cuMemAlloc, not cuMemAlloc_v2")
    once: bool = flag("a temporary breakpoint, deleted at its first stop")
    count: bool = flag("count all calls, those that do not match too: needs a guard")
    condition: str | None = condition(complete_condition)

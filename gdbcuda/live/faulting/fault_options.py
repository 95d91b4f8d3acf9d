"""What is typed behind the commands that make faults, and who reads it again where a saved breakpoint has it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeVar

import gdb

from gdbcuda.command_line.options import Options, condition, flag, option, words
from gdbcuda.live.breaking.break_options import ADOPTERS
from gdbcuda.live.frames.session_types import CALLERS, FUNCTION, LAYERS, complete_condition
from gdbcuda.live.prompt import command

Own = TypeVar("Own", bound="FaultOptions")


class FaultOptions(Options):
    function: list[str] = words(
        FUNCTION, "API function: a symbol (cuMemAlloc_v2), a base name (cuMemAlloc) or a glob ('cuMem*')", least=1
    )
    places: tuple[str, ...] = option(
        LAYERS, "whose implementation: a layer or library (default: the hook's, else the outermost)", "--in", default=()
    )
    callers: tuple[str, ...] = option(
        CALLERS,
        "whose calls: app (program and its libraries; the default in the hook), hook, any, a library or a function",
        "--from", default=(),
    )  # fmt: skip
    exact: bool = flag("cuMemAlloc means the symbol cuMemAlloc, not cuMemAlloc_v2")
    condition: str | None = condition(complete_condition)


class AdoptingRequest(Protocol):
    def adopt(self, one: gdb.Breakpoint) -> None: ...


def adopter(name: str, options: type[Own], request_of: Callable[[Own], AdoptingRequest]) -> None:
    """``save breakpoints`` keeps what the command of that name has made."""

    def adopt(one: gdb.Breakpoint, text: str) -> None:
        request_of(command.read(name, options, text)).adopt(one)

    ADOPTERS[name] = adopt

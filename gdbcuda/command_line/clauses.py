"""What a command takes in words rather than as an option: ``cuda-fail cuMemAlloc with CUDA_ERROR_OUT_OF_MEMORY``."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Callable, TypeVar

from gdbcuda.command_line.argument_types import ArgumentType
from gdbcuda.command_line.options import Option

T = TypeVar("T")


class Clause(Option):
    """What has to be there and is written in words, as "with STATUS": `Options.arranged` makes an option of it.
    ``keyword``: the word that its value is behind. ``complete`` gets the words before that, and the token."""

    def __init__(
        self, kind: ArgumentType[Any], help: str, name: str, shown: str, keyword: str,
        complete: Callable[[list[str], str], Iterable[str]],
    ) -> None:  # fmt: skip
        super().__init__(kind, help, name)
        self.shown, self.keyword, self.complete = shown, keyword, complete

    @property
    def label(self) -> str:
        return self.shown

    def usage(self) -> str:
        return self.shown


def clause(
    kind: ArgumentType[T], help: str, name: str, *, shown: str, keyword: str,
    complete: Callable[[list[str], str], Iterable[str]],
) -> T:  # fmt: skip
    return Clause(kind, help, name, shown, keyword, complete)  # type: ignore[return-value]

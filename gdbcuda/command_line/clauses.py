"""What a command takes in words rather than as an option: ``cuda-fail cuMemAlloc with CUDA_ERROR_OUT_OF_MEMORY``."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Callable, TypeVar

from gdbcuda.command_line.argument_types import ArgumentType
from gdbcuda.command_line.options import Option

T = TypeVar("T")


class Clause(Option):
    """What has to be there and is written in words, as "with STATUS": `Options.arranged` makes an option of it.
    ``keyword``: the word that its value is behind. ``complete`` gets the words before that, and the token;
    ``complete_first`` the words, where something else than the keyword begins it."""

    place = 0

    def __init__(
        self, kind: ArgumentType[Any], help: str, name: str, shown: str, keyword: str,
        complete: Callable[[list[str], str], Iterable[str]],
        complete_first: Callable[[list[str]], Iterable[str]] | None,
    ) -> None:  # fmt: skip
        super().__init__(kind, help, name)
        self.shown, self.keyword, self.complete, self.complete_first = shown, keyword, complete, complete_first

    @property
    def label(self) -> str:
        return self.shown

    def offered(self, before: list[str]) -> Iterable[str]:
        """What may begin it; nothing where it is there."""
        if self.keyword in before:
            return ()
        return self.complete_first(before) if self.complete_first is not None else (self.keyword,)

    def usage(self) -> str:
        return self.shown


def clause(
    kind: ArgumentType[T], help: str, name: str, *, shown: str, keyword: str,
    complete: Callable[[list[str], str], Iterable[str]],
    complete_first: Callable[[list[str]], Iterable[str]] | None = None,
) -> T:  # fmt: skip
    return Clause(kind, help, name, shown, keyword, complete, complete_first)  # type: ignore[return-value]

"""gdb's exec-wrapper: the words that it starts the program with, through a shell."""

from __future__ import annotations

import os
import shlex

import gdb

from gdbcuda.errors import UserError
from gdbcuda.live.host import gdb_cli
from gdbcuda.text.patterns import pattern

REDIRECTION = pattern(r"\d*>&(?:\d+|-)")


def current() -> str:
    return str(gdb.parameter("exec-wrapper") or "")


def become(wrapper: str) -> None:
    gdb_cli.execute(f"set exec-wrapper {wrapper}" if wrapper else "unset exec-wrapper")


def words_of(wrapper: str) -> list[str]:
    try:
        return shlex.split(wrapper)
    except ValueError:
        raise UserError(f"'show exec-wrapper' has unbalanced quotes: {wrapper}") from None


def is_env(words: list[str]) -> bool:
    return os.path.basename(words[0]) == "env"


def preloaded(words: list[str]) -> str:
    """The LD_PRELOAD that an ``env`` wrapper sets."""
    return next((word.partition("=")[2] for word in words if word.startswith("LD_PRELOAD=")), "")


def for_shell(word: str) -> str:
    """gdb's start-up shell reads the wrapper, and the user may have it redirect: "env 2>&1"."""
    return word if REDIRECTION.fullmatch(word) else shlex.quote(word)

"""The locks that a hook library's author has named in its adapter."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from typing import NamedTuple

import gdb

from gdbcuda.errors import UserError
from gdbcuda.live import process
from gdbcuda.live.books import adapters, evaluation
from gdbcuda.locks.recognised import OF_TYPES


class AuthorsLock(NamedTuple):
    """``kind``: by its type, "" where that is not known; ``owner``: the number that the adapter leads to, else 0."""

    name: str
    address: int
    kind: str
    owner: int


def addresses() -> dict[int, AuthorsLock]:
    """By address, those that have one now. UserError for a damaged adapter."""
    found: dict[int, AuthorsLock] = {}
    for hook, adapter in adapters.all_here():
        for name, formula in adapter.locks.items():
            with suppress(UserError):  # the library is not there yet
                place = evaluation.address(formula, hook)
                kind = kind_named(evaluation.value(formula, hook, 0).type)
                owner = 0
                if name in adapter.owners:
                    with suppress(UserError):
                        owner = evaluation.number(adapter.owners[name], hook)
                found[place] = AuthorsLock(name, place, kind, owner)
    return found


def not_found() -> Iterator[str]:
    """A line for each that its library has not, though it is loaded."""
    for hook, adapter in adapters.all_here():
        for name, formula in adapter.locks.items():
            if process.objfile_of(hook) is None:
                continue
            try:
                evaluation.address(formula, hook)
            except UserError as why:
                yield f"The lock {name} of {os.path.basename(adapter.path)} is not found: {why}"


def kind_named(kind: gdb.Type) -> str:
    """By the names that the type, or what it points to, has on its way through typedefs."""
    while True:
        if kind.code == gdb.TYPE_CODE_PTR:
            kind = kind.target()
        name = (kind.name or "").rpartition("::")[2]
        if name in OF_TYPES:
            return OF_TYPES[name]
        if kind.code != gdb.TYPE_CODE_TYPEDEF:
            return ""
        kind = kind.target()



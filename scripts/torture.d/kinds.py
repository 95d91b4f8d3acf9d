"""What the run is made of. A kind is a file in shapes/ or parts/, or a function under one of the registries below."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Callable

HERE = Path(__file__).resolve().parent
FIRST_LINE = re.compile(r"torture(?: \(([\w ]+)\))?: (.+)")


@dataclass(frozen=True)
class Kind:
    """``words`` say what it needs or does: of a shape as shape.h says; of a part

    late      it loads the library itself, which is not linked and not preloaded
    unwinds   every stack must end where its thread began, so no blind shapes
    reserves  it overwrites the first function, which only the main thread may call
    confined  it calls where no lock can be waited for (without system calls, in a signal handler, in a clone)
    faults    its SIGSEGVs are its own
    executes  it becomes another program, in which calls are counted from 1 again
    byhand    it takes minutes: only where --only names it
    """

    group: str
    name: str
    about: str
    words: frozenset[str] = frozenset()
    path: Path | None = None
    make: Callable[..., Any] | None = None


@cache
def files(group: str) -> tuple[Kind, ...]:
    return tuple(read(path, group) for path in sorted((HERE / group).iterdir()) if path.suffix != ".h")


def read(path: Path, group: str) -> Kind:
    text = " ".join(line.strip(" */") for line in path.read_text().splitlines()[:4])
    match = FIRST_LINE.search(text)
    if not match:
        raise SystemExit(f"{path}: its first line has no 'torture: WHAT IT IS'")
    about = match[2].partition(". ")[0].partition(" #")[0].rstrip(".")
    return Kind(group, path.stem, about, frozenset((match[1] or "").split()), path)


class Registry:
    """Functions that make something, each a kind: ``@watches("nth", "the n-th call that matches")``."""

    def __init__(self, group: str) -> None:
        self.group = group
        self.kinds: list[Kind] = []

    def __call__(self, name: str, about: str, *words: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        def register(make: Callable[..., Any]) -> Callable[..., Any]:
            self.kinds.append(Kind(self.group, name, about, frozenset(words), make=make))
            return make

        return register


def turns(kinds: Sequence[Kind], seed: object, size: int, alone: str = "") -> Iterator[list[Kind]]:
    """All kinds in random order, so many at a time, again and again; those with the word ``alone`` by themselves."""
    dice = random.Random(f"{seed} {kinds[0].group}")
    while True:
        order = dice.sample(kinds, len(kinds))
        yield from ([one] for one in order if alone in one.words)
        rest = [one for one in order if alone not in one.words]
        yield from (rest[i : i + size] for i in range(0, len(rest), size))


def turn(kinds: Sequence[Kind], seed: object, number: int, size: int, alone: str = "") -> list[Kind]:
    """The ``number``-th of these."""
    for count, chosen in enumerate(turns(kinds, seed, size, alone)):
        if count == number:
            return chosen
    raise AssertionError

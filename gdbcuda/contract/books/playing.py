"""A sequence is written as C, run with the hook library, and judged; what the driver alone does as well is no fault."""

from __future__ import annotations

import os
import random
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from gdbcuda import api
from gdbcuda.contract.books import numbers, sequences, steps
from gdbcuda.contract.books.judging import Books, Judge, Wrong
from gdbcuda.contract.books.memory_functions import MemoryFunctions
from gdbcuda.contract.books.steps import BooksStep
from gdbcuda.contract.c_programs.building import Ran, Workshop, written
from gdbcuda.contract.program import ANSWER, SEEN
from gdbcuda.data_classes import dataclass

DEVICE_MEMORY = "GDBCUDA_STANDIN_MEMORY"
OUT_OF_MEMORY, INVALID = "02000000", "01000000"  # a CUresult, byte by byte
ROOM = 0.75  # of the limit; the rest may be the hook library's own, or the context's


class Driver(NamedTuple):
    """``memory`` of its device in bytes, 0 for as much as ever; ``fails`` is a function that it always refuses, with
    that ``error`` (see shim/standin/common/answering.c)."""

    memory: int = 0
    fails: str = ""
    error: str = OUT_OF_MEMORY

    @property
    def environment(self) -> dict[str, str]:
        found = {DEVICE_MEMORY: str(self.memory)} if self.memory else {}
        if self.fails:
            found.update({SEEN: os.devnull, ANSWER: f"{self.fails} result={self.error} errno=0"})
        return found


USUAL = Driver()


@dataclass
class Player:
    """``limit`` in bytes, 0 for none; ``templates`` is where the C programs are."""

    workshop: Workshop
    functions: MemoryFunctions
    templates: Path
    limit: int = 0
    seed: int = 1
    played: int = 0

    def __post_init__(self) -> None:
        self.dice = random.Random(self.seed)

    def books(self, driver: Driver, with_hook: bool) -> Books:
        named = frozenset(one.symbol for one in self.functions.numbers)
        limit = self.limit if with_hook else 0
        room = 0 if driver.fails else int(ROOM * min(limit, driver.memory or limit))
        return Books(limit, room, named & self.functions.hooked, self.error_name)

    def error_name(self, code: int) -> str:
        return self.functions.table.error_name("driver", code) or str(code)

    def text(self, template: str, **places: str) -> str:
        found = (self.templates / template).read_text()
        return written(self.functions.table, found, {name.upper(): text for name, text in places.items()},
                       self.functions.is_by_dlsym)  # fmt: skip

    def program(self, sequence: Sequence[BooksStep]) -> str:
        """For people: the same calls, and nothing else."""
        variables, calls = steps.as_c(sequence)
        return self.text("sequence.c", helpers=sequences.helpers(self.functions, sequence), variables=variables,
                         numbers=numbers.asking(self.functions.numbers), steps=calls)  # fmt: skip

    @cached_property
    def driver_has(self) -> list[api.Function]:
        """Of the allocators; asked without the hook library."""
        tries = sequences.CallSequence(self.functions)
        for one in self.functions.allocators:
            tries.allocate(one, sequences.GRANULE)
        words = [self.workshop.built(self.told), *map(steps.told, tries.steps)]
        results = {one.number: one.result for one in numbers.read(self.workshop.run(words, with_hook=False).output)}
        return [one for number, one in enumerate(self.functions.allocators, 1) if results.get(number) == 0]

    @cached_property
    def told(self) -> str:
        return self.text("told.c", helpers=sequences.all_helpers(self.functions),
                         numbers=numbers.asking(self.functions.numbers),
                         calls=sequences.told_calls(self.functions))  # fmt: skip

    def wrongs(self, sequence: Sequence[BooksStep], driver: Driver = USUAL) -> list[Wrong]:
        """Played by the program that can be told all: one of its own takes longer to build than to run."""
        self.played += 1
        words = [self.workshop.built(self.told), *map(steps.told, sequence)]
        found = self.judged(sequence, words, driver, True)
        if not found:
            return []
        of_driver = {one.what for one in self.judged(sequence, words, driver, False)}
        return [one for one in found if one.what not in of_driver]

    def judged(
        self, sequence: Sequence[BooksStep], words: Sequence[str], driver: Driver, with_hook: bool
    ) -> list[Wrong]:
        ran = self.workshop.run(words, with_hook=with_hook, more=driver.environment)
        seen = numbers.read(ran.output)
        found = list(Judge(sequence, seen, self.books(driver, with_hook)).wrongs()) if seen else []
        return [*found, *ended_badly(sequence, ran, seen)]


def ended_badly(sequence: Sequence[BooksStep], ran: Ran, seen: Sequence[numbers.Observed]) -> list[Wrong]:
    if ran.status == 0:
        return []
    said = ran.errors.strip().splitlines()[-1:]
    if not seen:
        return [Wrong(0, f"a program {ran.ending} before its first allocation", "".join(said))]
    after = min(seen[-1].number, len(sequence) - 1)
    return [Wrong(after + 1, f"a program {ran.ending} in {sequence[after].symbol}", "".join(said))]

"""What is wrong in the books of a hook library, from what it said after each step of a sequence."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from gdbcuda.contract.books import steps
from gdbcuda.contract.books.numbers import SUCCESS, Observed
from gdbcuda.contract.books.steps import BooksStep, Model
from gdbcuda.text.units import human, told_apart

NO_MEMORY = "CUDA_ERROR_OUT_OF_MEMORY"
OVER = "grants more than the limit"
RELEASING = (steps.FREE, steps.UNMAP, steps.UNMAP_ALL, steps.END, steps.RESET)
ASIDE = (  # what has nothing to do with memory of the device
    steps.HOST, steps.HOST_FREE, steps.KEEP, steps.TRIM, steps.RESERVE, steps.UNRESERVE)  # fmt: skip
HANDING_ON = (steps.MAP, steps.GROW, steps.RETAIN, steps.IMPORT, *ASIDE)  # of memory that is held already, or of none
LOOSE = 2 << 20  # bytes by which two functions may differ for each block: one may round where the other does not


class Wrong(NamedTuple):
    """``step`` counts from 1. ``what`` is the same for the same fault in another sequence, ``example`` has the values
    of this one."""

    step: int
    what: str
    example: str


class Books(NamedTuple):
    """``limit`` in bytes, 0 for none; ``room``: so many the hook library may not refuse; ``hooked`` are the functions
    that tell numbers and are the hook library's."""

    limit: int
    room: int
    hooked: frozenset[str]
    error_name: Callable[[int], str]


class Judge:
    """Of one run of a sequence. ``cost`` is what each function said that a block has taken; ``granted``: what an
    allocator has given while nothing was held."""

    def __init__(self, written: Sequence[BooksStep], seen: Sequence[Observed], books: Books) -> None:
        self.written, self.seen, self.books = written, seen, books
        self.model = Model()
        self.cost: dict[tuple[int, str], int] = {}
        self.granted: set[tuple[str, int]] = set()

    def wrongs(self) -> Iterator[Wrong]:
        """In the order of the steps."""
        before = self.seen[0]
        for now in self.seen[1:]:
            step = self.written[now.number - 1]
            yield from unsound(step, now)
            yield from self.after(step, before, now)
            before = now
        if not self.model.memory and before.number == len(self.written):
            yield from self.left_over(before)

    def after(self, step: BooksStep, before: Observed, now: Observed) -> Iterator[Wrong]:
        live = self.model.live
        if now.result != SUCCESS:
            yield from self.failed(step, before, now)
            return
        if step.what == steps.AGAIN:
            return  # of a driver that bears it
        if step.what == steps.ALLOCATE and not live:
            self.granted.add((step.symbol, step.size))
        self.model.made(step)
        yield from self.over(step, now)
        yield from self.balance(step, before, now, self.model.live - live)
        yield from self.uncounted(step, now)

    def failed(self, step: BooksStep, before: Observed, now: Observed) -> Iterator[Wrong]:
        error, live = self.books.error_name(now.result), self.model.live
        for name, by in self.changes(before, now):
            if by:
                called = f"a second {step.symbol} of a block" if step.what == steps.AGAIN else step.symbol
                yield Wrong(now.number, f"{called} fails, and changes how much {name} says is used",
                            f"{error}, {size_of(step)}: {more(by)} used than before")  # fmt: skip
                return
        if step.what == steps.ALLOCATE:
            yield from self.refused(step, now.number, error, live)
        elif step.what == steps.RESERVE:
            yield Wrong(now.number, f"{step.symbol} refuses addresses, which take no memory",
                        f"{error}, {size_of(step)}")  # fmt: skip

    def refused(self, step: BooksStep, number: int, error: str, live: int) -> Iterator[Wrong]:
        held = f"{error}, {size_of(step)}: {human(live)} of {human(self.books.limit)} are held"
        if not live and (step.symbol, step.size) in self.granted:
            yield Wrong(number, f"{step.symbol} refuses what it has granted before, and nothing is held",
                        f"{error}, {size_of(step)} in the call number {self.calls_until(number)} of it")  # fmt: skip
        elif live + step.size <= self.books.room:
            yield Wrong(number, f"{step.symbol} refuses what is within the limit", held)
        elif 0 < self.books.limit < live + step.size and error != NO_MEMORY:
            yield Wrong(number, f"{step.symbol} refuses what is beyond the limit, and not as out of memory", held)

    def calls_until(self, number: int) -> int:
        step = self.written[number - 1]
        return sum((one.what, one.symbol) == (step.what, step.symbol) for one in self.written[:number])

    def over(self, step: BooksStep, now: Observed) -> Iterator[Wrong]:
        limit = self.books.limit
        live = self.model.live + (step.size if step.what == steps.LAUNCH else 0)
        if limit and step.what in (steps.ALLOCATE, steps.LAUNCH) and live > limit:
            held, most = told_apart(live, limit)
            yield Wrong(now.number, f"{step.symbol} {OVER}", f"{size_of(step)}: {held} are held, the limit is {most}")

    def balance(self, step: BooksStep, before: Observed, now: Observed, grown: int) -> Iterator[Wrong]:
        """A block gives back what it has taken."""
        for name, by in self.changes(before, now):
            example = f"{size_of(step)}: {more(by)} used than before"
            if step.what == steps.ALLOCATE:
                self.cost[step.block, name] = by
            if step.what == steps.ALLOCATE and by < 0:
                yield Wrong(now.number, f"{step.symbol} hands out memory, and {name} says that less is used", example)
            elif step.what in RELEASING and by > 0:
                yield Wrong(now.number, f"{step.symbol} gives memory back, and {name} says that more is used", example)
            elif step.what in HANDING_ON and by > 0:
                yield Wrong(now.number, f"{step.symbol} takes no memory, and {name} says that more is used", example)
            elif by < 0 and not grown and self.is_held_still():
                yield Wrong(now.number, f"after {step.symbol} memory is held still, and {name} says that less is used",
                            example)  # fmt: skip
            elif step.what == steps.FREE and grown and by not in (-(taken := self.cost.get((step.block, name), -by)),
                                                                  *self.where_importers_keep_it()):
                yield Wrong(now.number, f"{step.symbol} gives back a block, and {name} does not go back by what it has "
                            "taken", f"{size_of(step)}: {more(taken)} used then, {more(by)} now")  # fmt: skip

    def is_held_still(self) -> bool:
        """By a handle or a mapping that nobody has imported."""
        return self.model.dropped is not None and self.model.dropped.holders > 0

    def where_importers_keep_it(self) -> tuple[int, ...]:
        """Whether it is used then, the hook library cannot know."""
        return (0,) if self.model.dropped is not None and self.model.dropped.importers else ()

    def uncounted(self, step: BooksStep, now: Observed) -> Iterator[Wrong]:
        """With a limit, the hook library's own numbers hold all that is live."""
        held = [(name, by) for name, by in self.changes(self.seen[0], now) if name in self.books.hooked]
        if not self.books.limit:
            return
        live = self.model.live
        for name, by in held:
            if by < live:
                there, counted = told_apart(live, by)
                used = f"{counted} more" if by > 0 else more(by)
                yield Wrong(now.number, f"after {step.symbol} {name} does not count all that is held",
                            f"{there} are held, {used} used than at the start")  # fmt: skip
                return
        loose = LOOSE * (1 + len(self.model.memory)) + self.model.imported
        if held and max(by for _, by in held) - min(by for _, by in held) > loose:
            yield Wrong(now.number, f"after {step.symbol} {' and '.join(name for name, _ in held)} do not agree",
                        "used since the start: " + ", ".join(human(by) for _, by in held))  # fmt: skip

    def left_over(self, end: Observed) -> Iterator[Wrong]:
        called = ", ".join(dict.fromkeys(step.symbol for step in self.written))
        for name, by in self.changes(self.seen[0], end):
            if by:
                yield Wrong(len(self.written), f"all is given back, and {name} does not return to the start",
                            f"{more(by)} used than at the start, after {called}")  # fmt: skip

    @staticmethod
    def changes(before: Observed, now: Observed) -> list[tuple[str, int]]:
        return [(name, said.taken - before.said[name].taken) for name, said in now.said.items() if name in before.said]


def unsound(step: BooksStep, now: Observed) -> Iterator[Wrong]:
    for name, said in now.said.items():
        numbers = f"{human(said.used)} used, " if said.used >= 0 else ""
        example = f"{numbers}{human(said.free)} free of {human(said.total)}"
        if said.free > said.total:
            yield Wrong(now.number, f"after {step.symbol} {name} says that more is free than there is", example)
        elif said.used >= 0 and said.used + said.free + said.reserved != said.total:
            yield Wrong(now.number, f"after {step.symbol} what {name} says does not add up", example)


def size_of(step: BooksStep) -> str:
    return human(step.size) if step.size else "no bytes"


def more(by: int) -> str:
    return f"{human(abs(by))} {'more' if by > 0 else 'less'}" if by else "no more"

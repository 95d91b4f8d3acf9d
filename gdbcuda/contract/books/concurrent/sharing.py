"""What is said of memory that another process opens: it is its owner's, and stays so."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from gdbcuda.contract.books import numbers
from gdbcuda.contract.books.concurrent import asking_programs, at_once
from gdbcuda.contract.books.concurrent.sharing_calls import SharingWay
from gdbcuda.contract.books.judging import more
from gdbcuda.contract.books.numbers import SUCCESS, Observed
from gdbcuda.contract.books.playing import Player
from gdbcuda.contract.registry import Broken

# Steps of shim/contract/books/shared.c: the owner's, and those of the process that opens it.
START, GOT, EXPORTED, LET_GO, GIVEN = range(5)
BEGUN, OPENED, CLOSED, CLOSED_AGAIN, END = range(10, 15)
KILLED = ("killed",)


class NotOpened(Exception):
    """The driver does not do it."""


def faults(player: Player, way: SharingWay) -> Iterator[Broken]:
    """`NotOpened` where there is nothing to judge. What the driver does by itself is no fault."""
    text = player.text("shared.c", glue=way.calls, numbers=numbers.asking(player.functions.numbers))
    program, seen = player.workshop.built(text), set()
    for words in ((), KILLED):
        without, ran = (player.workshop.run([program, *words], with_hook=one) for one in (False, True))
        alone = observed(without.output)
        if without.status or OPENED not in alone or alone[OPENED].result != SUCCESS:
            raise NotOpened
        seen |= {what for what, _ in judged(way, alone, alone)}
        showing = player.workshop.showing(text, way.opener, words)._replace(is_in_children=True)
        ended = [(f"a program {ran.ending} whose memory another process opens", asking_programs.last(ran))]
        for what, example in [*ended[: ran.status != 0], *judged(way, observed(ran.output), alone)]:
            if what not in seen:
                seen.add(what)
                yield Broken(what, example, showing.shown)


def observed(output: str) -> dict[int, Observed]:
    return {one.number: one for one in numbers.read(output)}


def judged(way: SharingWay, seen: Mapping[int, Observed], alone: Mapping[int, Observed]) -> Iterator[tuple[str, str]]:
    """``alone`` is without the hook library."""
    for step in (OPENED, CLOSED):
        if step in seen and step in alone and seen[step].result != SUCCESS == alone[step].result:
            yield f"{way.opener} of another process's memory fails, or its end does", f"status {seen[step].result}"
            return
    for before, after, what in (
        (GOT, EXPORTED, "who exports memory gets none, and {} says that {} is used"),
        (BEGUN, OPENED, f"{way.opener} takes no memory, and {{}} says that {{}} is used"),
        (OPENED, CLOSED, "who lets go of another process's memory gives nothing back, and {} says that {} is used"),
        (CLOSED, CLOSED_AGAIN, "what was let go of is let go of again, and {} says that {} is used"),
        (EXPORTED, LET_GO, "another process has let go of memory, and {} of its owner says that {} is used"),
        (START, GIVEN, "all is given back, and {} of its owner says that {} is used than at the start"),
    ):
        yield from changed(what, pick(seen, before), pick(seen, after))


def pick(seen: Mapping[int, Observed], step: int) -> Sequence[Observed]:
    return [seen[step]] if step in seen else []


def changed(what: str, before: Sequence[Observed], after: Sequence[Observed]) -> Iterator[tuple[str, str]]:
    for name, by in at_once.differences(before, after):
        yield what.format(name, "more" if by > 0 else "less"), f"{more(by)} used than before"

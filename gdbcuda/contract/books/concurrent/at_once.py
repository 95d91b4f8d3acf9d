"""A limit that several threads, or processes, ask for at the same instant; what one leaves behind that is killed."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence

from gdbcuda import api
from gdbcuda.contract.books import numbers
from gdbcuda.contract.books.concurrent import interleaved
from gdbcuda.contract.books.concurrent.asking_programs import (
    LONGEST,
    device_memory,
    drift,
    last,
    program,
    releasing,
    said,
)
from gdbcuda.contract.books.playing import DEVICE_MEMORY, Player
from gdbcuda.contract.books.sequences import GRANULE
from gdbcuda.contract.c_programs.building import Ran
from gdbcuda.contract.c_programs.showing_program import NEXT
from gdbcuda.contract.patience import busy
from gdbcuda.contract.program import ANSWER, SEEN
from gdbcuda.contract.registry import Broken
from gdbcuda.text.units import human

SHARES = {2: 60, 8: 30, 64: 10}  # threads, and how many percent of the limit each asks for: not all may have them
ROUNDS = {2: 600, 8: 100, 64: 30}
SECONDS_BACK = 5.0  # in which the share of a dead process has to be back
SECONDS_NEXT = 1.0  # in which a process has to do its work that comes after a killed one
PARTS, LEAST_PARTS = 16, 14  # of the limit, as processes.c asks for it; what a context takes may be counted
KILLS = 12
DELAY = 300  # microseconds of each call of the allocator, and of its release


def threads(player: Player, allocator: api.Function, count: int) -> Iterable[Broken]:
    """Without a limit the numbers alone are looked at. What two do to each other is tried at each instruction first."""
    found = list(interleaved.broken(player, allocator, interleaved.THREAD)) if count == interleaved.TWO else []
    return found or at_the_same_instant(player, allocator, count)


def at_the_same_instant(player: Player, allocator: api.Function, count: int) -> Iterator[Broken]:
    size = max(GRANULE, player.limit * SHARES[count] // 100 // GRANULE * GRANULE)
    words = (str(count), str(ROUNDS[count]), str(size))
    text = program(player, "threads.c", allocator)
    more = slow(player, allocator)
    line = [player.workshop.built(text), *words]
    ran = player.workshop.run(line, more=more, patience=LONGEST)
    what, example = judged_threads(player, ran, count, allocator)
    if not what and (kept := drift(ran)):
        alone = drift(player.workshop.run(line, with_hook=False, more=more, patience=LONGEST))
        what, example = judged_drift(kept, alone, count, allocator)
    if what:
        yield Broken(what, example, player.workshop.showing(text, allocator.symbol, words, more).shown)


def slow(player: Player, allocator: api.Function) -> dict[str, str]:
    """A driver that takes a while: what a hook library has looked at before is old when it has answered, and another
    thread has already what was given back. The device is large enough for all that ask."""
    answer = f"{allocator.symbol} delay={DELAY}\n{releasing(player, allocator).symbol} late={DELAY}"
    return {DEVICE_MEMORY: device_memory(player), SEEN: os.devnull, ANSWER: answer}


def judged_threads(player: Player, ran: Ran, count: int, allocator: api.Function) -> tuple[str, str]:
    """ "" where all is right."""
    if ran.status:
        return f"a program {ran.ending} whose {count} threads call {allocator.symbol}", last(ran)
    together, limit = said(ran).get("together", 0), player.limit
    if limit and together > limit:
        return (f"{count} threads that call {allocator.symbol} at the same instant are granted more than the limit",
                f"{human(together)}, and the limit is {human(limit)}")  # fmt: skip
    return "", ""


def judged_drift(kept: dict[str, int], alone: dict[str, int], count: int, allocator: api.Function) -> tuple[str, str]:
    """A real driver keeps something for the stream of each thread, without the hook library too."""
    for name, by in kept.items():
        if name not in alone:
            return (f"{count} threads have given back what {allocator.symbol} gave, and {name} does not return to the "
                    "start", f"{human(by)}")  # fmt: skip
    return "", ""


class NotShared(Exception):
    """The hook library counts each process by itself, so nothing here can be judged."""


def processes(player: Player, allocator: api.Function) -> Iterator[Broken]:
    """`NotShared` where a process does not see what another one has. What needs no luck to be seen comes first."""
    if found_at_once := list(interleaved.broken(player, allocator, interleaved.PROCESS)):
        yield from found_at_once
        return
    words = (str(player.limit), str(SECONDS_BACK))
    text = program(player, "processes.c", allocator)
    more = slow(player, allocator)
    ran = player.workshop.run([player.workshop.built(text), *words], more=more, patience=LONGEST)
    found = said(ran)
    if found.get("sees", 0) < player.limit // 2 and not ran.status and found.get("alone"):
        raise NotShared
    showing = player.workshop.showing(text, allocator.symbol, words, more)._replace(is_in_children=True)
    for what, example in judged_processes(player, ran, found):
        yield Broken(what, example, showing.shown)


def judged_processes(player: Player, ran: Ran, found: dict[str, int]) -> Iterator[tuple[str, str]]:
    if ran.status:
        yield f"a program {ran.ending} whose processes share the limit", last(ran)
    if not found.get("alone", 1):
        yield "a process that is alone is refused half of the limit", human(player.limit // 2)
    if found.get("back", 0) < 0:
        yield ("what a killed process had is not given back",
               f"{human(player.limit * 3 // 4)} are refused {SECONDS_BACK:g} s later")  # fmt: skip
    if not LEAST_PARTS <= found.get("parts", PARTS) <= PARTS:
        yield ("once some of 8 processes are killed, the others get another part of the limit than what is left",
               f"{human(player.limit * found['parts'] // PARTS)}, and the limit is {human(player.limit)}")  # fmt: skip
    if found.get("together", 0) > player.limit:
        yield ("processes that ask at the same instant are granted more than the limit",
               f"{human(found['together'])}, and the limit is {human(player.limit)}")  # fmt: skip


def killed(player: Player, allocator: api.Function) -> Iterator[Broken]:
    """At other moments with each seed; the next process has to find the numbers as they were."""
    text = program(player, "killed.c", allocator)
    path = player.workshop.built(text)
    start = numbers.read(player.workshop.run([path, NEXT]).output)
    for _ in range(KILLS):
        player.workshop.killed([path], "works", player.dice.random() / 20)
        ran = player.workshop.run([path, NEXT])
        for what, example in judged_next(ran, start):
            showing = player.workshop.showing(text, allocator.symbol)._replace(following=(NEXT,))
            yield Broken(f"after kill -9 of a process {what}", example, showing.shown)
            return


def judged_next(ran: Ran, start: list[numbers.Observed]) -> Iterator[tuple[str, str]]:
    if ran.status:
        yield f"the next one {ran.ending}", last(ran)
    for name, by in differences(start, numbers.read(ran.output)):
        yield f"{name} of the next one is not as it was", human(by)


def slowest() -> float:
    """A second on a machine that has nothing else to do."""
    return SECONDS_NEXT * busy()


def differences(start: Sequence[numbers.Observed], now: Sequence[numbers.Observed]) -> Iterator[tuple[str, int]]:
    if start and now:
        for name, one in now[0].said.items():
            by = one.taken - start[0].said.get(name, one).taken
            if by:
                yield name, by

"""Random sequences, and the smallest one that shows a fault: hypothesis shrinks it where it is installed."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence
from typing import Any

from gdbcuda import api
from gdbcuda.contract.books.judging import Wrong
from gdbcuda.contract.books.playing import USUAL, Driver, Player
from gdbcuda.contract.books.sequences import GRANULE, CallSequence
from gdbcuda.contract.books.steps import IMPORT, RETAIN, BooksStep
from gdbcuda.data_classes import dataclass, field
from gdbcuda.ledger.effects import roles

MOST_STEPS = 14
EXAMPLES = 250  # sequences until a search is over, if its time is not: the same ones with the same seed
WITHOUT_LIMIT = 1 << 30  # bytes that sequences move around in
Choose = Callable[[int], int]  # one of so many, 0 is the simplest
NO_HYPOTHESIS = "random sequences are not made smaller: pip install 'gdbcuda[conform]' brings hypothesis, which does it"


@dataclass
class FoundSequence:
    wrong: Wrong
    steps: Sequence[BooksStep]
    driver: Driver = USUAL


@dataclass
class Searcher:
    """Until ``end`` of the monotonic clock. Faults of a ``known`` kind are passed over."""

    player: Player
    allocators: Sequence[api.Function]
    end: float
    known: set[str] = field(default_factory=set)
    smallest: FoundSequence | None = None
    count: int = 0  # of sequences

    @property
    def is_over(self) -> bool:
        return time.monotonic() >= self.end

    @property
    def size(self) -> int:
        return self.player.limit or WITHOUT_LIMIT

    def tried(self, choose: Choose) -> bool:
        """Whether the sequence shows nothing new."""
        if self.is_over:
            return True
        self.count += 1
        memory = self.size // 4 * 3 // GRANULE * GRANULE if self.player.limit and choose(2) else 0
        sequence = CallSequence(self.player.functions)
        for _ in range(1 + choose(MOST_STEPS)):
            self.grow(sequence, choose, bool(memory))
        sequence.give_back()
        return self.judged(sequence.steps, Driver(memory))

    def judged(self, steps: Sequence[BooksStep], driver: Driver) -> bool:
        new = [one for one in self.player.wrongs(steps, driver)[:1] if one.what not in self.known]
        if new and (self.smallest is None or len(steps) <= len(self.smallest.steps)):
            self.smallest = FoundSequence(new[0], list(steps), driver)
        return not new

    def grow(self, sequence: CallSequence, choose: Choose, is_small: bool) -> None:
        """One step more. A device that is smaller than the limit has managed memory beyond it."""
        usable = [one for one in self.allocators if not is_small or roles.kind_of(one) != "managed"]
        if sequence.context:
            usable = [one for one in usable if is_of_context(one)] or usable
        deeds: list[Callable[[], Any]] = [
            lambda: sequence.allocate(usable[choose(len(usable))], self.amount(choose)),
            lambda: self.free(sequence, choose), lambda: self.free(sequence, choose),
            lambda: self.map(sequence, choose), lambda: self.unmap(sequence, choose),
            lambda: sequence.end_context() if sequence.context else sequence.begin_context(),
        ]  # fmt: skip
        deeds[choose(len(deeds))]()

    def amount(self, choose: Choose) -> int:
        """Whole granules, mostly few of them."""
        most = self.size // GRANULE
        return GRANULE * (1 + choose(max(1, most // (1, 2, 8)[choose(3)] - 1)))

    def free(self, sequence: CallSequence, choose: Choose) -> None:
        if sequence.blocks:
            held = sequence.blocks[choose(len(sequence.blocks))]
            releases = self.player.functions.releases(held.allocator)
            is_twice = any(step.what in (RETAIN, IMPORT) for step in sequence.steps)  # one handle: again is right then
            sequence.free(held, releases[choose(len(releases))], choose(4) == 3 and not is_twice)

    def map(self, sequence: CallSequence, choose: Choose) -> None:
        physical = [one for one in sequence.blocks if one.is_physical]
        if not physical:
            ways = [one for one in self.allocators if roles.kind_of(one) == "physical"]
            physical = [sequence.allocate(one, self.amount(choose)) for one in ways[:1]]
        if not physical:
            return
        held = physical[choose(len(physical))]
        if choose(4) == 3:
            sequence.import_(held)
        else:
            sequence.map(held)

    def unmap(self, sequence: CallSequence, choose: Choose) -> None:
        if not sequence.places:
            return
        place = sequence.places[choose(len(sequence.places))]
        if choose(4) == 3:
            sequence.retain(place)
        else:
            sequence.unmap(place)


def is_of_pool(allocator: api.Function) -> bool:
    return any(p.type.name in ("CUstream", "CUmemoryPool") for p in allocator.parameters)


def is_of_context(allocator: api.Function) -> bool:
    """Pools are of a device."""
    return not is_of_pool(allocator) and roles.kind_of(allocator) != "physical"


def search(searcher: Searcher, seed: int) -> FoundSequence | None:
    """The smallest sequence that shows something new, until the time is over."""
    searcher.smallest = None
    (by_hypothesis if has_hypothesis() else by_chance)(searcher, seed)
    return without_needless_blocks(searcher.player, searcher.smallest) if searcher.smallest else None


def without_needless_blocks(player: Player, found: FoundSequence) -> FoundSequence:
    """hypothesis makes choices small, and not always the sequence."""
    for block in {step.block for step in found.steps}:
        fewer = [step for step in found.steps if block not in (step.block, step.of)]
        wrong = next(iter(player.wrongs(fewer, found.driver)), None)
        if wrong and wrong.what == found.wrong.what:
            found = FoundSequence(wrong, fewer, found.driver)
    return found


def has_hypothesis() -> bool:
    try:
        import hypothesis  # noqa: F401
    except ImportError:
        return False
    return True


def by_chance(searcher: Searcher, seed: int) -> None:
    dice = random.Random(seed)
    for _ in range(EXAMPLES):
        if searcher.is_over or not searcher.tried(dice.randrange):
            return


def by_hypothesis(searcher: Searcher, seed: int) -> None:
    from hypothesis import HealthCheck, Phase, Verbosity, errors, given, settings, strategies
    from hypothesis import seed as seeded

    @seeded(seed)
    @settings(max_examples=EXAMPLES, deadline=None, database=None, phases=(Phase.generate, Phase.shrink),
              suppress_health_check=list(HealthCheck), verbosity=Verbosity.quiet, print_blob=False,
              report_multiple_bugs=False)  # fmt: skip
    @given(strategies.data())
    def attempt(data: Any) -> None:
        if not searcher.tried(lambda count: int(data.draw(strategies.integers(0, count - 1)))):
            raise AssertionError
        if searcher.is_over:
            raise KeyboardInterrupt

    try:
        attempt()
    except KeyboardInterrupt:
        if not searcher.is_over:  # a person's
            raise
    except (AssertionError, errors.HypothesisException):
        return  # the smallest is known to the searcher; a time that ends in between makes hypothesis call it flaky

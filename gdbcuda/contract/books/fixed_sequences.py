"""The sequences that every allocator has to bear, whatever the dice say."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from gdbcuda import api
from gdbcuda.contract.books.judging import OVER, Wrong
from gdbcuda.contract.books.playing import INVALID, USUAL, Driver, Player
from gdbcuda.contract.books.random_sequences import WITHOUT_LIMIT, is_of_context, is_of_pool
from gdbcuda.contract.books.sequences import GRANULE, CallSequence
from gdbcuda.contract.books.steps import BooksStep
from gdbcuda.contract.registry import Broken
from gdbcuda.ledger.effects import roles

ODD = (1 << 20) - 1  # bytes
WRAPPED = (1 << 32) + GRANULE  # bytes: a small size for who has 32 bits for it
IN_TURN, AT_ONCE = 300, 64  # blocks: more than a counter or a table of a hook library may have in mind
FEW_CALLS = 12  # that are written out in an example


class Given(NamedTuple):
    """A sequence, and over which driver."""

    steps: list[BooksStep]
    driver: Driver = USUAL


def part(player: Player, percent: int) -> int:
    """Of the limit, in whole granules."""
    return max(GRANULE, (player.limit or WITHOUT_LIMIT) * percent // 100 // GRANULE * GRANULE)


def sequences(player: Player, allocator: api.Function) -> Iterator[Given]:
    """The shortest first."""
    for release in player.functions.releases(allocator):
        freed = CallSequence(player.functions)
        freed.free(freed.allocate(allocator, GRANULE), release, again=True)
        yield Given(freed.steps)
    if player.limit:
        yield alone(player, allocator, part(player, 60))
        yield over_the_limit(player, allocator)
        yield just_over(player, allocator)
        if player.limit < WRAPPED:
            yield alone(player, allocator, WRAPPED)
    if allocator.symbol in player.functions.hooked:
        yield many(player, allocator)
    if is_of_bytes(allocator):
        yield alone(player, allocator, ODD)  # who counts whole MiB counts nothing
    yield from refused_by_driver(player, allocator)
    if is_of_context(allocator):
        yield ended(player, allocator, CallSequence.begin_context, CallSequence.end_context)
        yield ended(player, allocator, CallSequence.begin_primary, CallSequence.end_primary)
    if is_of_pool(allocator):
        yield pool_trimmed(player, allocator)
    if roles.kind_of(allocator) == "physical":
        yield released_while_mapped(player, allocator)
        yield grown(player, allocator)
        yield retained(player, allocator)
        yield from imported(player, allocator)


def alone(player: Player, allocator: api.Function, size: int) -> Given:
    """One block of that size."""
    sequence = CallSequence(player.functions)
    sequence.allocate(allocator, size)
    sequence.give_back()
    return Given(sequence.steps)


def many(player: Player, allocator: api.Function) -> Given:
    """One after the other, then as many at once as there is room for."""
    sequence, release = CallSequence(player.functions), player.functions.releases(allocator)[-1:]
    held = sequence.allocate(allocator, GRANULE)
    for _ in range(IN_TURN if release else 0):
        sequence.free(held, release[0])
        sequence.take(held)
    for _ in range(min(AT_ONCE, part(player, 60) // GRANULE) - 1):
        sequence.allocate(allocator, GRANULE)
    sequence.give_back()
    return Given(sequence.steps)


def over_the_limit(player: Player, allocator: api.Function) -> Given:
    sequence = CallSequence(player.functions)
    for _ in range(3):
        sequence.allocate(allocator, part(player, 40))
    sequence.give_back()
    return Given(sequence.steps)


def just_over(player: Player, allocator: api.Function) -> Given:
    """By as little as can be: in one block, then in two."""
    granule = 1 if is_of_bytes(allocator) else GRANULE
    least, half = player.limit // granule * granule + granule, part(player, 40)
    sequence = CallSequence(player.functions)
    for size in (least, half, least - half):
        sequence.allocate(allocator, size)
    sequence.give_back()
    return Given(sequence.steps)


def is_of_bytes(allocator: api.Function) -> bool:
    """Its blocks may have any number of them."""
    return roles.kind_of(allocator) in ("device", "managed")


def refused_by_driver(player: Player, allocator: api.Function) -> Iterator[Given]:
    """The allocator, and each release."""
    refused = CallSequence(player.functions)
    refused.allocate(allocator, part(player, 40))
    yield Given(refused.steps, Driver(fails=allocator.symbol))
    for release in player.functions.releases(allocator):
        kept = CallSequence(player.functions)
        kept.free(kept.allocate(allocator, part(player, 40)), release)
        yield Given(kept.steps, Driver(fails=release.symbol, error=INVALID))


def ended(
    player: Player, allocator: api.Function, begin: Callable[[CallSequence], None], end: Callable[[CallSequence], None]
) -> Given:
    """With the context that it is made in."""
    sequence = CallSequence(player.functions)
    begin(sequence)
    sequence.allocate(allocator, GRANULE)
    end(sequence)
    return Given(sequence.steps)


def pool_trimmed(player: Player, allocator: api.Function) -> Given:
    """A pool may keep what was given back to it; what is in use it cannot let go."""
    sequence = CallSequence(player.functions)
    sequence.keep(part(player, 40))
    held = [sequence.allocate(allocator, GRANULE) for _ in range(2)]
    sequence.free(held[0], player.functions.releases(allocator)[-1])
    sequence.trim()
    sequence.give_back()
    sequence.trim()
    return Given(sequence.steps)


def grown(player: Player, allocator: api.Function) -> Given:
    """A room that grows by a second mapping; one call ends both."""
    sequence = CallSequence(player.functions)
    place = sequence.grow(*(sequence.allocate(allocator, GRANULE) for _ in range(2)))
    sequence.give_back_handles()
    sequence.unmap_all(place)
    return Given(sequence.steps)


def released_while_mapped(player: Player, allocator: api.Function) -> Given:
    sequence = CallSequence(player.functions)
    held = sequence.allocate(allocator, GRANULE)
    sequence.map(held)
    sequence.give_back_handles()
    sequence.give_back()
    return Given(sequence.steps)


def retained(player: Player, allocator: api.Function) -> Given:
    sequence = CallSequence(player.functions)
    sequence.map(sequence.allocate(allocator, GRANULE))
    sequence.retain(sequence.places[0])
    sequence.give_back()
    return Given(sequence.steps)


def imported(player: Player, allocator: api.Function) -> Iterator[Given]:
    """The importer lets go first, or last."""
    for is_first in (True, False):
        sequence = CallSequence(player.functions)
        held = sequence.allocate(allocator, GRANULE)
        importer = sequence.import_(held)
        release = player.functions.releases(allocator)[-1]
        for one in (importer, held) if is_first else (held, importer):
            sequence.free(one, release, again=True)
        yield Given(sequence.steps)


def way_past(player: Player, allocator: api.Function) -> Broken | None:
    """That it grants more than the limit to a program that does nothing special."""
    if not player.limit:
        return None
    given = over_the_limit(player, allocator)
    found = [one for one in player.wrongs(given.steps) if one.what.endswith(OVER)]
    if not found:
        return None
    unknown = "" if allocator.symbol in player.functions.hooked else ", and the library has no such function"
    return shown(player, found[0]._replace(example=found[0].example + unknown), given.steps, given.driver)


def of_host(player: Player, allocator: api.Function) -> Iterator[Broken]:
    """It takes nothing of the device."""
    sequence = CallSequence(player.functions)
    sequence.host(allocator, player.functions.releases(allocator)[-1], GRANULE)
    for wrong in player.wrongs(sequence.steps)[:1]:
        yield shown(player, wrong, sequence.steps, USUAL)


def of_graph(player: Player, allocator: api.Function) -> Iterator[Broken]:
    """What a graph has allocated stays with the device until its graph memory is trimmed."""
    for size, launches in ((3 * part(player, 40), 1), (3 * GRANULE, 2)):
        sequence = CallSequence(player.functions)
        sequence.graph(allocator, size, launches)
        for wrong in player.wrongs(sequence.steps)[:1]:
            yield shown(player, wrong, sequence.steps, USUAL)


def of_addresses(player: Player) -> Iterator[Broken]:
    """A room for what may come is larger than the limit in programs that grow in it."""
    sequence = CallSequence(player.functions)
    sequence.reserve(2 * part(player, 100))
    for wrong in player.wrongs(sequence.steps)[:1]:
        yield shown(player, wrong, sequence.steps, USUAL)


def faults(player: Player, allocator: api.Function) -> Iterator[Broken]:
    """The first one of each sequence; nothing more of one that is not counted at all."""
    past = way_past(player, allocator)
    if past:
        yield past
        return
    seen: set[str] = set()
    for given in sequences(player, allocator):
        for wrong in player.wrongs(given.steps, given.driver)[:1]:
            if wrong.what not in seen:
                seen.add(wrong.what)
                yield shown(player, wrong, given.steps, given.driver)


def shown(player: Player, wrong: Wrong, steps: Iterable[BooksStep], driver: Driver) -> Broken:
    written = list(steps)[: max(wrong.step, FEW_CALLS)]
    at = written[max(wrong.step - 1, 0)].symbol if written else "cuInit"
    program = player.workshop.showing(player.program(written), at, more=driver.environment).shown
    return Broken(wrong.what, f"{wrong.example}: {'; '.join(few([step.call for step in written]))}", program)


def few(calls: list[str]) -> list[str]:
    """The first and the last ones of many."""
    middle = len(calls) - FEW_CALLS
    return calls if middle <= 0 else [*calls[: FEW_CALLS // 2], f"{middle} more", *calls[-FEW_CALLS // 2 :]]

"""The books of a hook library that counts memory and holds a limit: sequences of calls, and many at one instant."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from functools import partial

from gdbcuda import api
from gdbcuda.contract.bench import Bench
from gdbcuda.contract.books import fixed_sequences, random_sequences
from gdbcuda.contract.books.concurrent import at_once, other_devices, sharing
from gdbcuda.contract.books.concurrent.sharing_calls import WAYS, SharingWay
from gdbcuda.contract.books.playing import Player
from gdbcuda.contract.books.random_sequences import Searcher
from gdbcuda.contract.books.sequences import RESERVER
from gdbcuda.contract.registry import Broken, Case, contract
from gdbcuda.data_classes import replace
from gdbcuda.text.sentences import counted

SECONDS = 60  # that random sequences may take
NO_LIMIT = "books: without --limit SIZE nothing is asked about a limit"
NOT_SHARED = "books/processes: each process is counted by itself, so no limit is shared"


@contract("books", means="what it says of memory is right after any calls; its limit is never exceeded")
def books(bench: Bench) -> Iterator[Case]:
    functions = bench.memory_functions
    player = Player(bench.workshop, functions, bench.templates / "books", bench.limit, bench.seed)
    for one in functions.allocators:
        yield Case("books", one.symbol, partial(of_allocator, player, one))
        for count in at_once.SHARES:
            yield Case("books", f"{one.symbol} by {count} threads", partial(by_threads, player, one, count))
    for one in filter(random_sequences.is_of_context, functions.allocators):
        if one.symbol in functions.hooked:
            yield Case("books", f"{one.symbol} on two devices", partial(on_devices, player, one))
    for way in WAYS:
        yield Case("books", f"{way.opener} of another process", partial(by_sharing, player, way))
    for one in functions.of_host:
        yield Case("books", one.symbol, partial(aside, player, one, fixed_sequences.of_host))
    for one in functions.of_graphs:
        yield Case("books", one.symbol, partial(aside, player, one, fixed_sequences.of_graph))
    yield Case("books", RESERVER, partial(of_addresses, player))
    yield Case("books", "random", partial(at_random, player), is_long=True)
    usual = next((one for one in functions.allocators if one.symbol in functions.hooked), functions.allocators[0])
    yield Case("books", "processes", partial(by_processes, player, usual))
    yield Case("books", "killed", partial(if_there, player, usual, at_once.killed))


def if_there(
    player: Player, allocator: api.Function, run: Callable[[Player, api.Function], Iterable[Broken]], bench: Bench
) -> Iterable[Broken]:
    """What no driver has here cannot be tried."""
    for one in player.functions.not_tried:
        bench.note(f"books: {one.symbol} is not tried: nothing here makes its arguments")
    if not player.limit:
        bench.note(NO_LIMIT)
    if allocator not in player.driver_has:
        bench.note(f"books: {allocator.symbol} is not tried: the driver does not have it")
        return []
    return run(player, allocator)


def of_allocator(player: Player, allocator: api.Function, bench: Bench) -> Iterable[Broken]:
    return if_there(player, allocator, fixed_sequences.faults, bench)


def aside(
    player: Player, allocator: api.Function, run: Callable[[Player, api.Function], Iterable[Broken]], bench: Bench
) -> Iterable[Broken]:
    """What hands out no block of the device's."""
    return run(player, allocator)


def of_addresses(player: Player, bench: Bench) -> Iterable[Broken]:
    return fixed_sequences.of_addresses(player)


def by_threads(player: Player, allocator: api.Function, count: int, bench: Bench) -> Iterable[Broken]:
    """One that is a way past the limit for a single thread is one for several: then it is asked for the rest alone."""
    if allocator in player.driver_has and fixed_sequences.way_past(player, allocator):
        bench.note(f"books: {allocator.symbol} by threads: no limit is tried: one alone is granted more than that")
        if allocator.symbol not in player.functions.hooked:
            return []
        player = replace(player, limit=0)
    return if_there(player, allocator, partial(at_once.threads, count=count), bench)


def on_devices(player: Player, allocator: api.Function, bench: Bench) -> Iterable[Broken]:
    return if_there(player, allocator, other_devices.faults, bench)


def by_sharing(player: Player, way: SharingWay, bench: Bench) -> Iterable[Broken]:
    try:
        return list(sharing.faults(player, way))
    except sharing.NotOpened:
        bench.note(f"books: {way.opener} of another process is not tried: the driver does not do it")
        return []


def by_processes(player: Player, allocator: api.Function, bench: Bench) -> Iterable[Broken]:
    if not player.limit:
        return []
    try:
        return list(if_there(player, allocator, at_once.processes, bench))
    except at_once.NotShared:
        bench.note(NOT_SHARED)
        return []


def at_random(player: Player, bench: Bench) -> Iterator[Broken]:
    """Ways that a fixed sequence has shown to be uncounted would be found again and again: they are left out."""
    if not random_sequences.has_hypothesis():
        bench.note(f"books: {random_sequences.NO_HYPOTHESIS}")
    searcher = Searcher(player, [], min(time.monotonic() + SECONDS, bench.until))
    searcher.allocators = list(sound(player, searcher))
    while searcher.allocators and (fault := random_sequences.search(searcher, seed(bench))):
        searcher.known.add(fault.wrong.what)
        yield fixed_sequences.shown(player, fault.wrong, fault.steps, fault.driver)
    if searcher.is_over:
        bench.note(f"books/random: its time was up after {counted(searcher.count, 'sequence')} (--seconds)")


def seed(bench: Bench) -> int:
    return bench.dice("books random").randrange(1 << 32)


def sound(player: Player, searcher: Searcher) -> Iterator[api.Function]:
    for one in player.driver_has:
        if not searcher.is_over and not any(fixed_sequences.faults(player, one)):
            yield one

"""What is said of one device while memory of another one is got and given back."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gdbcuda import api
from gdbcuda.contract.books import numbers
from gdbcuda.contract.books.concurrent import asking_programs, at_once
from gdbcuda.contract.books.judging import more
from gdbcuda.contract.books.numbers import Observed
from gdbcuda.contract.books.playing import Player
from gdbcuda.contract.program import DEVICES, DEVICES_OF_STANDIN
from gdbcuda.contract.registry import Broken


def faults(player: Player, allocator: api.Function) -> Iterator[Broken]:
    """Nothing where there is one device alone. What the driver does by itself is no fault."""
    text = asking_programs.program(player, "devices.c", allocator)
    program = player.workshop.built(text)
    environment = {DEVICES_OF_STANDIN: str(DEVICES)}
    without, ran = (player.workshop.run([program], with_hook=one, more=environment) for one in (False, True))
    if without.status:
        return
    usual = {what for what, _ in judged(allocator, numbers.read(without.output))}
    found = [(f"a program {ran.ending} that uses two devices", asking_programs.last(ran))] if ran.status else []
    found += [one for one in judged(allocator, numbers.read(ran.output)) if one[0] not in usual]
    for what, example in found[:1]:
        yield Broken(what, example, player.workshop.showing(text, allocator.symbol, more=environment).shown)


def judged(allocator: api.Function, seen: Sequence[Observed]) -> Iterator[tuple[str, str]]:
    """``seen`` before, while the second device has a block, and after, each of the first device and the second."""
    if len(seen) < 3 * DEVICES:
        return
    before, between, after = (seen[at : at + DEVICES] for at in range(0, 3 * DEVICES, DEVICES))
    for name, by in at_once.differences(before[:1], between[:1]):
        yield (f"{allocator.symbol} on a second device changes how much {name} says is used of the first",
               f"{more(by)} used than before")  # fmt: skip
    for name in silent(before[1], between[1]):
        yield f"{allocator.symbol} takes memory of a second device, and {name} of that one does not say so", ""
    for first, last in zip(before, after):
        for name, by in at_once.differences([first], [last]):
            yield (f"a block that {allocator.symbol} gave is given back while another device is current, and {name} "
                   "does not return to the start", f"{more(by)} used than at the start")  # fmt: skip


def silent(before: Observed, holding: Observed) -> Iterator[str]:
    """Who says no more than before."""
    for name, now in holding.said.items():
        if name in before.said and now.taken <= before.said[name].taken:
            yield name

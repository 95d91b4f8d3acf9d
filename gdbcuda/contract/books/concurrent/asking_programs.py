"""Programs in which several ask for the same kind of block at one instant, and what they say."""

from __future__ import annotations

import re

from gdbcuda import api
from gdbcuda.contract.books import numbers
from gdbcuda.contract.books.playing import Player
from gdbcuda.contract.books.sequences import of_allocators
from gdbcuda.contract.c_programs.building import Ran
from gdbcuda.contract.c_programs.filling import block_type

LONGEST = 30.0  # seconds that one may take
ROOM = 16  # times the limit: the device that all of them fit into
SAID = re.compile(r"^(together|sees|back|alone|parts) (-?\d+)$", re.MULTILINE)


def device_memory(player: Player) -> str:
    """As a setting of the stand-in."""
    return str(max(ROOM * player.limit, 16 << 30))


def defined(player: Player, allocator: api.Function) -> str:
    """What the programs are about: a block, how it is got and given back."""
    got, given = (player.functions.call(one, "block", "size") for one in (allocator, releasing(player, allocator)))
    assert got and given
    return (f"typedef {block_type(allocator)} BLOCK;\n#define ALLOCATE {got.text}\n#define RELEASE {given.text}\n\n"
            + of_allocators(player.functions, {allocator.symbol}))  # fmt: skip


def releasing(player: Player, allocator: api.Function) -> api.Function:
    return player.functions.releases(allocator)[-1]


def program(player: Player, template: str, allocator: api.Function, **places: str) -> str:
    return player.text(template, helpers=defined(player, allocator), **places,
                       numbers=numbers.asking(player.functions.numbers))  # fmt: skip


def said(ran: Ran) -> dict[str, int]:
    return {name: int(value) for name, value in SAID.findall(ran.output)}


def drift(ran: Ran) -> dict[str, int]:
    """By which each number does not return to where it was."""
    first, *_, end = numbers.read(ran.output)
    by = {name: now.taken - first.said.get(name, now).taken for name, now in end.said.items()}
    return {name: size for name, size in by.items() if size}


def last(ran: Ran) -> str:
    return "".join(ran.errors.strip().splitlines()[-1:])

"""Code that answers for an API function without having its name: where rewritten slots and overwritten entries lead."""

from __future__ import annotations

from collections.abc import Iterator, Set
from typing import TYPE_CHECKING, NamedTuple

from gdbcuda.routes import collect
from gdbcuda.routes.snapshot import VENDORS, ProcessSnapshot, Reached

if TYPE_CHECKING:
    from gdbcuda.linkage import Linkage, Slot
    from gdbcuda.routes.requests import Request

OWNERS = ("hook", "app")  # whose code may answer for the vendor's
ASKERS = ("app", "runtime")


class Answering(NamedTuple):
    """``how``: "the slot of test_alloc leads there", which is the file ``asker``, "the entry in libcuda.so.1 jumps
    there", which is at ``entry``. ``is_of_object``: only calls of the library that it is in, not the program's."""

    function: str
    reached: Reached
    how: str
    entry: int = 0
    asker: str = ""
    is_of_object: bool = False


def found(snapshot: ProcessSnapshot, names: Set[str]) -> list[Answering]:
    """For each of the functions, one for each address."""
    ways = [*by_entries(snapshot, names), *by_slots(snapshot, names)]
    return [*{(one.function, one.reached.address): one for one in reversed(ways)}.values()][::-1]


def by_slots(snapshot: ProcessSnapshot, names: Set[str]) -> Iterator[Answering]:
    for asker in snapshot.in_layer(*ASKERS):
        for route in collect.references_where(snapshot, asker, names, is_elsewhere):
            if route.reached and is_answer(snapshot, asker, route.function, route.reached):
                how = f"the slot of {base(route.asker)} leads there"
                yield Answering(route.function, route.reached, how, asker=route.asker)


def is_elsewhere(snapshot: ProcessSnapshot, asker: Linkage, slot: Slot, value: int) -> bool:
    """False where the slot leads to a function of the API by its name, as nearly all do, or will be bound by name: what
    has overwritten that function's entry is seen `by_entries`."""
    if leads_to_its_name(snapshot, slot.name, value) or value in snapshot.functions:
        return False
    return not collect.is_unbound(asker, slot, value)


def leads_to_its_name(snapshot: ProcessSnapshot, name: str, value: int) -> bool:
    """Asked first: all functions by address are 1,500 symbols of each library, read and made names of."""
    holder = snapshot.objects.holder(value)
    if holder is None or snapshot.layers[holder] not in ("hook", *VENDORS) or name not in snapshot.api_names:
        return False
    return any(one.address == value for one in holder.symbols.find(name))


def by_entries(snapshot: ProcessSnapshot, names: Set[str]) -> Iterator[Answering]:
    for owner in snapshot.in_layer(*VENDORS) if snapshot.may_be_patched else ():
        entries = [(one.address, name) for name, found in owner.symbols.defined(names).items() for one in found]
        jumping = set(snapshot.may_jump([address for address, _ in entries]))
        for address, name in entries:
            there = snapshot.patched(address) if address in jumping else None
            reached = snapshot.reached(there) if there else None
            if reached and is_answer(snapshot, owner, name, reached):
                yield Answering(name, reached, f"the entry in {base(snapshot.file_of(owner))} jumps there", address)


def is_answer(snapshot: ProcessSnapshot, asker: Linkage, name: str, reached: Reached) -> bool:
    """Another object's code, and by its name no function of the API."""
    if reached.layer not in OWNERS or reached.file == snapshot.file_of(asker) or name in reached.names:
        return False
    return not any(map(snapshot.table.function, reached.names))


def by_request(snapshot: ProcessSnapshot, request: Request, wanted: str) -> Answering | None:
    """What a hook library has answered somebody else."""
    reached = request.answer
    if reached is None or reached.layer != "hook" or request.is_hooks_own:
        return None
    if any(map(snapshot.table.function, reached.names)):
        return None
    name = f"{wanted} as {request.name}" if request.name != wanted else wanted
    return Answering(wanted, reached, f"{base(request.owner)}'s {request.resolver} answers {name} with it")


def base(file: str) -> str:
    return file.rsplit("/", 1)[-1]

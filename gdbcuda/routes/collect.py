"""The routes of a process, by reading memory alone: what each object's references lead to, before any call is made."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Set
from typing import Any, Callable, NamedTuple

from gdbcuda import api
from gdbcuda.errors import Unreadable
from gdbcuda.linkage import Linkage, Slot
from gdbcuda.linkage.slots import slot_values
from gdbcuda.routes import verdicts
from gdbcuda.routes.snapshot import ProcessSnapshot, Reached
from gdbcuda.routes.verdicts import Verdict

WRAP = "--wrap"
WRITABLE = 2  # PF_W
MOST_DATA = 256 << 10  # bytes of one segment that are searched for pointers


class Route(NamedTuple):
    """``way``: "PLT", "GOT", "data" (a pointer that the loader filled in), "pointer" (one that the program stored),
    "static", "--wrap", "by name" (what a new reference would find), or the name of a resolver.
    ``state``: "bound", "not called yet", "in VARIABLE", "". ``kind``: what reasons have in common that name a request
    each."""

    function: str
    way: str
    asker: str
    asker_layer: str
    state: str
    reached: Reached | None
    verdict: Verdict
    address: int = 0  # of the slot or pointer
    kind: str = ""

    def as_json(self) -> dict[str, Any]:
        reached = self.reached
        return {
            "function": self.function, "way": self.way, "asker": self.asker, "asker_layer": self.asker_layer,
            "state": self.state, "slot": self.address, "verdict": self.verdict.word, "why": self.verdict.why,
            "reached": None if reached is None else
            {"address": reached.address, "name": reached.name, "object": reached.file, "layer": reached.layer},
        }  # fmt: skip


WAYS = ("PLT", "GOT", "data", "pointer", "static", "by name", WRAP)  # all others are resolvers
Wanted = Callable[["ProcessSnapshot", "Linkage", "Slot", int], bool]


def references(snapshot: ProcessSnapshot, asker: Linkage, names: Set[str]) -> list[Route]:
    """The object's PLT and GOT: where each of the names leads now, or will at its first call."""
    known: Set[str]
    routes: list[Route]
    known, routes = snapshot.collected.get(asker, (frozenset(), []))
    if not names <= known:
        routes = references_where(snapshot, asker, names, lambda *slot: True)
        snapshot.collected[asker] = names, routes
    return [route for route in routes if route.function in names]


def references_where(snapshot: ProcessSnapshot, asker: Linkage, names: Set[str], is_wanted: Wanted) -> list[Route]:
    slots = asker.slots(names)
    values = slot_values(snapshot.memory, slots) if slots else {}
    found = [(slot, snapshot.recorded.get(values[slot.address], values[slot.address]))
             for slot in slots if slot.address in values]  # fmt: skip
    return [reference(snapshot, asker, *one) for one in found if is_wanted(snapshot, asker, *one)]


def reference(snapshot: ProcessSnapshot, asker: Linkage, slot: Slot, value: int) -> Route:
    bound = not is_unbound(asker, slot, value)
    reached = (
        snapshot.reached(canonical(snapshot, asker, slot.name, value)) if bound else would_bind(snapshot, asker, slot)
    )
    verdict = verdicts.of_reference(snapshot, asker, slot.name, reached, slot.kind if bound else verdicts.UNBOUND)
    state = "bound" if bound else verdicts.UNBOUND
    return Route(
        slot.name, slot.kind, snapshot.file_of(asker), snapshot.layers[asker], state, reached, verdict, slot.address
    )


def is_unbound(asker: Linkage, slot: Slot, value: int) -> bool:
    """Before the first call a PLT slot points back into the object's own PLT."""
    if slot.kind != "PLT" or not asker.image.holds(value):
        return False
    return all(definition.address != value for definition in asker.symbols.find(slot.name))


def would_bind(snapshot: ProcessSnapshot, asker: Linkage, slot: Slot) -> Reached | None:
    scope = snapshot.objects.scope(asker)
    if asker.dynamic.is_symbolic:
        scope = [asker, *scope]
    found = snapshot.objects.lookup(slot.name, scope, slot.version)
    return snapshot.reached_definition(*found) if found else None


def canonical(snapshot: ProcessSnapshot, asker: Linkage, name: str, value: int) -> int:
    """A program that is not position-independent and takes a function's address makes its own PLT entry that
    address for everyone (psABI, "Function Addresses"): go on to where that entry leads."""
    holder = snapshot.objects.holder(value)
    if holder is None or holder is asker or value in snapshot.functions or holder.symbols.find(name):
        return value
    slots = [slot for slot in holder.slots({name}) if slot.kind == "PLT"]
    values = slot_values(snapshot.memory, slots)
    if not slots or is_unbound(holder, slots[0], values.get(slots[0].address, 0)):
        found = would_bind(snapshot, holder, slots[0]) if slots else None
        return found.address if found else value
    return values[slots[0].address]


def pointers(snapshot: ProcessSnapshot, asker: Linkage, names: Set[str]) -> list[Route]:
    """Pointers to API functions that the object's code has stored in its variables: answers of dlsym and
    cuGetProcAddress, and a hook library's own way to the real functions."""
    own = {slot.address for slot in asker.slots(snapshot.api_names)}
    found = []
    for address, stored in words(snapshot, asker):
        value = snapshot.recorded.get(stored, stored)
        known = snapshot.functions.get(value)
        if known and address not in own and not asker.image.holds(value) and not names.isdisjoint(known):
            found.append(pointer(snapshot, asker, address, next(n for n in known if n in names), value))
    return found


def pointer(snapshot: ProcessSnapshot, asker: Linkage, address: int, name: str, value: int) -> Route:
    reached = snapshot.reached(value, is_final=snapshot.layers[asker] == "hook")  # what it has overwritten, it knows
    verdict = verdicts.of_reference(snapshot, asker, name, reached, "pointer")
    place = snapshot.variable_at(address)
    return Route(name, "pointer", snapshot.file_of(asker), snapshot.layers[asker], place, reached, verdict, address)


def words(snapshot: ProcessSnapshot, asker: Linkage) -> Iterator[tuple[int, int]]:
    """(address, value) of every aligned word in the object's variables."""
    for start, end, flags in asker.image.segments:
        first = start + -start % 8
        size = min(end - first, MOST_DATA) & ~7
        if not flags & WRITABLE or size <= 0:
            continue
        try:
            data = snapshot.memory.read(first, size)
        except Unreadable:
            continue
        yield from zip(range(first, first + size, 8), struct.unpack(f"<{size // 8}Q", data))


def search(snapshot: ProcessSnapshot, name: str) -> Route:
    """What the loader would find for a new reference in the program."""
    found = snapshot.objects.lookup(name, snapshot.objects.startup)
    program = snapshot.objects.all[0]
    reached = snapshot.reached_definition(*found) if found else None
    verdict = verdicts.of_reference(snapshot, program, name, reached, "by name")
    return Route(name, "by name", snapshot.file_of(program), snapshot.layers[program], "", reached, verdict)


def stores_answers(snapshot: ProcessSnapshot, linkage: Linkage) -> bool:
    """Objects whose variables may hold API functions: those that ask a resolver for them."""
    if snapshot.layers[linkage] in ("driver", "system"):
        return False
    names = snapshot.resolver_names
    return bool(linkage.symbols.undefined(names)) or bool(linkage.symbols.defined(names))


def is_alloc(snapshot: ProcessSnapshot, name: str) -> bool:
    function = snapshot.table.function(name)
    from gdbcuda.ledger.effects import roles  # where it is used: sourcing does not wait for the ledger

    return function is not None and roles.hands_out_memory(function)


def allocations_first(snapshot: ProcessSnapshot, routes: list[Route]) -> list[Route]:
    """What takes memory of the device, then the host's, the plainest first."""

    from gdbcuda.ledger.effects import roles  # where it is used: sourcing does not wait for the ledger

    def key(route: Route) -> tuple[bool, bool, int]:
        function = snapshot.table.function(route.function)
        hands_out = function is not None and roles.hands_out_memory(function)
        takes = function is not None and roles.takes_device_memory(function)
        return not takes, not hands_out, len(route.function) if hands_out else 0

    return sorted(routes, key=key)


def without_kept_answers(routes: list[Route]) -> list[Route]:
    """A pointer that an object has stored of what it was answered is the same way as the request."""
    answered = {place_of(one) for one in routes if one.way not in WAYS}
    return [one for one in routes if one.way != "pointer" or place_of(one) not in answered]


def place_of(route: Route) -> tuple[str, str, int]:
    return route.function, route.asker, route.reached.address if route.reached is not None else 0


def sorted_routes(routes: list[Route]) -> list[Route]:
    """By function; within one, the program's own first."""
    layers = ("app", "runtime", "hook", "driver", "system")

    def place(route: Route) -> int:
        return layers.index(route.asker_layer) if route.asker_layer in layers else len(layers)

    def key(route: Route) -> tuple[Any, ...]:
        return (api.base_name(route.function), route.function, place(route), route.asker, route.way)

    return sorted(routes, key=key)

"""Breakpoints that pick one layer and survive rerun, dlopen and dlclose.

gdb makes a location wherever the function's name is found: the program's PLT, the hook, the driver, C++ overloads.
Each time gdb has set the locations again, the ones outside the layer meant are switched off here
(``gdb.events.breakpoint_modified`` comes after that; ``new_objfile`` comes before and misses the newest).
Each inferior's locations are chosen by themselves: what is a hook library in one may not be loaded in another.
(gdb manual: "Breakpoints In Python", "Set Breaks", "Explicit Locations".)
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterator

import gdb

from gdbcuda.errors import UserError
from gdbcuda.live import layers, process
from gdbcuda.live.breakpoints import locations, ours, own_condition, uprobes
from gdbcuda.live.breakpoints.locations import Location
from gdbcuda.live.breakpoints.ours import BreakWish
from gdbcuda.live.host import gdb_cli, inferiors
from gdbcuda.live.layers import names
from gdbcuda.live.layers.code import answering_code, indirect
from gdbcuda.live.noticing import answer_search
from gdbcuda.live.placing import held_places, loader_watch
from gdbcuda.live.prompt import user_hooks

ORDER = ("hook", "runtime", "driver", "app", "system")
OF_NO_API = ("hook", "app", "runtime", "driver", "system")  # the vendor's own have such names by accident


IS_INDIRECT = "an indirect function (IFUNC): which code it stands for only gdb's own break can tell"
_making: list[list[gdb.Breakpoint]] = []  # what the commands that are being executed have made


def create(wish: BreakWish, condition: str = "", temporary: bool = False) -> gdb.Breakpoint:
    """An ordinary gdb breakpoint, pending or not, whose locations are ours to choose.

    Through ``break``, not gdb.Breakpoint(): that announces every place, and cuda-break says the one that counts.
    With the condition in the same line: one set later makes gdb complain at every load while it is pending."""
    made = execute_break(
        f"{'tbreak' if temporary else 'break'} {location(wish.function)}"
        + (f" if {condition}" if condition else "")
    )
    wish.native = condition
    keep(made, wish)
    return made


def location(function: str) -> str:
    """Of C++ names that are none of the API's gdb may find more than the whole ones."""
    return f"{'-qualified ' if names.prototype(function) else ''}-function {function}"


def adopt(one: gdb.Breakpoint, wish: BreakWish, condition: str) -> None:
    """One that gdb has made already."""
    wish.native = condition
    ours.of(one.number).wish = wish
    with gdb_cli.in_c():
        one.condition = condition or None
    keep(one, wish)


def keep(one: gdb.Breakpoint, wish: BreakWish) -> None:
    ours.of(one.number).wish = wish
    if not locations.LISTS:
        loader_watch.want(gdb_cli.catch_up)
    user_hooks.add("save hook-breakpoints", "breaking.saving", "before")  # gdb has no event for it
    user_hooks.add("save hookpost-breakpoints", "breaking.saving", "after")
    choose_when_possible(one)


def next_number() -> int:
    """The number that gdb will give to the next breakpoint (gdb manual: $bpnum)."""
    return int(gdb.convenience_variable("bpnum") or 0) + 1


@contextlib.contextmanager
def pending_allowed() -> Iterator[None]:
    """While many breakpoints are made; ``with`` in front of each costs more than the breakpoint."""
    before = gdb_cli.execute("show breakpoint pending")
    found = re.search(r"\b(on|off|auto)\b\.?\s*$", before)
    gdb_cli.execute("set breakpoint pending on")
    try:
        yield
    finally:
        gdb_cli.execute(f"set breakpoint pending {found.group(1) if found else 'auto'}")


class IndirectFunction(UserError):
    def __init__(self) -> None:
        super().__init__(f"that is {IS_INDIRECT}")


def execute_break(line: str) -> gdb.Breakpoint:
    """(gdb tells nobody of a breakpoint on the resolver of an indirect function.)"""
    allowed, made = gdb.parameter("breakpoint pending"), list[gdb.Breakpoint]()
    _making.append(made)
    try:
        with gdb_cli.in_c():
            gdb_cli.execute(line if allowed else f"with breakpoint pending on -- {line}")
    finally:
        _making.pop()
    if not made:
        gdb_cli.execute("delete $bpnum")
        raise IndirectFunction
    return made[-1]


def on_created(breakpoint: gdb.Breakpoint) -> None:
    for made in _making:
        made.append(breakpoint)


def of_ours() -> list[tuple[gdb.Breakpoint, BreakWish]]:
    """Those that were asked for by our commands, and what was asked. (It is asked at each call of dlsym, and a log has
    thousands of others.)"""
    wishes = {one.number: one.wish for one in ours.everyone() if one.wish is not None}
    return [(one, wishes[one.number]) for one in gdb.breakpoints() if one.number in wishes] if wishes else []


def by_number(number: int) -> gdb.Breakpoint | None:
    return next((one for one in gdb.breakpoints() if one.number == number), None)


def is_of(place: Location, function: str) -> bool:
    """C++ overloads and PLT entries are other functions; libc's dlsym is ___dlsym in its debug info, and is not. The
    code that an indirect function stands for has any name."""
    if place.is_plt:
        return False
    if names.prototype(function) is None:  # gdb knows what it may be called
        return True
    if place.function.partition("(")[0] == function or process.exports(place.file, function, place.address):
        return True
    return indirect.is_code_of(place.file, place.address, function)


def is_asked(place: Location, wish: BreakWish) -> bool:
    """It is no call of the function: the loader asks there which code it stands for. Where it is the only place, gdb
    itself puts it into that code."""
    is_indirect = names.prototype(wish.function) is not None and process.is_indirect(place.file, wish.function)
    return is_indirect and process.exports(place.file, wish.function, place.address)


def is_wanted(place: Location, wish: BreakWish, chosen: str) -> bool:
    if not is_of(place, wish.function) or is_anothers(place):
        return False
    if wish.places:
        return any(layers.matches(wanted, place.layer, place.file) for wanted in wish.places)
    return place.layer == chosen


def chosen_layer(places: list[Location], wish: BreakWish) -> str:
    """The hook's when it has (or, once loaded, will have) the function, else the outermost implementation's."""
    real = [p for p in places if is_of(p, wish.function)]
    if wish.defined_in_hook or any(p.layer == "hook" for p in real):
        return "hook"
    order = OF_NO_API if names.prototype(wish.function) is None else ORDER
    return next((layer for layer in order if any(p.layer == layer for p in real)), "")


def choose_locations(breakpoint: gdb.Breakpoint, wish: BreakWish) -> None:
    """Switches the locations on or off; leaves them alone when gdb has made no new ones since the last time."""
    places = locations.of(breakpoint)
    for number, own in locations.by_inferior(places).items():
        seen = wish.seen.get(number, {})
        if list(seen) == [place.address for place in own] and not is_forgotten(breakpoint, own, seen):
            switched = [place for place in own if place.enabled != seen[place.address]]
            wish.by_user.update({key_of(place, own): place.enabled for place in switched})
            seen.update({place.address: place.enabled for place in switched})
        else:
            wish.seen[number] = {place.address: place.enabled for place in own}
            choose_among(breakpoint, own, wish)
    own_condition.complete(breakpoint, places)


def key_of(place: Location, places: list[Location]) -> tuple[str, str, bool]:
    """What the user has switched in it is wanted for: it has another address next time."""
    return place.file, place.function, locations.is_inside_another(place, places)


def is_forgotten(breakpoint: gdb.Breakpoint, places: list[Location], seen: dict[int, bool]) -> bool:
    """gdb has set it again, and has switched on all its places: it knows by the function's name which were off, and
    keeps none of those of an indirect one. (gdb's breakpoint.c: set_breakpoint_location_function.)"""
    off = [place for place in places if not seen[place.address]]
    return breakpoint.type != gdb.BP_BREAKPOINT and bool(off) and all(place.enabled for place in off)


IS_TAKEN: list[Callable[[int, int], bool]] = []  # by breakpoint and address: has another one made for it that place?
ON_NOT_MEANT: list[Callable[[gdb.Breakpoint, Location], None]] = []  # for who may have taken it for meant before


def choose_among(breakpoint: gdb.Breakpoint, places: list[Location], wish: BreakWish) -> None:
    """The places of one inferior."""
    chosen = "hook" if is_answered(places, wish) else chosen_layer(places, wish)
    for place in places:
        is_meant = is_wanted(place, wish, chosen) and not (len(places) > 1 and is_asked(place, wish))
        is_meant = is_meant and not any(taken(breakpoint.number, place.address) for taken in IS_TAKEN)
        key = key_of(place, places)
        wanted = wish.by_user.get(key, is_meant and not key[-1])
        if not wanted:
            for tell in ON_NOT_MEANT:
                tell(breakpoint, place)
            place.enabled = locations.is_on(breakpoint, place)
        if place.enabled != wanted:
            switch(breakpoint, place, wanted)
            place.enabled = wanted
    uprobes.tell(breakpoint, places)


def is_anothers(place: Location) -> bool:
    """Somebody has written a jump over it, or may be about to."""
    is_vendors = place.layer in ("driver", "runtime")
    return is_vendors and (answering_code.is_overwritten(place.address) or answer_search.constructors_may_patch())


def is_answered(places: list[Location], wish: BreakWish) -> bool:
    """By a hook library, with code of another name: there another breakpoint is (`breaking.answering_stops`)."""
    inferior = inferiors.numbered(places[0].inferior) if places else None
    return inferior is not None and wish.is_of_hook() and answering_code.is_answered(wish.function, inferior)


def switch(breakpoint: gdb.Breakpoint, place: Location, on: bool) -> None:
    wish = ours.wish_of(breakpoint.number)
    for seen in wish.seen.values() if wish is not None else ():
        if place.address in seen:
            seen[place.address] = on
    _choosing.append(breakpoint.number)
    try:
        if locations.LISTS:
            breakpoint.locations[place.index - 1].enabled = on
        else:
            gdb_cli.execute(f"{'enable' if on else 'disable'} {breakpoint.number}.{place.index}")
    finally:
        _choosing.remove(breakpoint.number)


_choosing: list[int] = []  # switching a location is a modification too


def on_modified(breakpoint: gdb.Breakpoint) -> None:
    if ours.wish_of(breakpoint.number) is not None and breakpoint.number not in _choosing:
        held_places.when_possible(breakpoint, choose_when_possible)


def choose_when_possible(breakpoint: gdb.Breakpoint) -> None:
    if locations.LISTS:
        choose_as_wished(breakpoint)
    else:
        gdb_cli.when_possible(lambda: choose_as_wished(breakpoint))


def choose_as_wished(breakpoint: gdb.Breakpoint) -> None:
    wish = ours.wish_of(breakpoint.number) if breakpoint.is_valid() else None
    if wish is not None:
        choose_locations(breakpoint, wish)

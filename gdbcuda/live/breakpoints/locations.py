"""The places of a breakpoint, and whose code each of them is. (gdb manual: "Set Breaks", "Breakpoints In Python".)"""

from __future__ import annotations

import re
from collections.abc import Sequence

import gdb

from gdbcuda.live import layers, process
from gdbcuda.live.host import gdb_cli, inferiors
from gdbcuda.live.placing import letting_go, own_process
from gdbcuda.live.threads import children
from gdbcuda.text.patterns import pattern

LISTS = hasattr(gdb, "BreakpointLocation")  # before gdb 13 only its commands know the places of one


class Location:
    """One place of a breakpoint: ``index`` as in gdb's "N.index"; ``function`` "" where gdb names none; ``inferior``
    is the number of the one that it is in."""

    def __init__(self, index: int, address: int, enabled: bool, function: str, inferior: int = 0) -> None:
        self.index = index
        self.address = address
        self.enabled = enabled
        self.function = function
        self.inferior = inferior
        self.layer = ""
        self.file = ""

    @property
    def is_plt(self) -> bool:
        return self.function.endswith("@plt")


def of(breakpoint: gdb.Breakpoint) -> list[Location]:
    """The places of a breakpoint, with their layers; [] while it is pending."""
    if LISTS:
        found = [
            Location(i, loc.address, loc.enabled, loc.function or "", whose(loc.thread_groups))
            for i, loc in enumerate(breakpoint.locations, 1)
            if loc.address is not None
        ]
    else:
        found = parse(breakpoint.number)
    for number, places in by_inferior(found).items():
        describe(places, number)
    return found


def whose(groups: Sequence[int] | None) -> int:
    """After vfork two inferiors have one program; gdb may keep it so when the child has gone its own way."""
    selected = gdb.selected_inferior().num
    if not groups or selected in groups:
        return int(selected)
    return next((one.num for one in gdb.inferiors() if one.pid and one.num in groups), groups[0])


def by_inferior(places: list[Location]) -> dict[int, list[Location]]:
    return {number: [p for p in places if p.inferior == number] for number in dict.fromkeys(p.inferior for p in places)}


def describe(places: list[Location], number: int) -> None:
    """Whose code it is. Of another inferior that has no process nothing is known but the program."""
    inferior = inferiors.numbered(number) or gdb.selected_inferior()
    if not inferior.pid and inferior.num != gdb.selected_inferior().num:
        for place in places:
            place.file, place.layer = process.strip_prefix(inferior.progspace.filename or ""), "app"
        return
    with inferiors.selected(inferior):
        for place in places:
            place.address = process.whole(place.address, place.function)
            place.file = process.object_of(place.address)
            place.function = place.function or process.symbol_of(place.address)[0]
            place.layer = layers.layer_of(place.address, place.function)


def is_inside_another(place: Location, places: Sequence[Location]) -> bool:
    """A part of a function that was one of its own and was put back (gcc's -fpartial-inlining): no call comes there,
    arguments and caller are not found. gdb has a place for it, as for each inlined copy."""
    others = [one for one in places if (one.file, one.function) == (place.file, place.function)]
    in_front = [one for one in others if one.address < place.address]
    start = process.function_start(place.address) if in_front else None
    return start is not None and any(process.function_start(one.address) == start for one in in_front)


PLACE = r"(y|n)\S*\s+(0x[0-9a-f]+)(?: +in (\S+)| <([^>+]+))?(?:.*? inf (\d+(?:, \d+)*))?"
SEVERAL = pattern(rf"^\d+\.(\d+)\s+{PLACE}", re.MULTILINE)
ONE = pattern(rf"^\d+\s+.*?\s{PLACE}", re.MULTILINE)


def parse(number: int) -> list[Location]:
    """The same for gdb 10 to 12, from the rows of ``info breakpoints N``."""
    text = gdb_cli.execute(f"info breakpoints {number}")
    rows = SEVERAL.findall(text) or [("1", *row) for row in ONE.findall(text)]
    return [
        Location(
            int(index), int(address, 16), on == "y", name or symbol, whose([int(n) for n in groups.split(", ") if n])
        )
        for index, on, address, name, symbol, groups in rows
    ]


def places(breakpoint: gdb.Breakpoint) -> list[tuple[int, bool]]:
    """(address, enabled) of each location."""
    if LISTS:
        return [(one.address or 0, one.enabled) for one in breakpoint.locations]
    if breakpoint.type != gdb.BP_BREAKPOINT:
        return []
    if not are_places_known():
        return [(address, breakpoint.enabled) for address in decoded(breakpoint.location or "")]
    return [(one.address, one.enabled) for one in parse(breakpoint.number)]


def is_on(breakpoint: gdb.Breakpoint, place: Location) -> bool:
    """By now: a guard that gives way leaves its place to gdb."""
    return bool(breakpoint.locations[place.index - 1].enabled) if LISTS else place.enabled


def are_places_known() -> bool:
    """Which of a breakpoint's locations are on only a command tells before gdb 13."""
    return LISTS or gdb_cli.is_possible()


def decoded(location: str) -> list[int]:
    """The addresses of what follows ``break``; [] where that is not known yet."""
    try:
        return [one.pc for one in gdb.decode_line(location)[1] or ()]
    except gdb.error:
        return []


def leave_to_children(breakpoint: gdb.Breakpoint) -> None:
    """It goes, or is off from now on: a child that waits for gdb to hear of it is to go on without it, too."""
    if process.is_alive() and not process.is_running() and children.waiting():
        for address in {at for at, _ in places(breakpoint) if at}:
            children.take_out(address)


def on_exiting(event: object) -> None:
    """gdb ends, and lets go what it has attached to: as in front of detach. (gdb 12 knows places by a command only.)"""
    for _ in letting_go.living():
        if process.is_remote() or children.waiting():
            addresses = known() | (letting_go.in_table() if is_nothing_to_follow() else set())
            leave_all_to_children(addresses)
            letting_go.take_each_out(addresses)


def is_nothing_to_follow() -> bool:
    """A command that we execute is followed by a breakpoint's own, where gdb ends in the middle of its stop."""
    return not any(one.commands for one in gdb.breakpoints())


def known() -> set[int]:
    """Without a command: the user's and ours; gdb's own are in its table only."""
    of_user = {at for one in gdb.breakpoints() for at, on in places(one) if on and at} if LISTS else set()
    return of_user | own_process.addresses()


def leave_known_to_children() -> None:
    """gdb will not tell before it lets go."""
    if process.is_alive() and not process.is_running():
        leave_all_to_children(known())


def leave_all_to_children(addresses: set[int]) -> None:
    if children.waiting():
        for address in addresses:
            children.take_out(address)

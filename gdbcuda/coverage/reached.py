"""Which functions of a hook library the calls of some logs have reached."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from gdbcuda import api
from gdbcuda.api.functions import suffix_order
from gdbcuda.calls.reader import BEGIN, Event
from gdbcuda.calls.record import Call
from gdbcuda.calls.references import References
from gdbcuda.coverage.hooked import HookFile, family
from gdbcuda.coverage.ways import WAYS, Ways


class FamilyCoverage(NamedTuple):
    name: str
    hooked: int
    reached: int
    calls: int
    past: int


class Coverage:
    """Of all logs that it is fed with. ``calls``: by function, how many came by which way from outside of the hook;
    ``own``: how many it has called itself; ``elsewhere``: by who asked, calls that others have answered;
    ``unentered``: calls that its code has made while no recorded call was in it: the one that went in was not seen;
    ``followed``: functions whose calls are all in some log, None for all of the API's."""

    def __init__(self, hook: HookFile) -> None:
        self.hook = hook
        self.calls: dict[str, Counter[str]] = {}
        self.elsewhere: dict[str, Counter[str]] = {}
        self.own: Counter[str] = Counter()
        self.unentered: Counter[str] = Counter()
        self.handed_out: set[str] = set()
        self.followed: set[str] | None = set()

    def feed(self, events: Iterable[Event], table: api.Table, notes: References) -> Coverage:
        """One log."""
        ways, in_hook = Ways(table, notes), {}  # type: Ways, dict[int, bool]
        for phase, call in events:
            if phase == BEGIN:
                in_hook[call.number] = call.object == self.hook.name
                self.count(call, ways, in_hook.get(-1 if call.parent is None else call.parent, False))
            else:
                in_hook.pop(call.number, None)
                self.handed_out.update(ways.handed_out(call, self.hook.name))
        self.follow(notes)
        return self

    def follow(self, notes: References) -> None:
        if not notes.recorded:
            self.followed = None
        elif self.followed is not None:
            self.followed.update(*notes.recorded.values())

    def count(self, call: Call, ways: Ways, is_inside: bool) -> None:
        ways.learn(call)
        caller = ways.caller(call)
        is_own = is_inside or os.path.basename(caller) == self.hook.name
        if call.object == self.hook.name:
            if is_own:
                self.own[call.name] += 1
            else:
                self.calls.setdefault(call.name, Counter())[ways.way(call)] += 1
        elif is_own and not is_inside:
            self.unentered[call.name] += 1
        elif not is_own and os.path.basename(caller) != call.object:
            self.elsewhere.setdefault(call.name, Counter())[os.path.basename(caller)] += 1

    @property
    def hooked(self) -> set[str]:
        """What it exports, and what has been handed out besides."""
        return {*self.hook.entries, *self.calls, *self.own, *self.handed_out}

    @property
    def past(self) -> dict[str, Counter[str]]:
        """What of it is hooked is known at the end: it may be handed out after others have answered for it."""
        hooked = self.hooked
        return {name: who for name, who in self.elsewhere.items() if name in hooked}

    @property
    def never(self) -> list[str]:
        return sorted(self.hooked - self.calls.keys() - self.unknown, key=suffix_order)

    @property
    def unknown(self) -> set[str]:
        """Those of which no call is in a log that has all of them."""
        return set() if self.followed is None else self.hooked - self.calls.keys() - self.followed

    def count_of(self, symbol: str) -> int:
        return sum(self.calls.get(symbol, {}).values())

    def ways(self, symbols: Iterable[str]) -> dict[str, int]:
        """Those that there are, in the same order."""
        found: Counter[str] = Counter()
        for symbol in symbols:
            found.update(self.calls.get(symbol, {}))
        return {way: found[way] for way in WAYS if found[way]}

    def families(self) -> list[FamilyCoverage]:
        """Those of which something was called first, with most calls."""
        members: dict[str, list[str]] = {}
        past = {name: sum(who.values()) for name, who in self.past.items()}
        for symbol in self.hooked:
            members.setdefault(family(symbol), []).append(symbol)
        made = [self.of_family(name, some, past) for name, some in members.items()]
        return sorted(made, key=lambda one: (-one.calls - one.past, one.name))

    def of_family(self, name: str, symbols: list[str], past: Mapping[str, int]) -> FamilyCoverage:
        reached = [symbol for symbol in symbols if symbol in self.calls]
        went = sum(past.get(symbol, 0) for symbol in symbols)
        return FamilyCoverage(name, len(symbols), len(reached), sum(map(self.count_of, reached)), went)

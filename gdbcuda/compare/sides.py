"""One run of two: its calls by process and thread, and which of them the program has made."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator

from gdbcuda import api
from gdbcuda.calls.reader import BEGIN, Event
from gdbcuda.calls.record import Call
from gdbcuda.calls.references import Process, References
from gdbcuda.calls.text import CallWriter
from gdbcuda.data_classes import dataclass, field


class ComparedCall:
    """``is_hooks``: the hook library has answered it. ``of_program``: the program asked, or the runtime for it; others
    are the hook library's own, which is the ``owner``, else ""."""

    __slots__ = ("call", "children", "is_hooks", "of_program", "owner", "parent")

    def __init__(self, call: Call, parent: ComparedCall | None, is_hooks: bool, owner: str) -> None:
        self.call, self.parent, self.is_hooks, self.owner = call, parent, is_hooks, owner
        self.children: list[ComparedCall] = []
        if parent is not None:
            parent.children.append(self)
        self.of_program = not owner and (parent is None or (not parent.is_hooks and parent.goes_on))

    @property
    def goes_on(self) -> bool:
        """What it calls, the program has asked for: it is the program's call, or the same one passed on."""
        outer = self.parent
        return self.of_program or (outer is not None and outer.of_program and outer.call.base == self.call.base)

    @property
    def name(self) -> str:
        return self.call.name

    @property
    def is_of_nobody(self) -> bool:
        """Made by the hook library, in no call that is known: a function of its without a name of the API may have been
        called by the program."""
        return bool(self.owner) and not self.is_hooks and (self.parent is None or self.parent.goes_on)

    @property
    def calls_of_others(self) -> Iterator[ComparedCall]:
        """Of other libraries, by the hook library in this call."""
        for one in self.children:
            if one.is_hooks:
                yield from one.calls_of_others
            else:
                yield one


@dataclass
class ComparedThread:
    """Calls in the order of their begins."""

    lwp: int
    calls: list[ComparedCall] = field(default_factory=list)

    def profile(self) -> Counter[str]:
        return Counter(one.name for one in self.calls if one.of_program)


@dataclass
class ComparedProcess:
    """Threads in the order in which they were made, as far as their numbers tell."""

    key: Process
    by_lwp: dict[int, ComparedThread] = field(default_factory=dict)

    @property
    def threads(self) -> list[ComparedThread]:
        return [self.by_lwp[lwp] for lwp in sorted(self.by_lwp)]

    def profile(self) -> Counter[str]:
        return sum((one.profile() for one in self.threads), Counter())

    def calls(self) -> Iterator[ComparedCall]:
        for thread in self.threads:
            yield from thread.calls


class RunSide:
    """``hooks``: the names of the hook libraries' files."""

    def __init__(self, hooks: Iterable[str], table: api.Table, notes: References, writer: CallWriter) -> None:
        self.table, self.notes, self.writer = table, notes, writer
        self.hooks = frozenset(map(os.path.basename, hooks))
        self.by_key: dict[Process, ComparedProcess] = {}

    def feed(self, events: Iterable[Event]) -> RunSide:
        """Until then calls have neither ends nor out-values."""
        seen: dict[int, ComparedCall] = {}
        for phase, call in events:
            if phase != BEGIN:
                seen.pop(call.number, None)
                continue
            parent = None if call.parent is None else seen.get(call.parent)
            one = ComparedCall(call, parent, call.object in self.hooks, self.owner(call))
            seen[call.number] = one
            process = self.by_key.setdefault(call.process, ComparedProcess(call.process))
            process.by_lwp.setdefault(call.lwp, ComparedThread(call.lwp)).calls.append(one)
        return self

    def owner(self, call: Call) -> str:
        """The hook library whose own code has called, else ""."""
        caller = os.path.basename(self.notes.place(call.process, call.caller).get("object") or "")
        return caller if caller in self.hooks else ""

    @property
    def processes(self) -> list[ComparedProcess]:
        """In the order of their first calls."""
        return list(self.by_key.values())

    @property
    def reached(self) -> frozenset[str]:
        """The hook libraries that a call of the program has got to."""
        calls = [one for process in self.processes for one in process.calls() if one.of_program]
        return frozenset([*(one.call.object for one in calls if one.is_hooks), *(one.owner for one in calls)])

    @property
    def pids(self) -> frozenset[int]:
        return frozenset(pid for _, pid in self.by_key)

    def count(self) -> int:
        """Calls of the program."""
        return sum(one.of_program for process in self.processes for one in process.calls())

"""Who waits for which lock, and who has it: what is shown and written as data; and who waits for whom in a circle."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from gdbcuda.data_classes import dataclass, field
from gdbcuda.locks.recognised import JOIN, Lock
from gdbcuda.text.printable import visible_in_colour, visible_without_colour
from gdbcuda.text.sentences import ranges


@dataclass(frozen=True)
class StandingPlace:
    """A frame of a thread. ``where``: "hook libvgpu.so add_chunk() at a.c:52"; ``frame``: gdb's number of it."""

    where: str = ""
    frame: int = -1

    def text(self) -> str:
        return f"{self.where}, frame {self.frame}" if self.frame > 0 else self.where


@dataclass(frozen=True)
class Holder:
    """``thread``: gdb's number of it, "" where gdb has it not; ``state``: "alive", "dead" or "unknown".
    ``doing``: "in clock_nanosleep"; ``hint``: what to type to see more of it."""

    number: int
    label: str
    thread: str = ""
    state: str = "alive"
    spot: StandingPlace = field(default_factory=StandingPlace)
    doing: str = ""
    hint: str = ""
    waits: WaitElsewhere | None = None  # of one in another process

    @property
    def name(self) -> str:
        return f"thread {self.thread}" if self.thread else self.label.partition(",")[0]

    def text(self) -> str:
        waits = f"which waits for the {self.waits.lock}, held by {self.waits.holder.name}" if self.waits else ""
        return ", ".join(filter(None, [self.label, self.spot.text(), waits or self.doing, self.hint]))

    def data(self) -> dict[str, Any]:
        return {"number": self.number, "thread": self.thread or None, "state": self.state, "who": self.label,
                "where": plain(self.spot.where), "doing": self.doing or None,
                "waits_for": self.waits.data() if self.waits else None}  # fmt: skip


@dataclass(frozen=True)
class WaitElsewhere:
    """What a thread of another process waits for. ``lock``: "mutex at 0x7f00c0de in /tmp/region+0x8"."""

    lock: str
    holder: Holder

    def data(self) -> dict[str, Any]:
        return {"lock": self.lock, "held_by": self.holder.data()}


@dataclass
class LockState:
    """``name``: of the lock, with its file; ``remarks``: what follows from the lock and who has it."""

    lock: Lock
    name: str
    holders: list[Holder] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)

    def lock_text(self) -> str:
        traits = f" ({', '.join(self.lock.traits)})" if self.lock.traits else ""
        return f"{self.short()}{traits}"

    def short(self) -> str:
        return f"end of {self.name}" if self.lock.kind == JOIN else f"{self.lock.kind} {self.name}"

    def below(self) -> list[str]:
        verb = "where    " if self.lock.kind == JOIN else "held by  "
        return [*(f"  {verb}{holder.text()}" for holder in self.holders), *(f"  {one}" for one in self.remarks)]

    def text(self) -> str:
        return visible_lines("\n".join([f"The {self.lock_text()}", *self.below()]))

    def data(self) -> dict[str, Any]:
        lock = {"kind": self.lock.kind, "address": self.lock.address, "name": self.name,
                "traits": [*self.lock.traits], "owner": self.lock.owner or None}  # fmt: skip
        return {"lock": lock, "held_by": [one.data() for one in self.holders], "remarks": self.remarks}


@dataclass
class WaitingThread(LockState):
    """``thread``: gdb's number; ``number``: the kernel's."""

    thread: int = 0
    number: int = 0
    spot: StandingPlace = field(default_factory=StandingPlace)
    call: str = ""
    is_any: bool = False  # one of several that it waits for at once: it is in no circle

    def same(self) -> tuple[object, ...]:
        """Threads of which this is equal are shown together."""
        return self.lock, self.name, self.spot, self.call, tuple(self.holders), tuple(self.remarks)


class CircleStep(NamedTuple):
    """Who waits for which lock, and for whom therefore. ``thread``: gdb's number, 0 in another process."""

    name: str
    lock: str
    after: tuple[int, ...]  # the kernel's numbers
    thread: int = 0
    itself: str = ""  # the lock as it is told where nobody else is in the circle


def circles(waiting: Sequence[WaitingThread]) -> Iterator[list[CircleStep]]:
    """Each circle of threads that wait for one another once; a thread that waits for itself is one. It may lead over
    other processes."""
    known, seen = steps(waiting), set()
    for start in [one.number for one in waiting if one.number in known]:
        path = way_back(start, {number: step.after for number, step in known.items()})
        if path and frozenset(path) not in seen:
            seen.add(frozenset(path))
            yield [known[number] for number in path]


def steps(waiting: Sequence[WaitingThread]) -> dict[int, CircleStep]:
    found: dict[int, CircleStep] = {}
    for one in waiting:
        if one.is_any:
            continue
        after = [who.number for who in one.holders if who.thread or who.waits]
        found[one.number] = CircleStep(f"thread {one.thread}", one.short(), tuple(after), one.thread, one.lock_text())
        for who in one.holders:
            found.update(steps_elsewhere(who))
    return found


def steps_elsewhere(who: Holder) -> Iterator[tuple[int, CircleStep]]:
    while who.waits is not None:
        yield who.number, CircleStep(who.name, who.waits.lock, (who.waits.holder.number,))
        who = who.waits.holder


def way_back(start: int, after: Mapping[int, Iterable[int]]) -> list[int]:
    """The shortest way from a number over others to itself, [] where there is none."""
    ways, been = [[start]], {start}
    while ways:
        way = ways.pop(0)
        for following in after.get(way[-1], ()):
            if following == start:
                return way
            if following not in been and following in after:
                been.add(following)
                ways.append([*way, following])
    return []


def text(waiting: Sequence[WaitingThread]) -> str:
    blocks = ["\n".join([deadlock(circle) for circle in circles(waiting)])]
    groups: dict[tuple[object, ...], list[WaitingThread]] = {}
    for one in waiting:
        groups.setdefault(one.same(), []).append(one)
    blocks += ["\n".join(lines(group)) for group in groups.values()]
    return visible_lines("\n".join(filter(None, blocks)))


def visible_lines(shown: str) -> str:
    return "\n".join(map(visible_in_colour, shown.split("\n")))


def plain(where: str) -> str | None:
    return visible_without_colour(where) or None


def deadlock(circle: Sequence[CircleStep]) -> str:
    if len(circle) == 1:
        return f"Deadlock: {circle[0].name} waits for the {circle[0].itself}, which it has locked itself"
    following = [*circle[1:], circle[0]]
    told = [f"{one.name} waits for {other.name} ({one.lock})" for one, other in zip(circle, following)]
    return f"Deadlock: {', '.join(told)}"


def lines(group: Sequence[WaitingThread]) -> list[str]:
    one, numbers = group[0], [each.thread for each in group]
    who = f"Thread {numbers[0]} waits" if len(group) == 1 else f"Threads {ranges(numbers)} wait"
    return [f"{who} for the {one.lock_text()}", f"  in       {one.spot.text() or one.call}", *one.below()]


def data(waiting: Sequence[WaitingThread]) -> dict[str, Any]:
    return {"waiting": [as_data(one) for one in waiting],
            "deadlocks": [[one.thread or one.name for one in circle] for circle in circles(waiting)]}  # fmt: skip


def as_data(one: WaitingThread) -> dict[str, Any]:
    return {"thread": one.thread, "number": one.number, "call": one.call, "where": plain(one.spot.where),
            "frame": one.spot.frame, **one.data()}  # fmt: skip

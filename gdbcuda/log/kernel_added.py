"""What a hook library adds to the system calls of a program: two runs, with it and without, function by function as the
program calls it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from gdbcuda.calls.record import Call
from gdbcuda.calls.text import duration
from gdbcuda.data_classes import dataclass
from gdbcuda.log.source import LogSource
from gdbcuda.log.views.kernel import KERNEL, OUTSIDE, Joined, JoinedPart, is_ioctl
from gdbcuda.text import render

APP = "app"
TITLES = ("function", "calls", "without", "system calls a call", "without", "ioctls a call", "without",
          "in the kernel a call", "without")  # fmt: skip


@dataclass
class KernelShare:
    """By one function, with all that is below its calls; ``seconds`` in the kernel."""

    calls: int = 0
    system_calls: int = 0
    ioctls: int = 0
    seconds: float = 0.0

    def each(self, value: float) -> float | None:
        """A call; None where there is none."""
        return value / self.calls if self.calls else None


class Added(NamedTuple):
    function: str
    calls: int
    calls_without: int
    system_calls: float | None
    system_calls_without: float | None
    ioctls: float | None
    ioctls_without: float | None
    seconds: float | None
    seconds_without: float | None


def joined_of(sources: Iterable[LogSource], is_whole: bool) -> Joined:
    return Joined([JoinedPart(one.log, one.events(), one.file.header) for one in sources], is_whole)


def by_function(joined: Joined) -> Mapping[str, KernelShare]:
    """Of calls that the program makes; what no call is around is one."""
    found: dict[str, KernelShare] = {OUTSIDE: KernelShare(1)}
    outermost: dict[int, str] = {}  # by the number of a call
    for call in joined.calls:  # outer ones come first
        around = outermost.get(call.parent, OUTSIDE) if call.parent is not None else OUTSIDE
        if call.layer == KERNEL:
            note(found[around], call)
            continue
        name = call.name if around == OUTSIDE and call.layer != APP else around
        outermost[call.number] = name
        found.setdefault(name, KernelShare()).calls += around == OUTSIDE != name
    return found


def note(asked: KernelShare, call: Call) -> None:
    asked.system_calls += 1
    asked.ioctls += is_ioctl(call)
    asked.seconds += call.seconds or 0.0


def rows(joined: Joined, without: Iterable[str]) -> list[Added]:
    """What is added most comes first. ``without``: the logs of the other run."""
    other = joined_of(map(LogSource, without), is_whole=False)
    here, there, nothing = by_function(joined), by_function(other), KernelShare()
    found = [of_function(name, here.get(name, nothing), there.get(name, nothing)) for name in {**here, **there}]
    some = (one for one in found if one.system_calls or one.system_calls_without)
    return sorted(some, key=lambda one: (one.function == OUTSIDE, -difference(one) * one.calls, one.function))


def of_function(name: str, here: KernelShare, there: KernelShare) -> Added:
    pairs = ((one.each(value) for one, value in ((here, getattr(here, key)), (there, getattr(there, key))))
             for key in ("system_calls", "ioctls", "seconds"))  # fmt: skip
    return Added(name, here.calls, there.calls, *(value for pair in pairs for value in pair))


def difference(one: Added) -> float:
    return (one.system_calls or 0.0) - (one.system_calls_without or 0.0)


def text(found: Iterable[Added]) -> str:
    table = render.table([[*shown(one)] for one in found], TITLES)
    return "What each call of the program costs, and what it costs without the hook library:\n\n" + table


def shown(one: Added) -> Iterator[Any]:
    yield one.function
    is_outside = one.function == OUTSIDE
    yield from ("", "") if is_outside else (one.calls or "", one.calls_without or "")
    for value in (one.system_calls, one.system_calls_without, one.ioctls, one.ioctls_without):
        yield "" if value is None else f"{value:.3g}"
    for value in (one.seconds, one.seconds_without):
        yield "" if value is None else duration(value)

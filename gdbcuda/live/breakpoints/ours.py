"""One object for each breakpoint that we know something of, and the one table of them: what gdb does not keep.

One of cuda-break or cuda-dlsym break has a wish; of any other there are its hits, whether gdb has switched it off, and
what $_cuda_count and $_cuda_returns have noted for it. When gdb deletes a breakpoint, by whosever will, `on_deleted`
drops all that there is, and tells those who share something among several: guards and open calls (`ON_GONE`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Callable, NamedTuple

import gdb

from gdbcuda.live.breakpoints import locations
from gdbcuda.live.host.inferiors import PerInferior
from gdbcuda.live.placing import letting_go, own_process
from gdbcuda.live.prompt import safely

if TYPE_CHECKING:
    from gdbcuda import api
    from gdbcuda.faults.fault_plan import FaultPlan
    from gdbcuda.live.frames.frames import FrameCall
    from gdbcuda.machine.trampoline import Test  # a session without guards does not wait for it


OF_FUNCTIONS = ("cuda-break ", "cuda-fail ", "cuda-delay ", "cuda-set ")


class BreakWish:
    """What the user asked of a breakpoint; gdb's own breakpoint carries number, condition and hit count. ``words``: the
    command that asks for it."""

    def __init__(
        self, function: str, places: tuple[str, ...] = (), defined_in_hook: bool = False, words: str = ""
    ) -> None:
        self.function = function
        self.places = places  # layers or libraries; () is "the hook's, else the outermost"
        self.defined_in_hook = defined_in_hook  # known from the file, before it is loaded
        self.words = words
        self.native = ""  # the condition that we have given it
        # by inferior and address, which places are on as far as we know: what is otherwise, the user has switched
        self.seen: dict[int, dict[int, bool]] = {}
        self.by_user: dict[tuple[str, str, bool], bool] = {}  # by file, function, and whether it is a part of it

    def is_of_hook(self) -> bool:
        """A hook library that answers for the function is meant too; not where a vendor's layer is asked for."""
        return self.is_of_api() and not {*self.places} & {"driver", "runtime", "app", "system"}

    def is_of_api(self) -> bool:
        """The loader's resolvers are not: those are found by name."""
        is_of_resolver = self.words.startswith("cuda-dlsym break ") and self.function.startswith("cu")
        return is_of_resolver or self.words.startswith(OF_FUNCTIONS)


class AwaitedFailures(NamedTuple):
    """Of calls of ``function``, where breakpoint ``number`` waits for them. ``is_meant``: what the process could not
    tell of a call, as who calls where that is Python."""

    number: int
    function: api.Function
    is_meant: Callable[[FrameCall], bool]


class InjectedFault(NamedTuple):
    """What breakpoint ``number`` does to calls of ``function``: it never stops."""

    number: int
    function: api.Function
    plan: FaultPlan


class GuardFilter(NamedTuple):
    """What it lets through, as tests in machine code: says the same as the condition that we have given it."""

    terms: Sequence[Callable[[], Test]]  # all have to hold; `NoDetour` where the machine cannot test one
    native: str = ""  # the condition that says the same in gdb
    counts_calls: bool = False  # those that do not match too
    is_counting: bool = False  # nth, every, after: a call must be tested once
    names_callers: bool = False  # caller in: exact for the objects that are loaded now
    asks_kernel: bool = False  # whether a pointer leads to memory
    threads: frozenset[int] = frozenset()  # the numbers that it names
    asks_gdb: str = ""  # why gdbserver cannot evaluate the user's condition by itself
    failing: AwaitedFailures | None = None  # the other calls do not matter
    fault: InjectedFault | None = None


class WantedGuards:
    """Of one breakpoint in one process. ``stops``: by function, where it wants a guard, the address of its location;
    ``seen_before``: how many calls the function had seen when the breakpoint came; ``why``: it has no guard;
    ``results``: why gdb has to look at what the calls return. To be looked at again: ``is_stale`` at once,
    ``is_waiting`` as it was not the moment, ``is_roomless`` as there was no room."""

    def __init__(self) -> None:
        self.stops: dict[int, int] = {}
        self.seen_before: dict[int, int] = {}
        self.why = self.results = ""
        self.is_stale = True
        self.is_waiting = False
        self.is_roomless = False


class CallCount:
    """``number`` of calls that its condition has let through; while ``address`` is set the process itself counts in the
    8 bytes there. ``word``: those that it may count in. ``asked_last``: by thread, gdb's stop and the registers of the
    call that the condition was asked about last."""

    def __init__(self) -> None:
        self.number = 0
        self.address: int | None = None
        self.word: int | None = None
        self.asked_last: dict[int, tuple[int, ...]] = {}


class InjectedCount:
    """How often the fault was injected; ``word``: where the process counts."""

    def __init__(self) -> None:
        self.number = 0
        self.word: int | None = None


class InProcess:
    """What there is of a breakpoint in one process, and goes with it. ``sites``: where the calls that it waits for
    return; ``answering``: its own breakpoints on code that answers for the function, by the address of the code."""

    def __init__(self) -> None:
        self.count = CallCount()
        self.guards = WantedGuards()
        self.injected = InjectedCount()
        self.sites: set[int] = set()
        self.answering: dict[int, gdb.Breakpoint] = {}

    def end(self) -> None:
        for one in self.answering.values():
            if one.is_valid():
                one.delete()


class InEndedProcess:
    """What is still told of a breakpoint when its process has ended, until the next one begins. ``calls_seen``: as
    guards have counted, None where there was none; ``injected``: the fault, as often;
    ``by_gdb``: why gdb has injected some."""

    def __init__(self) -> None:
        self.calls_seen: int | None = None
        self.injected = 0
        self.by_gdb = ""


class OurBreakpoint:
    """``wish`` and ``filter`` are None of one that the user has made with gdb's own commands. ``hits``: as many as gdb
    had counted when it last stopped; ``counted``: as many as it has; ``hit_at``: where it counted the last one.
    ``when_modified``: whether it was enabled, and its hits, when that last changed, as `switched_off` has seen it."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.wish: BreakWish | None = None
        self.filter: GuardFilter | None = None
        self.hits = self.counted = 0
        self.hit_at: tuple[int, ...] = ()
        self.when_modified: tuple[bool, int] | None = None
        self.is_off_by_gdb = False
        self.here: PerInferior[InProcess] = PerInferior(InProcess, InProcess.end)
        self.ended: PerInferior[InEndedProcess] = PerInferior(InEndedProcess, kept=True)


_known: dict[int, OurBreakpoint] = {}
ON_GONE: list[Callable[[OurBreakpoint], None]] = []  # for those that keep what several breakpoints share


def of(number: int) -> OurBreakpoint:
    if number not in _known:
        _known[number] = OurBreakpoint(number)
    return _known[number]


def find(number: int) -> OurBreakpoint | None:
    return _known.get(number)


def wish_of(number: int) -> BreakWish | None:
    one = _known.get(number)
    return one.wish if one is not None else None


def everyone() -> list[OurBreakpoint]:
    return list(_known.values())


def filter_of(number: int) -> GuardFilter | None:
    one = _known.get(number)
    return one.filter if one is not None else None


def filters(numbers: Iterable[int]) -> list[GuardFilter]:
    return [found for found in map(filter_of, numbers) if found is not None]


def filtered() -> list[OurBreakpoint]:
    """Those that want guards."""
    return [one for one in _known.values() if one.filter is not None]


def is_any_filtered() -> bool:
    return any(one.filter is not None for one in _known.values())


def wish(number: int) -> BreakWish:
    """Of one that has one."""
    found = wish_of(number)
    assert found is not None, f"breakpoint {number} is not of cuda-break"
    return found


def on_deleted(breakpoint: gdb.Breakpoint) -> None:
    gone = _known.pop(breakpoint.number, None)
    if gone is None:
        return
    locations.leave_to_children(breakpoint)
    for tell in ON_GONE:
        safely.contained(tell)(gone)
    gone.here.close()
    gone.ended.close()


def on_modified(breakpoint: gdb.Breakpoint) -> None:
    if not breakpoint.enabled and breakpoint.number in _known:
        locations.leave_to_children(breakpoint)


def on_stop(event: object) -> None:
    """(Where nothing is ours gdb stays gdb.)"""
    is_any_ours = own_process.addresses() or any(one.wish for one in _known.values())
    if is_any_ours and letting_go.may_leave_children():
        locations.leave_known_to_children()

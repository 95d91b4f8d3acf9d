"""State that belongs to one process of several: each inferior has its own, and it goes with its process.

Use it for whatever is true of one process only: addresses, open calls, threads' stacks, breakpoints at bare addresses,
what has been said already. Not for the user's wishes (which hook library, what to record): those hold for all.

    calls: PerInferior[dict[int, Call]] = PerInferior(dict)
    calls()[thread] = call        # of the selected inferior: in a command, in ``Breakpoint.stop``, at a stop
    calls.of(event.inferior)      # of another one: in events, where any inferior may be selected
    for state in calls.all(): …   # of all that have any

A process has ended, or begun in the place of another (run, attach, exec), or its inferior is removed: then ``end`` gets
the state that goes, say to delete breakpoints. With ``kept`` the state can still be looked at when the process has
ended, until the next one begins. (gdb manual: "Inferiors Connections and Programs", "Events In Python".)
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any, Callable, Generic, TypeVar

import gdb

T = TypeVar("T")
MOST_TRIES = 5
_all: list[PerInferior[Any]] = []  # in the order in which they were made
_processes: dict[int, int] = {}  # inferior number -> pid
_forked: set[int] = set()  # pids
_have_objects: set[int] = set()  # numbers of those whose process has shown its first object to gdb


class PerInferior(Generic[T]):
    def __init__(self, make: Callable[[], T], end: Callable[[T], None] | None = None, kept: bool = False) -> None:
        self._make, self._end, self._kept = make, end, kept
        self._states: dict[int, T] = {}
        _all.append(self)

    def __call__(self) -> T:
        return self.of(gdb.selected_inferior())

    def of(self, inferior: gdb.Inferior) -> T:
        number = inferior.num
        if number not in self._states:
            self._states[number] = self._make()
        return self._states[number]

    def has(self, inferior: gdb.Inferior) -> bool:
        return inferior.num in self._states

    def all(self) -> list[T]:
        return list(self._states.values())

    def close(self) -> None:
        """All of it goes, and it is not used any more."""
        _all.remove(self)
        for number in list(self._states):
            self.forget(number)

    def forget(self, number: int) -> None:
        state = self._states.pop(number, None)
        if state is not None and self._end is not None:
            self._end(state)


def forget_ended(number: int) -> None:
    """The inferior's process is no more."""
    for one in tuple(_all):
        if not one._kept:
            one.forget(number)


def forget_all(number: int) -> None:
    """Another process is in the inferior, or the inferior is removed."""
    for one in tuple(_all):
        one.forget(number)


# -- processes ------------------------------------------------------------------------------------------------


def added(event: gdb.NewInferiorEvent) -> None:
    """The child of a fork has its process from the beginning; what add-inferior makes has none."""
    if event.inferior.pid:
        _forked.add(event.inferior.pid)


def is_forked(inferior: gdb.Inferior) -> bool:
    return inferior.pid in _forked


def begin_process(inferior: gdb.Inferior) -> bool:
    """False if it is the process that the inferior had before."""
    is_new = not inferior.pid or _processes.get(inferior.num) != inferior.pid
    _processes[inferior.num] = inferior.pid
    if is_new:
        _have_objects.discard(inferior.num)
    return is_new


def end_process(inferior: gdb.Inferior) -> None:
    _processes.pop(inferior.num, None)
    _have_objects.discard(inferior.num)


def on_objfile(event: gdb.NewObjFileEvent) -> None:
    _have_objects.update(one.num for one in in_space(event.new_objfile.progspace) if one.pid)


def have_executed(space: gdb.Progspace) -> list[gdb.Inferior]:
    """The processes that are another program's now, when gdb takes the symbols of that space away. At an attach it does
    so too, before it has any, and when it follows a fork: then there is an inferior whose process has not begun yet. So
    it does where a child by vfork has ended without a program: then no thread is selected."""
    if selected_thread() is None or any(one.pid and one.num not in _processes for one in gdb.inferiors()):
        return []
    mine = [one for one in in_space(space) if one.pid and _processes.get(one.num) == one.pid]
    found = [one for one in mine if one.num in _have_objects]
    _forked.difference_update(one.pid for one in found)
    return found


def in_space(space: gdb.Progspace | None) -> list[gdb.Inferior]:
    """The inferiors of a program space. After vfork there are two, until the child's exec. None is the space of an
    objfile that is gone: it has none."""
    return [one for one in gdb.inferiors() if one.progspace == space]


def numbered(number: int) -> gdb.Inferior | None:
    return next((one for one in gdb.inferiors() if one.num == number), None)


def are_several() -> bool:
    """Then gdb numbers threads 1.1, 2.1 and so on."""
    found = gdb.inferiors()
    return len(found) > 1 or found[0].num != 1


def label() -> str:
    """ "this process", where there are several "process 4711 (inferior 2)": the selected one."""
    one = gdb.selected_inferior()
    return f"process {one.pid} (inferior {one.num})" if are_several() else "this process"


def thread_label(number: int) -> str:
    """As gdb writes the number of a thread of the selected inferior."""
    return f"{gdb.selected_inferior().num}.{number}" if are_several() else str(number)


def of_event(event: gdb.ThreadEvent) -> gdb.Inferior:
    """The one whose thread the event is about. (gdb 10 gives the inferior itself.)"""
    given: Any = event.inferior_thread
    found: gdb.Inferior = getattr(given, "inferior", given)
    return found


def new_thread(event: gdb.ThreadEvent) -> gdb.InferiorThread:
    """The one that a new_thread event tells of. `threads` would ask the far end of a link: where the thread forks, the
    child is in its list already, and gdb, which is about to hear of the fork, would take it for a process of its own.
    (gdb's python/py-inferior.c: infpy_threads; gdb 10 gives the inferior.)"""
    given: Any = event.inferior_thread
    is_thread = isinstance(given, gdb.InferiorThread)
    return given if is_thread else max(threads(given), key=lambda one: int(one.num))


def threads(inferior: gdb.Inferior | None = None) -> tuple[gdb.InferiorThread, ...]:
    """Of the selected one, else. (gdb 13 fails where a thread that it does not know to be gone is among them.)"""
    for _ in range(MOST_TRIES):
        with contextlib.suppress(SystemError):
            return tuple((inferior or gdb.selected_inferior()).threads())
    return ()


def has_one_thread() -> bool:
    return len(threads()) == 1


def selected_thread() -> gdb.InferiorThread | None:
    """(gdb fails where the selected one is of a dying process and it has made no object for it: there is none then.)"""
    with contextlib.suppress(SystemError):
        return gdb.selected_thread()
    return None


@contextlib.contextmanager
def selected(inferior: gdb.Inferior) -> Iterator[None]:
    """Looks at that inferior for a while, silently. One without a process cannot be looked at: nothing changes."""
    if inferior.num == gdb.selected_inferior().num:  # asking for its threads would be a packet
        yield
        return
    others = threads(inferior)
    before = selected_thread() or next(iter(threads()), None)  # none yet at a start
    if not others or before is None:
        yield
        return
    frame = selected_frame()
    others[0].switch()
    try:
        yield
    finally:
        before.switch()
        if frame is not None and frame.is_valid():
            frame.select()


def selected_frame() -> gdb.Frame | None:
    try:
        return gdb.selected_frame()
    except gdb.error:  # the thread runs
        return None

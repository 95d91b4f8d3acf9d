"""Ctrl-C while a handler of ours runs is gdb's: the handler comes to its end, and gdb gets it then.

The same holds for ``stop()`` of a breakpoint: half of it done, a call would not be in the log.

gdb hands a Ctrl-C over to Python whenever Python is entered, also one that came before. Python would raise
KeyboardInterrupt at the handler's first instruction, and gdb drops what an event's handler raises: the Ctrl-C would be
lost, and the handler not done. So Python's handler of SIGINT is ours (the process's stays gdb's), and puts one off.
One that comes later would be taken by the next function of gdb's that looks for it, and that is no handler of Python's:
until the handlers are done, the signal waits outside of the process.

One that comes while a module of ours loads would leave half a module for the rest of the session, for those that load
when they are first used (`lazily`) are loaded once; in a ``__del__`` Python would drop it, and say so with a traceback.
It is raised where that is over: in the code that was waiting for it, by a trace function. (sys.settrace, frame.f_trace)

Where it comes while we are loaded, or Python or gdb ends, it is dropped: Python would say so with a traceback. gdb
gives Python a SIGTERM as one, and ends itself then.
"""

from __future__ import annotations

import _thread
import atexit
import faulthandler
import signal
import sys
from collections.abc import Iterable, Iterator, MutableMapping
from types import CodeType, FrameType
from typing import Any, Callable, TypeVar

T = TypeVar("T")
K = TypeVar("K")
STDERR = 2
ENDING_SIGNALS = (signal.SIGINT, signal.SIGTERM)
OURS = frozenset(("gdbcuda",))
ENDING = frozenset(("threading",))
IMPORTING = frozenset(("importlib", "_frozen_importlib", "_frozen_importlib_external", "gdbcuda.live.host.lazily"))
_putting_off: set[CodeType] = set()
_put_off: list[int] = []
_outermost: list[Callable[..., Any]] = []  # that is uninterrupted now: others are called within it


def listen() -> None:
    """faulthandler is what puts the process's handler back: what signal.signal replaces it does not say."""
    before = signal.getsignal(signal.SIGINT)
    ending: list[bool] = []

    def interrupted(number: int, frame: FrameType | None) -> None:
        if ending or is_end_of_python(frame) or (frame is not None and frame.f_code is end.__code__):
            return  # SIGTERM at a prompt is heard of by the first line of Python behind it
        there = interruptible(frame)
        if is_in_event(frame) and not _put_off:
            _put_off.append(number)
        elif not callable(before):
            return
        elif there is frame or there is None:
            before(number, frame)
        else:
            call_in(there, before, number)

    def end() -> None:
        """From here on files are written out, modules taken apart; Python tells of signals that nobody heeds."""
        ending.append(True)
        signal.pthread_sigmask(signal.SIG_BLOCK, ENDING_SIGNALS)

    atexit.register(end)
    faulthandler.register(signal.SIGINT, file=STDERR)
    signal.signal(signal.SIGINT, interrupted)
    faulthandler.unregister(signal.SIGINT)


def unheard(function: Callable[..., None]) -> Callable[..., None]:
    """While we are loaded a Ctrl-C would leave half of it, and a traceback. (SIGTERM ends gdb later all the same.) As
    gdb ends nobody waits for it: gdb 13 would pass it on to the program, or let that go with its breakpoints."""

    def whole(*arguments: Any) -> None:
        before = signal.pthread_sigmask(signal.SIG_BLOCK, ENDING_SIGNALS)
        try:
            function(*arguments)
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
            _put_off.clear()

    _putting_off.add(whole.__code__)
    return whole


def is_in_event(frame: FrameType | None) -> bool:
    while frame is not None:
        if frame.f_code in _putting_off:
            return True
        frame = frame.f_back
    return False


def is_end_of_python(frame: FrameType | None) -> bool:
    """It waits for threads: nobody is there any more to take it."""
    while frame is not None:
        if frame.f_code.co_name == "_shutdown" and is_of(frame, ENDING):
            return True
        frame = frame.f_back
    return False


def interruptible(frame: FrameType | None) -> FrameType | None:
    """It, or its innermost caller that waits for no import and no ``__del__``."""
    found = frame
    while frame is not None:
        caller = frame.f_back
        is_our_import = is_of(frame, IMPORTING) and caller is not None and is_of(caller, OURS)
        if is_our_import or frame.f_code.co_name == "__del__":
            found = caller
        frame = caller
    return found


def is_of(frame: FrameType, modules: frozenset[str]) -> bool:
    name = str(frame.f_globals.get("__name__", ""))
    return name in modules or name.partition(".")[0] in modules


def call_in(frame: FrameType, action: Callable[[int, FrameType], object], number: int) -> None:
    """As soon as the frame goes on."""
    former = sys.gettrace()
    if former is nothing:  # one is waiting already
        return

    def trace(there: FrameType, event: str, value: Any) -> None:
        there.f_trace = None
        sys.settrace(former)
        action(number, there)

    frame.f_trace = trace
    sys.settrace(nothing)


def nothing(frame: FrameType, event: str, value: Any) -> None:
    """Of the frames that begin meanwhile nothing is to be known."""


def is_waiting() -> bool:
    """Is there one that a handler of ours puts off? It may leave what it can do later."""
    return bool(_put_off) or signal.SIGINT in signal.sigpending()


def all_of(handlers: Iterable[Callable[..., None]]) -> Callable[..., None]:
    """One handler for gdb."""

    def heard(*event: Any) -> None:
        for handler in handlers:
            handler(*event)

    return uninterrupted(heard)


def uninterrupted(function: Callable[..., T]) -> Callable[..., T]:
    """Its caller gets the Ctrl-C when the function is done; gdb takes over what is pending when Python returns.

    Python would raise it here if it looked between interrupt_main and the return. It looks behind each call, and in 3.9
    behind most instructions; not behind ``in``."""

    def whole(*arguments: Any) -> T:
        if _outermost:  # the signal waits already
            return function(*arguments)
        before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
        _outermost.append(whole)
        try:
            value = function(*arguments)
        finally:
            _outermost.clear()
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        if not _put_off:
            return value
        _put_off.clear()
        again: Iterator[None] = iter(_thread.interrupt_main, None)
        _is_sent = None in again
        return value

    _putting_off.add(whole.__code__)
    return whole


@uninterrupted
def keep(found: MutableMapping[K, T], key: K, make: Callable[[], T]) -> None:
    """A breakpoint that is made and that nobody knows of would never go."""
    found[key] = make()

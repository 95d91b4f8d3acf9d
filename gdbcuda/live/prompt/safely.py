"""Whatever gdb calls of ours ends with a line for people: gdb would show anything else as "Python Exception".

In a command and in a function the line is their error. Where nobody has typed anything (events, breakpoints that look
on, completion, frames) it is said once for each place, and the session goes on. ``set cuda-debug on``: the traceback.
(gdb manual: "Exception Handling".)
"""

from __future__ import annotations

import functools
from typing import Any, Callable, TypeVar

import gdb

from gdbcuda.errors import Unreadable, UserError
from gdbcuda.live import process
from gdbcuda.live.host import console, interrupts
from gdbcuda.live.threads import children
from gdbcuda.text import error_lines
from gdbcuda.text.printable import visible

T = TypeVar("T")
HOW = "after 'set cuda-debug on' it shows the traceback"
EXPECTED = (UserError, Unreadable, gdb.error)
ANYTHING = (Exception, SystemExit)  # but Ctrl-C, which is gdb's own "Quit" in a command
_told: set[tuple[str, str]] = set()  # who, and where it went wrong


def line(problem: BaseException) -> str:
    if is_debug():
        console.write(error_lines.history(problem))
    if isinstance(problem, gdb.GdbError):
        return visible(str(problem))
    if isinstance(problem, gdb.error):
        return process.pause() if is_running() else plain(problem)
    return error_lines.line(problem, HOW, "cuda-help")


def is_running() -> bool:
    """The selected thread, as far as it can be asked: the connection may be what is lost."""
    try:
        return process.is_thread_running()
    except RuntimeError:
        return False


def error(head: str, problem: BaseException) -> gdb.GdbError:
    """What a command or a function raises: gdb shows its text and no more."""
    return problem if isinstance(problem, gdb.GdbError) else gdb.GdbError(console.folded(head + line(problem)))


def plain(problem: BaseException) -> str:
    """gdb's own error as one line."""
    return visible(" ".join(str(problem).split()).rstrip("."))


def is_debug() -> bool:
    try:
        return bool(gdb.parameter("cuda-debug"))
    except RuntimeError:  # while we are loaded there is no such setting yet
        return False


def told(who: str, problem: BaseException) -> None:
    """Once for each place; nothing that goes wrong while it is said may come in the way of gdb."""
    key = who, f"{type(problem).__name__} {error_lines.place(problem)}"
    if key in _told and not is_debug() and not isinstance(problem, KeyboardInterrupt):
        return
    _told.add(key)
    try:
        console.write(f"gdbcuda: {who} failed: {line(problem)}\n")
    except Exception:  # whatever: `line` and `console` may be what is at fault
        gdb.write(f"gdbcuda: {who} failed: {type(problem).__name__}\n", gdb.STDERR)


def offered(who: str, find: Callable[[], Any]) -> Any:
    """What completion offers: nothing where nothing can be known, as of a program that runs."""
    try:
        return find()
    except ANYTHING as problem:
        if not isinstance(problem, EXPECTED):
            told(f"completion of {who}", problem)
        return []


@functools.cache
def contained(handler: Callable[..., Any]) -> Callable[..., None]:
    """A handler of an event of gdb's that raises nothing: the other handlers, and gdb, go on."""
    who = name_of(handler)

    def safe(*event: Any) -> None:
        try:
            handler(*event)
        except (*ANYTHING, KeyboardInterrupt) as problem:
            told(who, problem)

    return safe


def or_else(otherwise: Callable[[Any], Any]) -> Callable[[Callable[[Any], Any]], Callable[[Any], Any]]:
    """A function that gives what ``otherwise`` gives where it fails. (Ctrl-C ends gdb's command.)"""

    def decorate(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
        who = name_of(function)

        def safe(one: Any) -> Any:
            try:
                return function(one)
            except ANYTHING as problem:
                told(who, problem)
                return otherwise(one)

        return safe

    return decorate


def looking_on(stop: Callable[[T], bool]) -> Callable[[T], bool]:
    """``stop()`` of a breakpoint that does not stop for anything that goes wrong. Ctrl-C waits until it is done."""
    who = name_of(stop)

    def safe(one: T) -> bool:
        try:
            with children.looking():
                return stop(one)
        except ANYTHING as problem:
            told(who, problem)
            return False

    return interrupts.uninterrupted(safe)


def name_of(function: Callable[..., Any]) -> str:
    """ "returns.on_stop", without our package's name."""
    return f"{function.__module__.rpartition('.')[2]}.{function.__qualname__}"

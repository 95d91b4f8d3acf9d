"""gdb's own commands, executed for what they say or do: never inside an event of gdb's.

After every command that Python executes, gdb runs the ``commands`` of the breakpoint that has just stopped. A handler
of the stop event is too early for that: a ``continue`` among them resumes the program before gdb is done with its stop,
and at a terminal gdb never prompts again. So what a handler needs comes from the Python API, or waits for the prompt:
``before_prompt`` comes when those commands have run. (gdb's python.c: execute_gdb_command, bpstat_do_actions.)
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Callable

import gdb

from gdbcuda.live.host import inferiors
from gdbcuda.text.patterns import pattern

LANGUAGE = pattern(r'"(?:auto; currently )?([^"]+)"')  # The current source language is "auto; currently rust".
LIKE_C = frozenset(("c", "c++", "asm", "minimal", "objective-c", "opencl", "unknown"))
_events: list[str] = []  # that are being handled, the outermost first
_waiting: list[Callable[[], None]] = []
_for_us: list[str] = []


def execute(line: str) -> str:
    """What the command has written."""
    refuse_in_event(line)
    _for_us.append(line)
    try:
        return str(gdb.execute(line, to_string=True))
    finally:
        _for_us.pop()


def is_for_us() -> bool:
    """A command that we execute for what it says: nothing is added to that for people."""
    return bool(_for_us)


def execute_aloud(line: str) -> None:
    """What it writes is for the user."""
    refuse_in_event(line)
    gdb.execute(line)


def execute_where_nothing_goes_on(line: str) -> str:
    """No breakpoint's ``commands`` follow: the selected target is a core file, of which nothing can be resumed; or gdb
    holds the thread to be running, while a condition is asked or a fork has made an inferior."""
    return str(gdb.execute(line, to_string=True))


def is_nested() -> bool:
    """The event comes of what a handler of another one does."""
    return len(_events) > 1


def refuse_in_event(line: str) -> None:
    if not is_possible():
        raise RuntimeError(f"gdbcuda would have executed {line!r} inside gdb's event {_events[-1]}")


def is_possible() -> bool:
    """A command that modifies a breakpoint does so when the ``commands`` of the one that has stopped have begun; a hit
    modifies it too, and then gdb holds the thread to be running."""
    return not _events or (_events == ["breakpoint_modified"] and not is_thread_running())


def is_thread_running() -> bool:
    thread = inferiors.selected_thread()
    return thread is not None and thread.is_valid() and thread.is_running()


def when_possible(action: Callable[[], None]) -> None:
    """Now, or as soon as no event is handled."""
    _waiting.append(action)
    catch_up()


def catch_up(event: object = None) -> None:
    """Before the prompt, and before a command of ours."""
    while _waiting and is_possible():
        _waiting.pop(0)()


def begin_event(name: str) -> None:
    """An event of gdb's is handled from here on. (A log makes thousands of breakpoints: no context manager.)"""
    _events.append(name)


def end_event() -> None:
    _events.pop()


@contextmanager
def setting(name: str, value: str) -> Iterator[None]:
    before = gdb.parameter(name)
    execute(f"set {name} {value}")
    try:
        yield
    finally:
        execute(f"set {name} {spelled(before)}")


@contextmanager
def in_c() -> Iterator[None]:
    """What we write for gdb is C, whatever the program is written in. A breakpoint keeps the language that is current
    when it is made: in that gdb reads its condition, then and with each library that comes. (In Rust's a cast is a
    syntax error, and "app" is put into the process.)"""
    found = LANGUAGE.search(execute("show language")) if is_possible() else None
    if found is None or found[1] in LIKE_C:
        yield
        return
    with setting("language", "c"):
        yield


def evaluated(text: str) -> gdb.Value:
    with in_c():
        return gdb.parse_and_eval(text)


def spelled(value: object) -> object:
    return {True: "on", False: "off"}.get(value, value) if isinstance(value, bool) else value

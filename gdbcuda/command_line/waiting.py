"""A command that takes longer than a second says so at the terminal, and takes it back when it is done. In a log one of
the shell's has a line every ten seconds.

The line is written by a thread, past gdb, whose functions are for its own thread alone. No signal comes to that thread.
(gdb manual: "Basic Python", on threads; termios(3), canonical mode.)
"""

from __future__ import annotations

import contextlib
import os
import signal
import termios
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import threading

PATIENCE, OFTEN, LOGGED = 1.0, 0.5, 10.0  # seconds
STDERR, LOCAL_MODES = 2, 3
ERASED = b"\r\x1b[K"


@contextlib.contextmanager
def told(name: str, so_far: Callable[[], str] = str, is_logged: bool = False) -> Iterator[None]:
    """While the command of that name is at work, where somebody looks. ``so_far`` says how much of it is done.
    ``is_logged``: in a file or a pipe too, which somebody may read later, or follow."""
    show = tell if is_watched() else log if is_logged and not os.isatty(STDERR) else None
    if show is None:
        yield
        return
    import threading  # where nobody looks nobody pays for it

    done = threading.Event()
    waiting = threading.Thread(target=show, args=(name, so_far, done), daemon=True)
    try:
        start(waiting)
        yield
    finally:
        try:
            done.set()
        finally:
            done.set()  # a Ctrl-C may have come in the middle of it
        if waiting.ident is not None:
            waiting.join()


def start(thread: threading.Thread) -> None:
    before = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    try:
        thread.start()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def is_watched() -> bool:
    """The standard error is a terminal that shows lines as they come. gdb's TUI has it in another mode."""
    try:
        return bool(termios.tcgetattr(STDERR)[LOCAL_MODES] & termios.ICANON)
    except termios.error:
        return False


def tell(name: str, so_far: Callable[[], str], done: threading.Event) -> None:
    began, is_shown = time.monotonic(), False
    while not done.wait(OFTEN if is_shown else PATIENCE):
        passed = f"{time.monotonic() - began:.0f} s"
        is_shown = write(f"\r{name} is at work, {passed}{so_far()}; Ctrl-C ends it".encode())
    if is_shown:
        write(ERASED)


def log(name: str, so_far: Callable[[], str], done: threading.Event) -> None:
    began = time.monotonic()
    while not done.wait(LOGGED):
        write(f"{name} is at work, {time.monotonic() - began:.0f} s{so_far()}\n".encode())


def write(text: bytes) -> bool:
    with contextlib.suppress(OSError):
        os.write(STDERR, text)
    return True

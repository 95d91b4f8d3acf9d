"""A command that takes longer than a second says so at the terminal, and takes it back when it is done.

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

PATIENCE, OFTEN = 1.0, 0.5  # seconds
STDERR, LOCAL_MODES = 2, 3
ERASED = b"\r\x1b[K"


@contextlib.contextmanager
def told(name: str, so_far: Callable[[], str] = str) -> Iterator[None]:
    """While the command of that name is at work, where somebody looks. ``so_far`` says how much of it is done."""
    if not is_watched():
        yield
        return
    import threading  # where nobody looks nobody pays for it

    done = threading.Event()
    waiting = threading.Thread(target=tell, args=(name, so_far, done), daemon=True)
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


def write(text: bytes) -> bool:
    with contextlib.suppress(OSError):
        os.write(STDERR, text)
    return True

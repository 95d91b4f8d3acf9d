"""A program that is started, and waits in front of its first instruction until somebody watches it."""

from __future__ import annotations

import os
import signal
from collections.abc import Mapping, Sequence

from gdbcuda.shell.trace.starting import become
from gdbcuda.text import output

SIGNALLED = 128  # and the signal's number, as shells say it
OF_TERMINAL = (signal.SIGINT, signal.SIGQUIT)


class HeldProgram:
    """``status`` is None while it runs. What a terminal sends is for the program: we wait for its end."""

    def __init__(self, words: Sequence[str], environment: Mapping[str, str]) -> None:
        reader, self.gate = os.pipe()
        self.status: int | None = None
        output.finish()
        self.pid = os.fork()
        if not self.pid:
            os.close(self.gate)
            os._exit(behind_gate(reader, list(words), environment))
        os.close(reader)
        self.before = {one: signal.signal(one, signal.SIG_IGN) for one in OF_TERMINAL}

    def release(self) -> None:
        os.write(self.gate, b"!")
        self.close_gate()

    def close_gate(self) -> None:
        """One that was never let through ends."""
        if self.gate >= 0:
            os.close(self.gate)
            self.gate = -1

    def poll(self) -> int | None:
        if self.status is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            self.status = exit_status(status) if pid else None
        return self.status

    def abandon(self) -> None:
        self.close_gate()
        for one, handler in self.before.items():
            signal.signal(one, handler)
        if self.status is None:
            os.waitpid(self.pid, os.WNOHANG)


def behind_gate(reader: int, words: list[str], environment: Mapping[str, str]) -> int:
    """In the child."""
    try:
        is_let = os.read(reader, 1)
        os.close(reader)
        return become(words, environment) if is_let else 0
    except BaseException:  # Ctrl-C too: in a fork nothing may go up into what its parent was about to do
        return SIGNALLED


def exit_status(status: int) -> int:
    return os.WEXITSTATUS(status) if os.WIFEXITED(status) else SIGNALLED + os.WTERMSIG(status)

"""gdb at a terminal, typed to line by line: what ``-batch`` never shows is a prompt that does not come back."""

from __future__ import annotations

import os
import pty
import re
import select
import signal
import subprocess
import time

from scenario import GDB, NO_DEBUG_FILES, ROOT

ESCAPE = re.compile(rb"\x1b\[[0-9;?]*[a-zA-Z]|\r")
SECONDS = 60


def hear_ctrl_c() -> None:
    """As at a terminal. What a script has started in the background ignores it, and so does gdb 10's Python then."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


class Typist:
    """``type`` gives what gdb has shown until it prompts again, and fails where it does not. ``in_full``: as users."""

    def __init__(
        self, environment: dict[str, str], *words: str, extension: bool = True, in_full: bool = False
    ) -> None:
        self.ours, theirs = pty.openpty()
        self.first = [] if in_full else NO_DEBUG_FILES
        source = ("-x", f"{ROOT}/gdbcuda.py") if extension else ()
        line = ["setsid", "--ctty", *self.words(*source, *words)]
        self.gdb = subprocess.Popen(line, stdin=theirs, stdout=theirs, stderr=theirs,
                                    env={**environment, "TERM": "dumb"}, preexec_fn=hear_ctrl_c)  # fmt: skip
        os.close(theirs)
        self.started = self.until_prompt("the start")

    def words(self, *more: str) -> list[str]:
        return [GDB, "-nx", "-q", *self.first, "-ex", "set confirm off", "-ex", "set pagination off", *more]

    def type(self, *lines: str) -> str:
        shown = ""
        for line in lines:
            os.write(self.ours, f"{line}\n".encode())
            shown += self.until_prompt(line)
        return shown

    def until_prompt(self, what: str, seconds: float = SECONDS) -> str:
        shown, end = b"", time.monotonic() + seconds
        while not re.search(rb"(?:^|\n)(?:\(\S*gdb\)|>) ?$", ESCAPE.sub(b"", shown)):
            left = end - time.monotonic()
            ready, _, _ = select.select([self.ours], [], [], max(0, left))
            text = shown.decode(errors="replace")
            assert ready and left > 0, f"gdb does not prompt again behind {what!r}; it has shown:\n{text}"
            try:
                shown += os.read(self.ours, 65536)
            except OSError:
                raise AssertionError(f"gdb has ended behind {what!r}; it has shown:\n{text}") from None
        return ESCAPE.sub(b"", shown).decode(errors="replace")

    def interrupt(self, after: float, presses: int = 1) -> str:
        """Ctrl-C behind so many seconds, which the terminal sends to gdb or to the program, and again until it is
        heard, at most so often; what follows."""
        end = time.monotonic() + after
        while (left := end - time.monotonic()) > 0:
            if select.select([self.ours], [], [], left)[0]:
                os.read(self.ours, 65536)
        os.write(self.ours, b"\x03")
        try:
            return self.until_prompt("Ctrl-C", SECONDS / presses)
        except AssertionError:
            if presses == 1:
                raise
            return self.interrupt(0, presses - 1)

    def end(self) -> None:
        self.gdb.kill()
        self.gdb.wait()
        os.close(self.ours)

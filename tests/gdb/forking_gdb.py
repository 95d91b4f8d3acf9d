"""A gdb that has imported the extension, and makes a copy of itself for each scenario (tests/gdb/forks.py)."""

from __future__ import annotations

import atexit
import json
import os
import re
import select
import signal
import socket
import subprocess
import tempfile
import time
import warnings
from pathlib import Path

SERVE = str(Path(__file__).parent / "forks.py")
PLACES = 48
READ_ON = ("commands", "define", "document", "if", "while")  # in the lines behind them
READ_ON_ALONE = ("python", "py", "compile", "guile")


def is_played_as_typed(commands: list[str]) -> bool:
    """A command becomes the body of one of the user's own: gdb strips it, and some words mean something else."""
    words = [command.split() for command in commands]
    return (
        len(commands) <= PLACES
        and not any("\n" in command or "$arg" in command or command != command.strip() for command in commands)
        and not any(parts[0] in READ_ON or parts in [[one] for one in READ_ON_ALONE] for parts in words if parts)
    )


def quoted(argument: str) -> str:
    """As gdb does it for ``--args``."""
    return re.sub(r"""([\t !"#$&'()*;<>?[\\\]^`{|}~])""", r"\\\1", argument) or "''"


class ForkingGdb:
    """Started when it is first asked, and anew after a scenario that did not end."""

    def __init__(self, line: list[str], environment: dict[str, str], seconds: float, hook: Path) -> None:
        """``line`` starts gdb with the extension; ``hook`` is the hook library of most scenarios."""
        self.line, self.environment, self.seconds, self.hook = line, environment, seconds, hook
        self.end: socket.socket | None = None
        atexit.register(self.stop)

    def start(self) -> socket.socket:
        self.end, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        given = (its.fileno(), PLACES, str(self.hook))
        serve = f"python __import__('runpy').run_path({SERVE!r})['serve']{given}"
        commands = [serve, *(f"test-command-{place}" for place in range(1, PLACES + 1))]
        words = [word for command in commands for word in ("-ex", command)]
        self.said = tempfile.TemporaryFile()  # noqa: SIM115  (closed in stop)
        with its:
            self.running = subprocess.Popen(
                [*self.line, *words], env=self.environment, pass_fds=[its.fileno()], stdin=subprocess.DEVNULL,
                stdout=self.said, stderr=subprocess.STDOUT,
            )  # fmt: skip
        return self.end

    def stop_if_ended(self) -> None:
        """Between two scenarios, which is nobody's scenario's fault, and is to be seen in the summary."""
        if self.end is not None and self.running.poll() is not None:
            self.said.seek(0)
            words = self.said.read()[-2000:].decode(errors="replace")
            warnings.warn(f"a gdb that makes copies has ended, status {self.running.returncode}: {words}", stacklevel=1)
            self.stop()

    def play(
        self, commands: list[str], program: Path | None, arguments: tuple[str, ...], more: dict[str, str] | None = None
    ) -> str:
        """All that gdb and its program print, and whoever has their output after them. ``more`` of the environment."""
        wanted = {"commands": commands, "program": str(program or ""), "arguments": " ".join(map(quoted, arguments)),
                  "folder": os.getcwd(), "environment": more or {}}  # fmt: skip
        self.stop_if_ended()
        end = self.end or self.start()
        output, its = os.pipe()
        with open(output, "rb", buffering=0):
            with open(its, "wb", buffering=0):
                socket.send_fds(end, [json.dumps(wanted).encode()], [its])
                child = int(end.recv(64))
            try:
                text = self.read(output)
                end.recv(64)
            except BaseException:  # a time limit or Ctrl-C as well: nobody else ends the copy
                os.kill(child, signal.SIGKILL)
                self.stop()
                raise
        return text.decode(errors="replace")

    def read(self, output: int) -> bytes:
        text, last = b"", time.monotonic() + self.seconds
        while select.select([output], [], [], max(0, last - time.monotonic()))[0]:
            data = os.read(output, 1 << 16)
            if not data:
                return text
            text += data
        raise subprocess.TimeoutExpired("gdb", self.seconds, text)

    def stop(self) -> None:
        if self.end is not None:
            self.end.close()
            self.running.wait()
            self.said.close()
            self.end = None

"""gdb as our child: what it says is read here, and where ranks are told apart, what each process of the program writes.

The program's output is a socket then: a pipe does not say who has written. (unix(7): SO_PASSCRED, SCM_CREDENTIALS.)
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import socket
import struct
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Callable

from gdbcuda.shell.run.gdb_lines import GdbLines
from gdbcuda.shell.run.ranked_output import RankedOutput

CREDENTIALS = struct.Struct("3i")  # pid, uid, gid
AT_ONCE = 1 << 16  # bytes
QUIET = 0.3  # seconds after which a line without its end is shown
SIGNALLED = 128
FORWARDED = (signal.SIGTERM, signal.SIGHUP)
OF_TERMINAL = (signal.SIGINT, signal.SIGQUIT)
Source = Callable[[], bool]  # reads what is there; False at its end


class OwnEnd:
    """Our end of a socket that the program writes to."""

    def __init__(self, label: Callable[[int], str], fd: int) -> None:
        self.socket, self.theirs = socket.socketpair()
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
        self.output = RankedOutput(lambda text: write(fd, text), label)

    def read(self) -> bool:
        data, extra, _, _ = self.socket.recvmsg(AT_ONCE, socket.CMSG_SPACE(CREDENTIALS.size))
        pids = [CREDENTIALS.unpack(raw)[0] for _, kind, raw in extra if kind == socket.SCM_CREDENTIALS]
        if data:
            self.output.feed(pids[0] if pids else 0, data)
        return bool(data)


def write(fd: int, text: bytes) -> None:
    """All of it. Where nobody reads any more, the program goes on."""
    with contextlib.suppress(OSError):
        while text:
            text = text[os.write(fd, text) :]


def run(words: Sequence[str], environment: Mapping[str, str], kept: Sequence[int], ends: Sequence[OwnEnd],
        is_batch: bool) -> int:  # fmt: skip
    """gdb's exit status. ``kept``: file descriptors that it inherits."""
    gdbs, theirs = os.pipe() if is_batch else (-1, -1)
    given = {"stdout": theirs, "stderr": theirs} if is_batch else {}
    gdb = subprocess.Popen(words, env=dict(environment), pass_fds=kept, **given)  # type: ignore[call-overload]
    for fd in [*kept, *([theirs] if is_batch else [])]:
        os.close(fd)
    with forwarding(gdb):
        relay(gdb, sources(gdbs, ends), ends)
        status = int(gdb.wait())
    return status if status >= 0 else SIGNALLED - status


def sources(gdbs: int, ends: Sequence[OwnEnd]) -> dict[int, Source]:
    found: dict[int, Source] = {one.socket.fileno(): one.read for one in ends}
    if gdbs >= 0:
        lines = GdbLines()

        def read() -> bool:
            data = os.read(gdbs, AT_ONCE)
            write(2, lines.feed(data) if data else lines.rest())
            return bool(data)

        found[gdbs] = read
    return found


def relay(gdb: subprocess.Popen[bytes], left: dict[int, Source], ends: Sequence[OwnEnd]) -> None:
    """Until gdb has ended, and nothing more is there to read. (Who the program has left behind may hold its output
    open.)"""
    quiet_since = time.monotonic()
    while left:
        has_ended = gdb.poll() is not None
        ready = select.select([*left], [], [], 0 if has_ended else QUIET)[0]
        for fd in ready:
            if not left[fd]():
                del left[fd]
        if ready:
            quiet_since = time.monotonic()
        elif has_ended or time.monotonic() - quiet_since >= QUIET:
            for one in ends:
                one.output.flush()
        if has_ended and not ready:
            return


@contextlib.contextmanager
def forwarding(gdb: subprocess.Popen[bytes]) -> Iterator[None]:
    """What a terminal sends, it sends to gdb as well."""
    before = {one: signal.signal(one, signal.SIG_IGN) for one in OF_TERMINAL}
    before |= {one: signal.signal(one, lambda number, _: gdb.send_signal(number)) for one in FORWARDED}
    try:
        yield
    finally:
        for one, handler in before.items():
            signal.signal(one, handler)

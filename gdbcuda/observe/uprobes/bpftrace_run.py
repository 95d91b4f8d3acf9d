"""bpftrace as a child of ours: started, waited for until its probes are there, read, and ended."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator

from gdbcuda.errors import UserError
from gdbcuda.observe.uprobes import bpftrace_events, needs
from gdbcuda.observe.uprobes.bpftrace_events import Entered, Left, Mark, Seen
from gdbcuda.observe.uprobes.bpftrace_text import ENDED, READY, TEXT_SIZE

TICK = 0.1  # seconds
NANOSECONDS = 10**9
SLOWEST_ATTACH, SLOWEST_DETACH = 0.1, 0.5  # seconds a probe, several times what was measured
QUIET = 0.4  # seconds without an event: the kernel's buffers are read
LEAST_PAGES, MOST_PAGES, ALL_PAGES = 64, 1024, 1 << 16  # of 4 KiB, of one processor and of all
CALLS_AT_ONCE = 1 << 16  # that a map holds: what longjmp leaves behind stays in it
HEADS = ("ERROR: couldn't", "ERROR: Unknown error -1: couldn't set RLIMIT", "ERROR: failed to detach", "open(")


def environment(probes: int) -> dict[str, str]:
    pages = LEAST_PAGES
    while pages < MOST_PAGES and 2 * pages * (os.cpu_count() or 1) <= ALL_PAGES:
        pages *= 2
    limits = {"MAX_PROBES": 2 * probes + 8, "MAX_BPF_PROGS": 2 * probes + 8, "PERF_RB_PAGES": pages,
              "MAP_KEYS_MAX": CALLS_AT_ONCE, "STRLEN": TEXT_SIZE, "MAX_STRLEN": TEXT_SIZE}  # fmt: skip
    return {f"BPFTRACE_{name}": str(value) for name, value in limits.items()}


class Bpftrace:
    """One run. ``probes``: how many functions are watched."""

    def __init__(self, text: str, probes: int, is_unsafe: bool) -> None:
        self.probes, self.rest = probes, b""
        self.errors = tempfile.TemporaryFile()  # noqa: SIM115
        self.program = tempfile.NamedTemporaryFile("w", suffix=".bt", prefix="gdbcuda-")  # noqa: SIM115
        self.program.write(text)
        self.program.flush()
        words = [needs.BPFTRACE, "-q", "-B", "line", "-f", "json", *["--unsafe"] * is_unsafe, self.program.name]
        self.child = subprocess.Popen(
            words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=self.errors, start_new_session=True,
            env={**os.environ, **environment(probes)},
        )  # fmt: skip
        assert self.child.stdout is not None
        self.output = self.child.stdout.fileno()
        os.set_blocking(self.output, False)
        self.has_ended = False

    def __enter__(self) -> Bpftrace:
        return self

    def __exit__(self, *_: object) -> None:
        """Whatever happened: its probes are taken off."""
        if self.child.poll() is None:
            self.interrupt()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.child.wait(10 + SLOWEST_DETACH * self.probes)
        if self.child.poll() is None:
            self.child.kill()
        self.program.close()
        self.errors.close()

    def wait_until_ready(self) -> None:
        """`UserError` in bpftrace's words where it cannot watch."""
        latest = time.monotonic() + 30 + SLOWEST_ATTACH * self.probes
        while time.monotonic() < latest:
            if Mark(READY) in self.read(TICK):
                return
            if self.child.poll() is not None:
                raise UserError(f"bpftrace ended: {self.complaint()}")
        raise UserError(f"bpftrace has not placed its {2 * self.probes} probes in time: name fewer functions")

    def complaint(self) -> str:
        """What it said last that matters."""
        self.errors.seek(0)
        lines = [line.strip() for line in self.errors.read().decode("utf-8", "replace").splitlines()]
        told = [line for line in lines if line and not line.startswith(HEADS)]
        wrong = [line for line in told if "error" in line.lower()]
        return (wrong or told or [f"status {self.child.returncode}, without a word"])[-1]

    def read(self, longest: float) -> list[Seen]:
        """What has come, after at most so many seconds."""
        if not select.select([self.output], [], [], longest)[0]:
            return []
        raw = os.read(self.output, 1 << 20)
        self.has_ended = not raw
        *lines, self.rest = (self.rest + raw).split(b"\n")
        found = (bpftrace_events.read(line.decode("utf-8", "surrogateescape")) for line in lines)
        return [one for one in found if one is not None]

    def until_quiet(self, most: float = 10.0) -> Iterator[Seen]:
        """What is still in the kernel's buffers: bpftrace leaves there what it has not read when it is stopped. Where
        calls go on, until those of later come: the processors' buffers are read in turn."""
        latest = quiet = time.monotonic()
        while time.monotonic() < min(quiet + QUIET, latest + most) and not self.has_ended:
            for one in self.read(TICK):
                is_later = isinstance(one, (Entered, Left)) and one.time > (latest + QUIET) * NANOSECONDS
                quiet = quiet if is_later else time.monotonic()
                yield one

    def interrupt(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            self.child.send_signal(signal.SIGINT)

    def end(self) -> Iterator[Seen]:
        """The last events. Its probes are being taken off then."""
        yield from self.until_quiet()
        self.interrupt()
        latest = time.monotonic() + 10 + SLOWEST_DETACH * self.probes
        while not self.has_ended and time.monotonic() < latest:
            for one in self.read(TICK):
                if one == Mark(ENDED):
                    return
                yield one

"""Uprobes by tracefs alone: placed, read, and taken off again. Buffers of our own, which nobody else reads."""

from __future__ import annotations

import contextlib
import os
import re
import select
import time
from collections.abc import Iterable, Iterator, Sequence

from gdbcuda import elf
from gdbcuda.errors import UserError
from gdbcuda.observe.uprobes import needs, tracefs_text
from gdbcuda.observe.uprobes.bpftrace_events import Lost, Seen
from gdbcuda.observe.uprobes.tracefs_text import Forked, TracefsRecord

TICK, QUIET = 0.1, 0.3  # seconds
BUFFER = 8192  # KiB of each processor
OURS = re.compile(r"^[pr]:(gdbcuda_(\d+))/\w+", re.MULTILINE)


class Tracefs:
    """One run, as `bpftrace_run.Bpftrace` is one. ``pid``: what it and what it starts does; 0 for all."""

    def __init__(self, records: Sequence[TracefsRecord], pid: int) -> None:
        self.folder, self.group = needs.tracefs(), f"gdbcuda_{os.getpid()}"
        self.records, self.pid = records, pid
        self.instance = os.path.join(self.folder, "instances", self.group)
        self.watched = tasks(pid) if pid else set()
        self.rest, self.pipe, self.has_ended = b"", -1, False

    def __enter__(self) -> Tracefs:
        take_off_left(self.folder)
        try:
            self.place()
        except OSError as problem:
            self.__exit__()
            raise UserError(f"the kernel takes no probe there: {problem.strerror}", page="other-eyes") from None
        except UserError:
            self.__exit__()
            raise
        return self

    def place(self) -> None:
        os.mkdir(self.instance)
        self.write("trace_clock", "mono")
        self.write("options/record-tgid", "1")
        self.write("buffer_size_kb", str(BUFFER))
        files: dict[str, elf.Elf] = {}
        for one in self.records:
            path, place = one.probe.file.path, one.probe.place
            if re.search(r"[\s:]", path):
                raise UserError(f"the kernel takes no file whose path has a space or a colon: {path}")
            file = files.setdefault(path, elf.open(path))
            where = f"{path}:{file.addresses.extent_in_file(place.address)[0]:#x}"
            append(self.folder, tracefs_text.entry(one, self.group, where))
            append(self.folder, tracefs_text.exit(one, self.group, where))
        self.pipe = os.open(os.path.join(self.instance, "trace_pipe"), os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        if self.pid:
            self.write(f"events/sched/{tracefs_text.FORKED}/enable", "1")
        self.write(f"events/{self.group}/enable", "1")

    def write(self, name: str, text: str) -> None:
        with open(os.path.join(self.instance, name), "w") as file:
            file.write(text)

    def wait_until_ready(self) -> None:
        """They are there when they are placed."""

    def complaint(self) -> str:
        return "the kernel tells no more"

    def read(self, longest: float) -> list[Seen]:
        select.select([self.pipe], [], [], longest)
        try:
            raw = os.read(self.pipe, 1 << 20)
        except BlockingIOError:
            return []
        *lines, self.rest = (self.rest + raw).split(b"\n")
        return [*self.wanted(line.decode("utf-8", "surrogateescape") for line in lines)]

    def wanted(self, lines: Iterable[str]) -> Iterator[Seen]:
        """The line of a fork comes in front of all that its child does."""
        for one in map(tracefs_text.read, lines):
            if isinstance(one, Forked):
                self.watched.update({one.child} if one.parent in self.watched else ())
            elif isinstance(one, Lost) or (one is not None and (not self.pid or one.tid in self.watched)):
                yield one

    def end(self) -> Iterator[Seen]:
        with contextlib.suppress(OSError):
            self.write("events/enable", "0")
        quiet = time.monotonic()
        while time.monotonic() < quiet + QUIET:
            for one in self.read(TICK):
                quiet = time.monotonic()
                yield one

    def __exit__(self, *_: object) -> None:
        if self.pipe >= 0:
            os.close(self.pipe)
        take_off(self.folder, self.group)


def tasks(pid: int) -> set[int]:
    try:
        return {int(name) for name in os.listdir(f"/proc/{pid}/task")}
    except OSError:
        return {pid}


def append(folder: str, line: str) -> None:
    file = os.open(os.path.join(folder, "uprobe_events"), os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC)
    try:
        os.write(file, line.encode("utf-8", "surrogateescape"))  # one at once: it looks for no end of the file
    finally:
        os.close(file)


def take_off(folder: str, group: str) -> None:
    """The buffers first: what is being watched cannot be taken off."""
    instance = os.path.join(folder, "instances", group)
    with contextlib.suppress(OSError), open(os.path.join(instance, "events", "enable"), "w") as file:
        file.write("0")
    with contextlib.suppress(OSError):
        os.rmdir(instance)
    for name in events(folder, group):
        with contextlib.suppress(OSError):
            append(folder, f"-:{group}/{name}\n")


def events(folder: str, group: str) -> list[str]:
    with contextlib.suppress(OSError), open(os.path.join(folder, "uprobe_events")) as file:
        return re.findall(rf"^[pr]:{group}/(\w+)", file.read(), re.MULTILINE)
    return []


def take_off_left(folder: str) -> None:
    """Of runs of ours that were killed."""
    with contextlib.suppress(OSError), open(os.path.join(folder, "uprobe_events")) as file:
        left = {group for group, pid in OURS.findall(file.read()) if not os.path.isdir(f"/proc/{pid}")}
        for group in left:
            take_off(folder, group)

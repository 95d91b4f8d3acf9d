"""The lines of strace (``-f -Y -y -X raw``, seconds with nine digits), as calls of the layer ``kernel``.

    4711<train> 1795464526.881755604 ioctl(3</dev/nvidiactl>, 0xc020462a, 0x7ffe01) = 0 <0.000007601>

A call that another thread's line interrupts comes in two: ``<unfinished ...>`` and ``<... ioctl resumed>``.
"""

from __future__ import annotations

import errno
import re
from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase
from typing import Any

from gdbcuda.calls.record import Call
from gdbcuda.observe import ioctls

DEVICES = ("/dev/nvidia*",)
SYSTEM_CALLS = ("open", "openat", "openat2", "mmap", "ioctl", "close")
LAYER = "kernel"
LINE = re.compile(r"(\d{1,10})(?:<(.*?)>)? +(\d{1,12})\.(\d{9}) (.*)", re.DOTALL)
WHOLE = re.compile(r"(\w+)\((.*)\) += +(.*?) <(\d+)\.(\d{9})>", re.DOTALL)
RESUMED = re.compile(r"<\.\.\. (\w+) resumed>(.*)", re.DOTALL)
CUT, EXITED = " <unfinished ...>", "+++ "
FILE = re.compile(r"(-?\d+)<(.*)>")
TEXT = re.compile(r'"((?:[^"\\]|\\.)*)"')
NANOSECONDS = 10**9


def joined(seconds: str, fraction: str) -> int:
    return int(seconds) * NANOSECONDS + int(fraction)


class SystemCalls:
    """Of one run of strace. ``epoch``: nanoseconds since 1970 that ts counts from; ``process_of``: the process that a
    thread belongs to; ``devices``: globs of the files whose calls are told."""

    def __init__(self, epoch: int, process_of: Callable[[int], int], devices: Sequence[str] = DEVICES) -> None:
        self.epoch, self.process_of, self.devices = epoch, process_of, devices
        self.cut: dict[int, tuple[int, str]] = {}  # by thread
        self.threads: dict[int, tuple[int, int, str]] = {}  # by its number for the kernel: ours, process, name
        self.count = self.strange = 0

    def read(self, line: str) -> Call | None:
        """The call that the line ends; None where it ends none, or none of these devices."""
        found = LINE.fullmatch(line.rstrip("\n"))
        if found is None:
            self.strange += bool(line.strip())
            return None
        tid, name, start, rest = int(found[1]), found[2] or "", joined(found[3], found[4]), found[5]
        if rest.startswith((EXITED, "--- ")):
            self.cut.pop(tid, None)
            return None
        if rest.endswith(CUT):
            self.cut[tid] = start, rest.removesuffix(CUT)
            return None
        resumed = RESUMED.fullmatch(rest)
        if resumed is not None:
            start, begun = self.cut.pop(tid, (start, f"{resumed[1]}("))
            rest = begun + resumed[2]
        whole = WHOLE.fullmatch(rest)
        return self.call(tid, name, start, whole) if whole is not None else None

    def call(self, tid: int, thread: str, start: int, whole: re.Match[str]) -> Call | None:
        system_call, arguments, result = whole[1], parts(whole[2]), whole[3]
        device, details = self.details(system_call, arguments, result)
        if not any(fnmatchcase(device, one) for one in self.devices):
            return None
        if tid not in self.threads:
            self.threads[tid] = len(self.threads) + 1, self.process_of(tid), thread
        name = system_call
        if system_call == "ioctl":
            name = ioctls.name(number(arguments[1] if len(arguments) > 1 else ""), device)
        call = Call(self.count, name, (start - self.epoch) / NANOSECONDS, self.threads[tid][0])
        self.count += 1
        call.lwp, call.pid, call.layer, call.object = tid, self.threads[tid][1], LAYER, device
        call.arguments, call.ended = details, ""
        call.end = call.start + joined(whole[4], whole[5]) / NANOSECONDS
        call.status, call.result = outcome(result)
        return call

    def details(self, system_call: str, arguments: Sequence[str], result: str) -> tuple[str, dict[str, Any]]:
        """The file, and what else the call was given."""
        if system_call in ("open", "openat", "openat2"):
            at = 0 if system_call == "open" else 1
            text = TEXT.match(arguments[at]) if len(arguments) > at else None
            return (text[1] if text else ""), {"path": text[1] if text else "", "flags": tail(arguments, at + 1)}
        place = 4 if system_call == "mmap" else 0
        file = FILE.match(arguments[place]) if len(arguments) > place else None
        if file is None:
            return "", {}
        if system_call == "mmap":
            return file[2], {"length": number(arguments[1]), "prot": arguments[2], "flags": arguments[3],
                             "fd": int(file[1]), "offset": tail(arguments, 5)}  # fmt: skip
        given = {"request": arguments[1], "arg": tail(arguments, 2)} if system_call == "ioctl" and arguments[1:] else {}
        return file[2], {"fd": int(file[1]), **given}


def tail(arguments: Sequence[str], at: int) -> str:
    return arguments[at] if len(arguments) > at else ""


def parts(text: str) -> list[str]:
    """What stands between commas, of strings and names of files the whole."""
    return [one.strip() for one in re.findall(r'(?:"(?:[^"\\]|\\.)*"|<[^>]*>|\{[^}]*\}|[^,"])+', text)]


def number(text: str) -> int:
    try:
        return int(text, 0)
    except ValueError:
        return 0


def outcome(result: str) -> tuple[int, Any]:
    """(0 or the number of the error, what came back or the error's name)"""
    value, _, rest = result.partition(" ")
    if value == "-1" and rest:
        name = rest.split(" ")[0]
        return getattr(errno, name, 1), name
    file = FILE.match(value)
    return 0, int(file[1]) if file else value

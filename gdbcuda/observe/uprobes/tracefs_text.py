"""Uprobes as the kernel's tracefs takes and tells them, where there is no bpftrace: what a probe fetches, and the lines
of trace_pipe as events. (Linux, Documentation/trace/uprobetracer.rst and events.rst)

What was behind pointers when a call returned cannot be fetched: the registers of its entry are gone. Times are in
microseconds.
"""

from __future__ import annotations

import re
from functools import cached_property
from typing import NamedTuple, Union

from gdbcuda.observe.uprobes.bpftrace_events import Entered, Left, Lost
from gdbcuda.observe.uprobes.bpftrace_text import ProbeRecord
from gdbcuda.rings.ring_functions import LONGEST_TEXT
from gdbcuda.rings.ring_layout import REGISTERS, WORD

ARGUMENTS = ("di", "si", "dx", "cx", "r8", "r9")
LINE = re.compile(r"\s*(?P<comm>.*)-(?P<tid>\d+)\s+\(\s*(?P<pid>[\d-]+)\)\s+\[\d+\]\s+\S+\s+(?P<time>\d+\.\d+): "
                  r"(?P<what>\w+): (?P<rest>.*)")  # fmt: skip
NUMBER = re.compile(r"\b[a-z]+\d*=(0x[0-9a-f]+)")
TEXT = re.compile(r' t\d+=(?:"(.*?)"(?= t\d+=|$)|\(fault\))')
FORK = re.compile(r"comm=.* pid=(\d+) child_comm=.* child_pid=(\d+)$")
LOST = re.compile(r"CPU:\d+ \[LOST (\d+) EVENTS\]")
FORKED = "sched_process_fork"


class Forked(NamedTuple):
    """A thread has begun another one, of its own process or of a new one."""

    parent: int
    child: int


Told = Union[Entered, Left, Lost, Forked]


class TracefsRecord(ProbeRecord):
    @cached_property
    def outs(self) -> list[tuple[int, int]]:
        return []


def entry(one: ProbeRecord, group: str, where: str) -> str:
    fetched = ["sp=%sp:x64", "back=+0(%sp):x64", "ip=%ip:x64"]
    fetched += [f"w{index}={word(index)}:x64" for index in one.words]
    fetched += [f"m{at}_{index}=+{at}({word(index)}):x64" for index, size in one.ins if size != LONGEST_TEXT
                for at in range(0, size, WORD)]  # fmt: skip
    fetched += [f"t{index}=+0({word(index)}):string" for index, size in one.ins if size == LONGEST_TEXT]
    return f"p:{group}/b{one.probe.number} {where} {' '.join(fetched)}\n"


def exit(one: ProbeRecord, group: str, where: str) -> str:
    return f"r:{group}/e{one.probe.number} {where} sp=%sp:x64 result=$retval:x64\n"


def word(index: int) -> str:
    return f"%{ARGUMENTS[index]}" if index < REGISTERS else f"+{WORD * (index - REGISTERS + 1)}(%sp)"


def read(line: str) -> Told | None:
    """None for what is nothing of ours."""
    lost = LOST.search(line)
    if lost:
        return Lost(int(lost[1]))
    found = LINE.fullmatch(line)
    if found is None:
        return None
    what, rest, tid = found["what"], found["rest"], int(found["tid"])
    if what == FORKED:
        fork = FORK.search(rest)
        return Forked(int(fork[1]), int(fork[2])) if fork else None
    if not re.fullmatch(r"[be]\d+", what):
        return None
    seconds, _, rest_of_second = found["time"].partition(".")
    time = int(seconds) * 10**9 + int(rest_of_second.ljust(9, "0")[:9])
    texts = TEXT.findall(rest)
    values = [int(one, 16) for one in NUMBER.findall(rest.partition(" t")[0] if texts else rest)]
    if what[0] == "b" and len(values) >= 3:
        sp, back, ip, *words = values
        pid = int(found["pid"]) if found["pid"].isdigit() else tid
        return Entered(time, int(what[1:]), pid, tid, sp, back, ip, 0, tuple(words), found["comm"], "|".join(texts))
    if what[0] == "e" and len(values) == 2:
        return Left(time, int(what[1:]), tid, values[0] - WORD, values[1], (), "")
    return None

"""Children at the far end of a link that a fork has made, and of which its server has not told gdb yet.

Whenever gdb looks all threads stand still there, so such a child has a number already and stands still too: it is in
the server's list, with a list of breakpoints that was copied from its parent's. So a breakpoint is taken out of it as
gdb does when it hears of it. (gdb manual: "Packets", H, z and qfThreadInfo. gdbserver's linux-low.cc:
handle_extended_wait; its qXfer:threads leaves such children out. Host I/O cannot reach memory: its offsets have 31
bits.)
"""

from __future__ import annotations

import re
from collections.abc import Collection

import gdb

from gdbcuda.live.host import inferiors
from gdbcuda.live.process import packets
from gdbcuda.live.process.state import machine
from gdbcuda.live.process.thread_status import open_far, read_far

BREAKPOINT_SIZE = {"x86-64": 1, "aarch64": 4}  # gdb's kind of one
NEWEST = "/proc/sys/kernel/ns_last_pid"  # (sysctl: of the server's own pid namespace, and those in it)
MOST_THREADS = 10000


class Known:
    """``is_possible``: whether they can be found, None while nobody has asked. ``newest``: the process or thread that
    was the newest of all when the list was read: while it is there is no other child. 0 is not known."""

    def __init__(self) -> None:
        self.is_possible: bool | None = None
        self.newest = 0
        self.children: tuple[int, ...] = ()


KNOWN: inferiors.PerInferior[Known] = inferiors.PerInferior(Known)
_opened: dict[int, str] = {}  # by number of gdb's connection: that file, which stays open as long as the link


def can_be_found() -> bool:
    known = KNOWN()
    if known.is_possible is None and (chosen := packets.send("qC")):  # a process that runs answers nothing
        is_server_s = gdb.parameter("remote software-breakpoint-packet") is not False
        known.is_possible = chosen.startswith(b"QCp") and is_server_s
    return bool(known.is_possible)


def far_children() -> tuple[int, ...]:
    known, newest = KNOWN(), newest_of_all()
    if not newest or newest != known.newest or known.children:
        known.newest, known.children = newest, standing()
    return known.children


def newest_of_all() -> int:
    """One packet, for it is asked at nearly every look."""
    connection = gdb.selected_inferior().connection
    if connection is None:
        return 0
    number = connection.num
    if number not in _opened:
        _opened[number] = open_far(NEWEST)
    told = read_far(_opened[number], 0).strip() if _opened[number] else b""
    return int(told) if told.isdigit() else 0


def standing() -> tuple[int, ...]:
    """Those that the server traces and gdb has not been told of."""
    traced: set[bytes] = set()
    told = packets.send("qfThreadInfo")
    while told.startswith(b"m") and len(traced) < MOST_THREADS:
        traced.update(re.findall(rb"p([0-9a-f]+)\.[0-9a-f]+", told))
        told = packets.send("qsThreadInfo")
    return tuple(sorted({int(pid, 16) for pid in traced} - {one.pid for one in gdb.inferiors()}))


def take_out_of(child: int, address: int) -> None:
    """A child of vfork has its parent's memory, with the byte that was there at the fork in its own list: what the
    parent has there is put back."""
    thread, before = inferiors.selected_thread(), packets.send("qC")[2:].decode()
    if thread is None or not before or not choose(number(child)):
        return
    parent = f"p{thread.ptid[0]:x}.{thread.ptid[1]:x}"
    size = BREAKPOINT_SIZE[machine()]
    own = packets.send(f"m{address:x},{size:x}").decode() if choose(parent) else ""
    is_known = len(own) == 2 * size and choose(number(child))
    if is_known and packets.send(f"z0,{address:x},{size:x}") == b"OK" and choose(parent):
        packets.send(f"M{address:x},{size:x}:{own}")
    choose(before)


def take_out_here(addresses: Collection[int]) -> None:
    """In a command, out of the selected process: whether the far end knows of them any more or not."""
    here, before = number(gdb.selected_inferior().pid), packets.ask("qC")[2:].decode()
    if not before or packets.ask(f"Hg{here}") != b"OK":
        return
    for address in addresses:
        packets.ask(f"z0,{address:x},{BREAKPOINT_SIZE[machine()]:x}")
    packets.ask(f"Hg{before}")


def choose(thread: str) -> bool:
    """What the packets that follow are about, until gdb is to have its own choice again."""
    return packets.send(f"Hg{thread}") == b"OK"


def number(process: int) -> str:
    return f"p{process:x}.{process:x}"

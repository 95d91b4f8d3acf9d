"""What the kernel says of the process and its threads: /proc/PID/task/TID/status and its neighbours. (proc(5).)

At the far end of a link gdbserver reads the file. (gdb manual: "Host I/O Packets", "info proc".)
"""

from __future__ import annotations

import re
import signal
from collections.abc import Iterator
from contextlib import suppress

import gdb

from gdbcuda.live.host import gdb_cli, inferiors
from gdbcuda.live.process import packets
from gdbcuda.live.process.running import is_thread_running
from gdbcuda.live.process.state import connection, is_remote

MOST_BYTES, MOST_FAR_THREADS = 0x1000, 16


def statuses() -> Iterator[str]:
    """Of each thread, as far as it can be had; over a link only of the first ones."""
    if connection() == "core":
        return
    pid, is_far = gdb.selected_inferior().pid, is_remote()
    threads = sorted(one.ptid[1] or pid for one in inferiors.threads())
    for thread in threads[: MOST_FAR_THREADS if is_far else None]:
        name = f"/proc/{pid}/task/{thread}/status"
        yield far(name, thread) if is_far else near(name)


def of_thread(thread: int, file: str) -> str:
    """What /proc/PID/task/TID has in the file; "" where it cannot be had."""
    name = f"/proc/{gdb.selected_inferior().pid}/task/{thread}/{file}"
    if not is_remote():
        return near(name)
    return by_packets(name) if packets.CAN_SEND else ""


def near(name: str) -> str:
    try:
        with open(name, encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return ""


def far(name: str, thread: int) -> str:
    if packets.CAN_SEND:
        return by_packets(name)
    if gdb_cli.is_possible() and not is_thread_running():
        with suppress(gdb.error):
            return gdb_cli.execute(f"info proc status {thread}")
    return ""


def by_packets(name: str) -> str:
    """"" where the far end reads no files, or runs."""
    number = open_far(name)
    if not number:
        return ""
    found = read_far(number, 0)
    packets.send(f"vFile:close:{number}")
    return found.decode(errors="replace")


def is_there(name: str) -> bool:
    """The far end of the link has a file of that name."""
    number = open_far(name)
    if number:
        packets.send(f"vFile:close:{number}")
    return bool(number)


def open_far(name: str) -> str:
    """The file's number there, "" where it cannot be had."""
    answer = packets.send(f"vFile:open:{name.encode().hex()},0,0")
    return answer[1:].decode() if answer.startswith(b"F") and not answer.startswith(b"F-") else ""


def read_far(number: str, offset: int) -> bytes:
    answer = packets.send(f"vFile:pread:{number},{MOST_BYTES:x},{offset:x}")
    return packets.unescaped(answer.partition(b";")[2])


def catches_sigtrap() -> bool:
    """As a program does that steps itself: where gdb passes SIGTRAP on, each one takes ten times as long while a
    breakpoint is anywhere in the process."""
    return catches(signal.SIGTRAP)


def catches(number: int) -> bool:
    return has_signal(next(statuses(), ""), "SigCgt", number) or False


def has_signal(status: str, mask: str, number: int) -> bool | None:
    """Whether a thread's status has the signal in the mask, None where there is no such. (proc(5): SigCgt.)"""
    found = re.search(rf"^{mask}:\s*([0-9a-f]+)", status, re.MULTILINE)
    return bool(int(found[1], 16) >> (number - 1) & 1) if found is not None else None

"""What the owner of a lock waits for itself, where that is another process: a circle may lead over it.

The kernel tells which system call a thread of another process is in. The word that it waits at is in memory of that
process; where it is in a file that both map, it is read here. (proc(5): /proc/PID/syscall, /proc/PID/maps.)
"""

from __future__ import annotations

from collections.abc import Iterator

from gdbcuda.data_classes import replace
from gdbcuda.live.locking import holders, waiting_threads
from gdbcuda.live.locking.mapped_files import listed
from gdbcuda.live.locking.waiting_threads import WaitingProcess
from gdbcuda.live.process import proc_files
from gdbcuda.locks import recognised
from gdbcuda.locks.lock_report import Holder, WaitElsewhere, WaitingThread
from gdbcuda.locks.waits import WaitingCall

MOST_STEPS = 16  # from process to process
WORDS = 4  # of /proc/PID/syscall: the number, and three arguments


def all_here() -> list[WaitingThread]:
    """As `waiting.all_here`, with what owners in other processes wait for."""
    whole = WaitingProcess()
    found = waiting_threads.all_here(whole)
    for one in found:
        one.holders = [followed(whole, who, MOST_STEPS) for who in one.holders]
    return found


def followed(whole: WaitingProcess, who: Holder, steps: int) -> Holder:
    if who.thread or who.state != "alive" or not steps:
        return who
    waits = next(waits_there(whole, who.number, steps), None)
    return replace(who, waits=waits) if waits is not None else who


def waits_there(whole: WaitingProcess, number: int, steps: int) -> Iterator[WaitElsewhere]:
    """Of that thread of another process, for what is in a file of this one."""
    outer = holders.outer_number(number)
    call = call_of(proc_files.text(f"/proc/{outer}/syscall") or "")
    if call is None or not call.is_futex:
        return
    address = here_of(whole, proc_files.text(f"/proc/{outer}/maps") or "", call.arguments[0])
    if not address:
        return
    translated = call._replace(arguments=(address, *call.arguments[1:]))
    lock = recognised.lock_of(translated, whole.memory, (), ())
    for who in waiting_threads.having_lock(whole, lock):
        yield WaitElsewhere(f"{lock.kind} {waiting_threads.lock_name(whole, lock)}", followed(whole, who, steps - 1))


def call_of(told: str) -> WaitingCall | None:
    """Of "202 0x7f00c0de 0x80 0x2 …"; None where it runs, or nobody says."""
    words = told.split()
    if len(words) < WORDS or not words[0].isdigit():
        return None
    first, second, third = (int(word, 16) for word in words[1:WORDS])
    return WaitingCall(int(words[0]), (first, second, third))


def here_of(whole: WaitingProcess, maps: str, address: int) -> int:
    """Where this process has what is at that address of another one; 0 where it is in no file that both share."""
    theirs = next((one for one in listed(maps) if one.start <= address < one.end), None)
    if theirs is None or not theirs.is_shared:
        return 0
    offset = address - theirs.start + theirs.offset
    for ours in whole.files:
        if ours.is_shared and ours.inode == theirs.inode and 0 <= offset - ours.offset < ours.end - ours.start:
            return ours.start + offset - ours.offset
    return 0

"""Who has a lock: a thread of this process, of another that gdb has too, of one of the machine, or of none any more.

A lock holds the kernel's number of a thread, as it is counted in that thread's pid namespace. (pid_namespaces(7);
proc(5): /proc/PID/status, NSpid; /proc/PID/syscall.)
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import gdb

from gdbcuda.live import process
from gdbcuda.live.host import inferiors
from gdbcuda.live.locking import standing
from gdbcuda.live.locking.mapped_files import MappedFile, listed
from gdbcuda.live.process import proc_files
from gdbcuda.live.threads import positions
from gdbcuda.locks import waits
from gdbcuda.locks.lock_report import Holder
from gdbcuda.text.printable import visible

STATES = {"Z": "a zombie: it has ended, and nobody has waited for it", "X": "dead", "T": "stopped",
          "t": "stopped by a debugger"}  # fmt: skip


def number_of(thread: gdb.InferiorThread) -> int:
    """The kernel's, as the process itself counts: what its locks hold."""
    pid, lwp, _ = thread.ptid
    status = proc_files.text(f"/proc/{pid}/task/{lwp or pid}/status") if is_nested() else None
    return inner_number(status) or lwp or pid


@process.until_objects_change
def is_nested() -> bool:
    """Are threads of the process counted otherwise inside it than here?"""
    found = re.search(r"^NSpid:((?:\s+\d+)+)$", status_of(gdb.selected_inferior().pid), re.MULTILINE)
    return found is not None and len(found[1].split()) > 1


def status_of(number: int) -> str:
    return proc_files.text(f"/proc/{number}/status") or ""


def inner_number(status: str | None) -> int:
    found = re.search(r"^NSpid:.*?(\d+)$", status or "", re.MULTILINE)
    return int(found[1]) if found else 0


def holder(number: int, mapped: MappedFile | None) -> Holder:
    """Of a lock that holds that number; ``mapped``: the file that the lock is in, if it is in one."""
    return in_gdb(number) or elsewhere(number, mapped)


def in_gdb(number: int) -> Holder | None:
    mine = gdb.selected_inferior()
    for inferior in sorted(gdb.inferiors(), key=lambda one: one.num != mine.num):
        for thread in inferiors.threads(inferior) if inferior.pid else ():
            if number == (number_of(thread) if inferior.num == mine.num else thread.ptid[1]):
                return of_thread(thread, number)
    return None


def of_thread(thread: gdb.InferiorThread, number: int) -> Holder:
    mine, owner = gdb.selected_inferior(), thread.inferior
    name = str(thread.num) if owner.num == mine.num and not inferiors.are_several() else f"{owner.num}.{thread.num}"
    if thread.is_running():
        return Holder(number, f"thread {name}, which runs", name)
    with positions.same_thread():
        thread.switch()
        found = standing.here()
    of_other = "" if owner.num == mine.num else f" of process {owner.pid}"
    return Holder(number, f"thread {name}{of_other}", name if owner.num == mine.num else "", spot=found.spot,
                  doing=doing_here(found.call))  # fmt: skip


def doing_here(call: waits.WaitingCall | None) -> str:
    if call is None:
        return ""
    return "which waits for a lock itself" if call.is_futex or call.is_file_lock else f"in {call.name}"


def elsewhere(number: int, mapped: MappedFile | None) -> Holder:
    if not proc_files.are_there():
        return Holder(number, f"{number}, which is none of this process", state="unknown")
    outer = outer_number(number)
    status = status_of(outer) if outer else ""
    if not status:
        return Holder(number, f"thread or process {number}, which is dead", state="dead")
    return of_status(number, outer, status, mapped)


def of_process(pid: int) -> Holder:
    """A process, as it is counted here."""
    found = next((one for one in gdb.inferiors() if one.pid == pid), None)
    if found is not None and inferiors.threads(found):
        return of_thread(min(inferiors.threads(found), key=lambda one: int(one.num)), pid)
    status = status_of(pid)
    return of_status(pid, pid, status, None) if status else Holder(pid, f"process {pid}, which is dead", state="dead")


def outer_number(number: int) -> int:
    """As it is counted here; 0 where there is none. Of the process's own namespace, where that is another one."""
    if not is_nested():
        return number
    mine = proc_files.link(f"/proc/{gdb.selected_inferior().pid}/ns/pid")
    for name in filter(str.isdigit, proc_files.names_in("/proc")):
        if proc_files.link(f"/proc/{name}/ns/pid") == mine:
            for thread in proc_files.names_in(f"/proc/{name}/task"):
                if inner_number(status_of(int(thread))) == number:
                    return int(thread)
    return 0


def of_status(number: int, outer: int, status: str, mapped: MappedFile | None) -> Holder:
    fields = dict(re.findall(r"^(\w+):\s*(.*)$", status, re.MULTILINE))
    name, leader = visible(fields.get("Name", "?")), fields.get("Tgid", str(outer))
    state = fields.get("State", "?")[:1]
    whose = f"process {leader} ({name})" if leader == str(outer) else f"thread {outer} of process {leader} ({name})"
    if state in "ZX":
        return Holder(number, f"{whose}, which is {STATES[state]}", state="dead")
    if mapped is not None and not maps(outer, mapped):
        label = f"thread or process {number}, which is dead: its number is now {whose}'s, which does not map that file"
        return Holder(number, label, state="dead")
    doing = STATES.get(state) or doing_there(outer)
    return Holder(number, f"{whose}, alive", doing=doing, hint=f"see it with gdb -p {leader}")


def maps(number: int, wanted: MappedFile) -> bool:
    """True as well where nobody may know."""
    text = proc_files.text(f"/proc/{number}/maps")
    if not text or not wanted.inode:
        return True
    return any(one.inode == wanted.inode for one in listed(text))


def doing_there(number: int) -> str:
    words = (proc_files.text(f"/proc/{number}/syscall") or "").split()
    if not words or not words[0].lstrip("-").isdigit():
        return "running" if words == ["running"] else ""
    return f"in {waits.NAMES.get(int(words[0]), f'system call {words[0]}')}" if int(words[0]) >= 0 else ""


def own_numbers() -> Iterator[tuple[gdb.InferiorThread, int]]:
    """The threads of the selected process with the kernel's numbers, in gdb's order."""
    for thread in sorted(inferiors.threads(), key=lambda one: int(one.num)):
        yield thread, number_of(thread)

"""The threads of the process that wait for a lock, each with the lock and who has it."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress

import gdb

from gdbcuda.live import process
from gdbcuda.live.host import gdb_cli
from gdbcuda.live.locking import authors_locks, holders, mapped_files, standing
from gdbcuda.live.locking.mapped_files import MappedFile
from gdbcuda.live.locking.standing import Standing
from gdbcuda.live.process import proc_files
from gdbcuda.live.threads import positions
from gdbcuda.locks import file_locks, recognised, waits
from gdbcuda.locks.file_locks import FileLock
from gdbcuda.locks.lock_report import Holder, WaitingThread
from gdbcuda.locks.recognised import CONDITION, JOIN, MUTEX, SEMAPHORE, Lock
from gdbcuda.locks.waits import FLOCK, WaitingCall

SYMBOL = re.compile(r"^(.*) in section \S+(?: of (.*))?$")
NOT_SHARED = "Several processes may map that file, and the mutex is not process-shared: they do not wake each other."
NO_TABLE = "who has it is not known: "
OF_CORE, OF_LINK = "a core file does not say who has files locked", "the far end of the link does not show /proc/locks"


class WaitingProcess:
    """The selected process, or core file, while it stands still: what is asked of it once for all its threads."""

    def __init__(self) -> None:
        self.memory = process.InferiorMemory()
        self.files = mapped_files.all_here()
        self.threads = [*holders.own_numbers()]
        self.named = {number: int(thread.num) for thread, number in self.threads}
        self.authors = authors_locks.addresses()
        self.locked = [*file_locks.listed(proc_files.text("/proc/locks") or "")]

    def file_at(self, address: int) -> MappedFile | None:
        return next((one for one in self.files if one.start <= address < one.end), None)

    def shared_file(self, address: int) -> MappedFile | None:
        """What the lock's owner has to map too."""
        found = self.file_at(address)
        return found if found is not None and found.is_shared else None


def all_here(whole: WaitingProcess) -> list[WaitingThread]:
    """Of the threads that stand still, in gdb's order."""
    found: list[WaitingThread] = []
    with positions.same_thread():
        for thread, number in whole.threads:
            with suppress(gdb.error):  # it runs, or has just ended
                thread.switch()
                found += waiting_here(whole, int(thread.num), number)
    return found


def waiting_here(whole: WaitingProcess, thread: int, number: int) -> Iterator[WaitingThread]:
    """The selected thread, for each lock that it waits for: at most one, but with futex_waitv."""
    found = standing.here()
    if found.call is not None and found.call.is_file_lock:
        yield of_file(whole, found.call, found, thread, number)
    elif found.call is not None:
        calls = waits.each(found.call, whole.memory)
        for call in calls:
            lock = recognised.lock_of(call, whole.memory, found.functions, [*whole.named])
            yield of_lock(whole, lock, found, thread, number, len(calls))


def of_lock(
    whole: WaitingProcess, lock: Lock, found: Standing, thread: int, number: int, count: int
) -> WaitingThread:  # fmt: skip
    """``count``: of all that it waits for at once."""
    who = having_lock(whole, lock)
    call = found.call.name if found.call else ""
    said = [*remarks(lock, who, whole), *([f"one of {count}: any of them wakes it ({call})"] if count > 1 else [])]
    return WaitingThread(lock, lock_name(whole, lock), who, said, thread, number, found.spot, call, count > 1)


def having_lock(whole: WaitingProcess, lock: Lock) -> list[Holder]:
    """The owner that the lock keeps, else the one that the library's adapter leads to."""
    known = whole.authors.get(lock.address)
    owner = lock.owner or (known.owner if known is not None else 0)
    return [holders.holder(owner, whole.shared_file(lock.address))] if owner else []


def lock_name(whole: WaitingProcess, lock: Lock) -> str:
    """ "g_lock at 0x55d0c0de", "at 0x7f00c0de in /tmp/region+0x40"; of a thread that is joined its number."""
    if lock.kind == JOIN:
        return f"thread {whole.named.get(lock.owner, lock.owner)}"
    mapped = whole.file_at(lock.address)
    known = whole.authors.get(lock.address)
    symbol = known.name if known is not None else symbol_at(lock.address)
    symbol = symbol.partition(" + ")[0] if lock.kind == CONDITION else symbol  # threads wait at a word inside of it
    is_own = known is not None or not symbol
    where = f" in {mapped.shown(lock.address)}" if mapped is not None and mapped.is_shared and is_own else ""
    return f"{symbol} at {lock.address:#x}{where}".strip()


def symbol_at(address: int) -> str:
    """ "g_lock", "pool + 16 of libvgpu.so"; "" where no variable is there."""
    try:
        shown = SYMBOL.match(gdb_cli.execute(f"info symbol {address:#x}").strip())
    except gdb.error:
        return ""
    if shown is None:
        return ""
    is_program = shown[2] == process.strip_prefix(process.program())
    return shown[1] + (f" of {os.path.basename(shown[2])}" if shown[2] and not is_program else "")


def remarks(lock: Lock, who: Sequence[Holder], whole: WaitingProcess) -> list[str]:
    found = [lock.remark] if lock.remark else []
    if lock.kind == MUTEX and not lock.is_shared and whole.shared_file(lock.address) is not None:
        found.append(NOT_SHARED)
    if lock.kind == SEMAPHORE and any(one.state == "dead" for one in who):
        found.append("Nobody will post it: a semaphore is not given back when its owner ends.")
    for one in who if lock.kind == MUTEX else ():
        found += [of_dead(lock)] if one.state == "dead" else of_alive(lock, one, whole)
    return found


def of_dead(lock: Lock) -> str:
    if lock.is_robust:
        return "The mutex is robust: the kernel tells the next that locks it (EOWNERDEAD)."
    robust = "robust (PTHREAD_MUTEX_ROBUST) and process-shared" if lock.is_shared else "robust (PTHREAD_MUTEX_ROBUST)"
    return f"Nobody will unlock it: the mutex is not robust. Make it {robust}, or unlock it before the thread ends."


def of_alive(lock: Lock, one: Holder, whole: WaitingProcess) -> list[str]:
    """Of memory that no other process has, an owner elsewhere can only be of before a fork."""
    if one.thread or one.state == "unknown" or lock.is_shared or whole.shared_file(lock.address) is not None:
        return []
    return ["The mutex is in memory of this process alone: fork has copied it locked, and nobody here will unlock it."]


# -- files ----------------------------------------------------------------------------------------------------


def of_file(whole: WaitingProcess, call: WaitingCall, found: Standing, thread: int, number: int) -> WaitingThread:
    pid, descriptor = gdb.selected_inferior().pid, call.arguments[0] & 0xFFFFFFFF
    path = proc_files.link(f"/proc/{pid}/fd/{descriptor}")
    inode = inode_of(pid, descriptor)
    wanted = file_locks.wanted_by(call, whole.memory, pid, inode)
    lock = Lock(wanted.kind, 0)
    who, unknown = having(whole, wanted) if inode else ([], unknown_file())
    name = f"of {path or 'an unknown file'} (descriptor {descriptor})"
    said = [unknown] if unknown else []
    kind = "flock" if call.number == FLOCK else "fcntl"
    return WaitingThread(lock, name, who, said, thread, number, found.spot, kind)


def unknown_file() -> str:
    return NO_TABLE + (OF_CORE if process.connection() == "core" else OF_LINK)


def inode_of(pid: int, descriptor: int) -> int:
    """0 where nobody says."""
    told = file_locks.inode_of(proc_files.text(f"/proc/{pid}/fdinfo/{descriptor}") or "")
    if told or process.is_remote() or process.connection() == "core":
        return told
    try:
        return os.stat(f"/proc/{pid}/fd/{descriptor}").st_ino
    except OSError:
        return 0


def having(whole: WaitingProcess, wanted: FileLock) -> tuple[list[Holder], str]:
    """Who stands in the way, and what is not known of that."""
    if not whole.locked:
        if proc_files.text("/proc/locks") is None:
            return [], unknown_file()
        return [], "nobody has it now"
    pids = {pid for one in whole.locked if one.stops(wanted) for pid in owners(one)}
    return [of_process(pid) for pid in sorted(pids)], "" if pids else "nobody has it now"


def owners(lock: FileLock) -> set[int]:
    """An open file is locked as long as a process has it open; the kernel lists only who has locked it."""
    if lock.kind == "fcntl lock":
        return {lock.pid}
    return {*open_in(lock)} or ({lock.pid} if lock.pid > 0 else set())


def open_in(lock: FileLock) -> list[int]:
    """Processes that have the locked file open through the description that is locked."""
    found = []
    for name in filter(str.isdigit, proc_files.names_in("/proc")):
        for descriptor in proc_files.names_in(f"/proc/{name}/fdinfo"):
            told = proc_files.text(f"/proc/{name}/fdinfo/{descriptor}") or ""
            if "lock:" in told and lock in file_locks.listed(told):
                found.append(int(name))
                break
    return found


def of_process(pid: int) -> Holder:
    if pid == gdb.selected_inferior().pid:
        return Holder(pid, "this process itself, through another descriptor")
    return holders.of_process(pid)

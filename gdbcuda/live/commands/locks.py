"""``cuda-locks``."""

from __future__ import annotations

from gdbcuda.command_line.options import Options, flag, words
from gdbcuda.errors import UserError
from gdbcuda.live import process
from gdbcuda.live.prompt.command import command
from gdbcuda.live.prompt.completing import EXPRESSION
from gdbcuda.text import render
from gdbcuda.text.json_text import json_text
from gdbcuda.text.printable import visible


class LocksOptions(Options):
    lock: list[str] = words(EXPRESSION, "a lock, or its address: an expression of gdb")
    json: bool = flag("as one JSON object")


@command("cuda-locks", LocksOptions, purpose="look", needs="stopped")
def cuda_locks(wanted: LocksOptions) -> str:
    """Show which threads wait for a lock, who has it, and deadlocks.

    Mutexes and read-write locks of pthread keep their owner. Semaphores and condition variables have none. For
    flock and fcntl the kernel lists who has the file locked. Each owner is shown with the place where it stands
    now; one that has ended, as dead. A circle of threads that wait for one another is named a deadlock.

    The command reads registers and memory alone, and works at any stop, after attach and on a core file, with a
    stripped libc too. Locks that the hook library's adapter names are shown as well. With LOCK it shows that
    lock, whether or not a thread waits for it.

    Examples:
      cuda-locks
      cuda-locks &region->lock
      cuda-locks --json"""
    from gdbcuda.live.locking import authors_locks, one_lock, owners_elsewhere
    from gdbcuda.locks import lock_report

    if not process.is_alive():
        raise UserError("there is no process to look at: run, attach PID or core-file FILE")
    if process.machine() != "x86-64":
        raise UserError("which system call a thread waits in is known on x86-64 alone", page="limits")
    if wanted.lock:
        return one_lock.told(" ".join(wanted.lock), wanted.json)
    found, named = owners_elsewhere.all_here(), one_lock.authors()
    if wanted.json:
        return json_text({**lock_report.data(found), "locks": [one.data() for one in named]})
    told, waited = lock_report.text(found) or "No thread waits for a lock.", {one.lock.address for one in found}
    others = [one.text() for one in named if one.lock.address not in waited]
    return render.fold_to_screen("\n".join([told, *others, *map(visible, authors_locks.not_found())]))

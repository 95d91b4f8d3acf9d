"""One lock that the user names: what it is, by its type, and who has it."""

from __future__ import annotations

from contextlib import suppress

import gdb

from gdbcuda.errors import Unreadable, UserError
from gdbcuda.live import process
from gdbcuda.live.locking import authors_locks, waiting_threads
from gdbcuda.locks import lock_report, recognised
from gdbcuda.locks.recognised import MUTEX, Lock
from gdbcuda.text.json_text import json_text

EXAMPLE = "cuda-locks (pthread_mutex_t *) 0x55d0c0de"


def told(expression: str, as_json: bool) -> str:
    shown = state_of(waiting_threads.WaitingProcess(), lock_of(expression))
    return json_text(shown.data()) if as_json else shown.text()


def state_of(whole: waiting_threads.WaitingProcess, lock: Lock) -> lock_report.LockState:
    who = waiting_threads.having_lock(whole, lock)
    name, remarks = waiting_threads.lock_name(whole, lock), waiting_threads.remarks(lock, who, whole)
    return lock_report.LockState(lock, name, who, remarks)


def authors() -> list[lock_report.LockState]:
    """Those that adapters name, and that can be read, whether or not anybody waits for them."""
    whole, found = waiting_threads.WaitingProcess(), []
    for one in whole.authors.values():
        with suppress(UserError, Unreadable):
            kind = one.kind or guessed(one.address)
            found.append(state_of(whole, recognised.lock_there(kind, one.address, whole.memory)))
    return found


def lock_of(expression: str) -> Lock:
    try:
        kind, address = place_of(gdb.parse_and_eval(expression))
        return recognised.lock_there(kind, address, process.InferiorMemory())
    except gdb.error as problem:
        raise UserError(f"{expression}: {str(problem).splitlines()[0]}") from None
    except Unreadable:
        raise UserError(f"what is at {expression} cannot be read") from None


def place_of(value: gdb.Value) -> tuple[str, int]:
    """Its kind and address; of a plain number, or a pointer to nothing known, a mutex that looks like one."""
    kind = value.type.strip_typedefs()
    named = authors_locks.kind_named(value.type)
    if kind.code in (gdb.TYPE_CODE_STRUCT, gdb.TYPE_CODE_UNION):
        if not named or value.address is None:
            raise UserError(f"{kind} is no lock that is known, for example: {EXAMPLE}")
        return named, int(value.address)
    address = int(value) & (1 << 64) - 1
    return named or guessed(address), address


def guessed(address: int) -> str:
    if recognised.is_mutex(process.InferiorMemory(), address):
        return MUTEX
    raise UserError(f"what is at {address:#x} does not look like a locked mutex; say what it is: {EXAMPLE}")

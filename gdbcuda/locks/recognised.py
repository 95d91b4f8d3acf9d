"""Which lock a futex word is part of: by the functions of libc that the thread is in, and by what is in memory there.

A stripped libc names only the functions that it exports; a mutex is recognised by its contents too.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from gdbcuda.errors import Unreadable
from gdbcuda.locks import glibc_locks
from gdbcuda.locks.waits import OPERATION, PRIVATE, WAITS_FOR_OWNER, WaitingCall
from gdbcuda.memory import Memory

MUTEX, RWLOCK, SEMAPHORE = "mutex", "read-write lock", "semaphore"
CONDITION, BARRIER, ONCE, JOIN = "condition variable", "barrier", "once", "thread's end"
INNER, WORD = "lock of libc", "futex word"
# What is in a function's name, the innermost frame first. A thread that comes back from a condition locks its mutex.
BY_NAME = {
    "mutex": MUTEX, "rwlock": RWLOCK, "sem_": SEMAPHORE, "new_sem": SEMAPHORE, "do_futex_wait": SEMAPHORE,
    "cond_": CONDITION, "barrier": BARRIER, "once": ONCE, "cxa_guard": ONCE, "join": JOIN, "lock_wait_private": INNER,
}  # fmt: skip
NO_OWNER = {
    SEMAPHORE: "a semaphore has no owner: whoever posts it",
    CONDITION: "a condition variable has no owner: whoever signals it",
    BARRIER: "it waits for the others to come",
    ONCE: "whoever began it does not keep its name there",
    INNER: "a lock that malloc, stdio or the loader has of its own keeps no owner",
    WORD: "nothing is known of its owner",
}
# Who locks it libc lets wait at a word of its own stack (nptl/pthread_mutex_lock.c): no other way to lock has 0 there.
OWNER_ENDED = ("its owner has ended inside, so nobody will unlock it: it is priority-inheriting and not robust, and "
               "the address is a word that libc waits at for ever, not the mutex's")  # fmt: skip
WAITERS = 0x80000000  # a bit of a robust mutex's word


class Lock(NamedTuple):
    """``owner``: the kernel's number of the thread that has it, 0 where none has or it keeps none; then ``remark`` says
    why. ``address`` is the lock's, or the word's where no more is known."""

    kind: str
    address: int
    owner: int = 0
    traits: tuple[str, ...] = ()
    remark: str = ""

    @property
    def is_robust(self) -> bool:
        return "robust" in self.traits

    @property
    def is_shared(self) -> bool:
        """Its threads wake those of other processes."""
        return self.is_robust or "process-shared" in self.traits


def lock_of(call: WaitingCall, memory: Memory, functions: Iterable[str], threads: Sequence[int]) -> Lock:
    """``functions``: of libc and the like that the thread is in, innermost first; ``threads``: those of the process."""
    address, operation, expected = call.arguments
    if expected in threads and word_at(memory, address) == expected:
        return Lock(JOIN, address, expected)
    kind = named_kind(functions)
    is_owned = operation & OPERATION in WAITS_FOR_OWNER or expected == 2 or bool(expected & WAITERS)
    if kind in (MUTEX, INNER, "") and is_owned and is_mutex(memory, address):
        kind = MUTEX
    if kind == MUTEX and not is_owned and not expected:
        return Lock(MUTEX, address, remark=OWNER_ENDED)
    if not kind and is_semaphore(memory, address, operation):
        kind = SEMAPHORE
    try:
        return READERS.get(kind, plain)(kind or WORD, address, memory)
    except Unreadable:
        return Lock(kind or WORD, address, remark=f"what is at {address:#x} cannot be read")


def named_kind(functions: Iterable[str]) -> str:
    return next((kind for name in functions for part, kind in BY_NAME.items() if part in name), "")


def word_at(memory: Memory, address: int) -> int:
    try:
        return int.from_bytes(memory.read(address, 4), "little")
    except Unreadable:
        return 0


def is_mutex(memory: Memory, address: int) -> bool:
    try:
        return glibc_locks.mutex_at(memory, address).is_plausible
    except Unreadable:
        return False


def is_semaphore(memory: Memory, address: int, operation: int) -> bool:
    try:
        found = glibc_locks.semaphore_at(memory, address)
    except Unreadable:
        return False
    return found.is_plausible and bool(operation & PRIVATE) == (not found.shared)


def plain(kind: str, address: int, memory: Memory) -> Lock:
    return Lock(kind, address, remark=NO_OWNER[kind])


def mutex(kind: str, address: int, memory: Memory) -> Lock:
    found = glibc_locks.mutex_at(memory, address)
    remark = found.remark or ("" if found.owner else "nobody has it now")
    return Lock(kind, address, found.owner, found.traits, remark)


def rwlock(kind: str, word: int, memory: Memory) -> Lock:
    return rwlock_there(kind, glibc_locks.rwlock_around(memory, word), memory)


def rwlock_there(kind: str, address: int, memory: Memory) -> Lock:
    found = glibc_locks.rwlock_at(memory, address)
    readers = "1 reader has it" if found.readers == 1 else f"{found.readers} readers have it"
    remark = f"{readers}; it keeps no names of readers" if found.readers else "nobody has it now"
    return Lock(kind, address, found.writer, found.traits, "" if found.writer else remark)


def semaphore(kind: str, address: int, memory: Memory) -> Lock:
    found = glibc_locks.semaphore_at(memory, address)
    return Lock(kind, address, remark=f"its value is {found.value}; {NO_OWNER[kind]}")


READERS = {MUTEX: mutex, RWLOCK: rwlock, SEMAPHORE: semaphore}
THERE = {**READERS, RWLOCK: rwlock_there}  # of a lock's own address
OF_TYPES = {
    "pthread_mutex_t": MUTEX, "mutex": MUTEX, "recursive_mutex": MUTEX, "timed_mutex": MUTEX,
    "recursive_timed_mutex": MUTEX, "pthread_rwlock_t": RWLOCK, "shared_mutex": RWLOCK, "sem_t": SEMAPHORE,
}  # fmt: skip


def lock_there(kind: str, address: int, memory: Memory) -> Lock:
    """One that nobody need wait for. `Unreadable`."""
    return THERE[kind](kind, address, memory)

"""What glibc keeps in a mutex, a read-write lock and a semaphore, read from memory.

(glibc: sysdeps/nptl/bits/struct_mutex.h, struct_rwlock.h, nptl/pthreadP.h, sysdeps/nptl/internaltypes.h; the same on
x86-64 and aarch64. The robust futex ABI: Linux, Documentation/locking/robust-futex-ABI.rst.)
"""

from __future__ import annotations

import struct
from typing import NamedTuple

from gdbcuda.files.word_layout import MOST_PIDS
from gdbcuda.memory import Memory

MUTEX, RWLOCK = struct.Struct("<iIiIi"), struct.Struct("<IIIIIIii")
SEMAPHORE = struct.Struct("<IIi")
TYPES = {0: "", 1: "recursive", 2: "error-checking", 3: "adaptive"}
ROBUST, INHERIT, PROTECT, SHARED = 16, 32, 64, 128
KNOWN_BITS = 3 | ROBUST | INHERIT | PROTECT | SHARED | 256 | 512  # the last two: lock elision
TRAITS = {ROBUST: "robust", INHERIT: "priority-inheriting", PROTECT: "priority-protected", SHARED: "process-shared"}
OWNER_DIED, NUMBER = 0x40000000, 0x3FFFFFFF  # bits of a robust mutex's word
INCONSISTENT, NOT_RECOVERABLE = 0x7FFFFFFF, 0x7FFFFFFE  # what __owner is then
WRITTEN, READERS = 3, 3  # bits of the first word: phase and lock of a writer; the shift of the count of readers
FLAGS = 3  # of such a word: it is taken, somebody waits
PHASE, WRITERS = 8, 12  # the two words of a read-write lock that threads wait at, beside its first


class Mutex(NamedTuple):
    """``word``: what threads wait at; ``owner``: a kernel's thread number, 0 for none."""

    word: int
    times: int
    owner_field: int
    users: int
    kind: int

    @property
    def is_robust(self) -> bool:
        return bool(self.kind & ROBUST)

    @property
    def is_shared(self) -> bool:
        return bool(self.kind & SHARED)

    @property
    def owner(self) -> int:
        """Robust and priority-inheriting ones have it in the word that the kernel knows."""
        if self.kind & (ROBUST | INHERIT):
            return self.word & NUMBER
        return self.owner_field if self.word else 0

    @property
    def traits(self) -> tuple[str, ...]:
        """A robust one has the bit of a shared one in any case, so whether it was made so is not known."""
        kind = self.kind & ~SHARED if self.is_robust else self.kind
        named = [TYPES[kind & 3], *(name for bit, name in TRAITS.items() if kind & bit)]
        return tuple(filter(None, named))

    @property
    def remark(self) -> str:
        if self.owner_field == NOT_RECOVERABLE:
            return "not recoverable: it was unlocked without pthread_mutex_consistent after its owner had died"
        if self.is_robust and self.word & OWNER_DIED:
            return "its owner has died with it: who locks it next gets EOWNERDEAD"
        if self.owner_field == INCONSISTENT:
            return "its former owner died with it, and pthread_mutex_consistent has not been called"
        return f"locked {self.times} times" if self.kind & 1 and self.times > 1 else ""

    @property
    def is_plausible(self) -> bool:
        """A locked one: the chance that something else looks like it is small."""
        if self.kind & ~KNOWN_BITS or not 0 < self.owner < MOST_PIDS or self.users > MOST_PIDS:
            return False
        return bool(self.kind & (ROBUST | INHERIT)) or (self.word in (1, 2) and self.users > 0)


class ReadWriteLock(NamedTuple):
    """``readers`` have it now; ``writer``: its thread number, 0 for none."""

    readers: int
    writer: int
    is_shared: bool

    @property
    def traits(self) -> tuple[str, ...]:
        return ("process-shared",) if self.is_shared else ()


class Semaphore(NamedTuple):
    """``value``: how often it can be had at once; ``waiters``: as glibc counts; ``shared``: 128 among processes."""

    value: int
    waiters: int
    shared: int

    @property
    def is_plausible(self) -> bool:
        return not self.value and 0 < self.waiters < MOST_PIDS and self.shared in (0, SHARED)


def mutex_at(memory: Memory, address: int) -> Mutex:
    """`Unreadable`."""
    return Mutex(*MUTEX.unpack(memory.read(address, MUTEX.size)))


def rwlock_at(memory: Memory, address: int) -> ReadWriteLock:
    """`Unreadable`. While a writer has it, or is next, the readers counted are those that wait."""
    readers, _, _, _, _, _, writer, shared = RWLOCK.unpack(memory.read(address, RWLOCK.size))
    is_written = readers & WRITTEN == WRITTEN
    return ReadWriteLock(0 if is_written else readers >> READERS, writer if is_written else 0, bool(shared))


def rwlock_around(memory: Memory, word: int) -> int:
    """The read-write lock that has that word to wait at: it begins at a multiple of 8. `Unreadable`."""
    if word % 8:
        return word - WRITERS
    *words, writer, shared = RWLOCK.unpack(memory.read(word - PHASE, RWLOCK.size))
    is_phase = 0 <= writer < MOST_PIDS and shared in (0, 1) and words[2] <= FLAGS and words[3] <= FLAGS
    return word - PHASE if is_phase and words[4:] == [0, 0] else word


def semaphore_at(memory: Memory, address: int) -> Semaphore:
    """`Unreadable`."""
    return Semaphore(*SEMAPHORE.unpack(memory.read(address, SEMAPHORE.size)))

"""What is read out of locks, registers and the kernel's lists, over bytes alone."""

from __future__ import annotations

import struct

import pytest

from gdbcuda.locks import file_locks, lock_report, recognised, waits
from gdbcuda.locks.lock_report import Holder, WaitingThread
from gdbcuda.locks.recognised import Lock
from gdbcuda.locks.waits import WaitingCall
from gdbcuda.memory import DictMemory

AT, OWNER = 0x1000, 4711
ROBUST, SHARED, RECURSIVE = 16, 128, 1


def mutex(word: int, owner: int, users: int, kind: int, count: int = 0) -> bytes:
    return struct.pack("<IIiIi", word, count, owner, users, kind).ljust(40, b"\0")


def rwlock(readers: int, writers: int, phase: int, waiting: int, writer: int = 0) -> bytes:
    return struct.pack("<IIIIIIii", readers, writers, phase, waiting, 0, 0, writer, 0).ljust(56, b"\0")


def waited(raw: bytes, operation: int, expected: int, *functions: str, offset: int = 0) -> Lock:
    """The lock, of a thread that waits in a futex call inside these functions."""
    call = WaitingCall(waits.FUTEX, (AT + offset, operation, expected))
    return recognised.lock_of(call, DictMemory({AT: raw}), functions, [OWNER, 99])


def test_a_mutex_without_any_name_of_a_function() -> None:
    assert waited(mutex(2, OWNER, 1, 0), 0x80, 2) == Lock("mutex", AT, OWNER)
    recursive = waited(mutex(2, OWNER, 1, RECURSIVE, 3), 0x80, 2)
    assert recursive == Lock("mutex", AT, OWNER, ("recursive",), "locked 3 times")
    robust = waited(mutex(0x80000000 | OWNER, OWNER, 1, ROBUST | SHARED), 0, 0x80000000 | OWNER)
    assert robust == Lock("mutex", AT, OWNER, ("robust",)), "which each robust one is by its bits"
    assert robust.is_shared
    assert waited(mutex(0x80000000 | OWNER, 0, 0, 32), 0x86, 0).owner == OWNER, "FUTEX_LOCK_PI"


@pytest.mark.parametrize("raw", [
    mutex(2, 0, 1, 0), mutex(2, OWNER, 0, 0), mutex(2, OWNER, 1, 1 << 20), mutex(7, OWNER, 1, 0),
    mutex(2, 1 << 23, 1, 0),
])  # fmt: skip
def test_what_only_looks_like_a_mutex(raw: bytes) -> None:
    found = waited(raw, 0x80, 2)
    assert found.kind == "futex word" and not found.owner and found.remark == "nothing is known of its owner"


def test_a_mutex_by_its_function_that_nobody_has() -> None:
    assert waited(mutex(0, 0, 0, 0), 0x80, 2, "__lll_lock_wait", "pthread_mutex_lock").remark == "nobody has it now"


def test_a_priority_inheriting_mutex_whose_owner_has_ended() -> None:
    """libc waits at a word of its own."""
    found = waited(bytes(64), 0x109, 0, "__futex_abstimed_wait64", "__pthread_mutex_lock_full")
    assert found.kind == "mutex" and found.remark.startswith("its owner has ended inside, so nobody will unlock it")


def test_remarks_of_robust_mutexes() -> None:
    def remark(word: int, owner: int) -> str:
        memory = DictMemory({AT: mutex(word, owner, 1, ROBUST)})
        return recognised.lock_there("mutex", AT, memory).remark

    assert "its owner has died with it" in remark(0x40000000 | OWNER, OWNER)
    assert "pthread_mutex_consistent has not been called" in remark(OWNER, 0x7FFFFFFF)
    assert remark(0, 0x7FFFFFFE).startswith("not recoverable")


def test_read_write_locks_by_the_word_that_is_waited_at() -> None:
    written = rwlock(0b1011, 0, 3, 3, OWNER)
    for offset in (8, 12):
        assert waited(written, 0x189, 3, "pthread_rwlock_rdlock", offset=offset) == Lock("read-write lock", AT, OWNER)
    read = waited(rwlock(0b10010, 0, 2, 1), 0x189, 2, "??", "pthread_rwlock_wrlock", offset=8)
    assert read == Lock("read-write lock", AT, remark="2 readers have it; it keeps no names of readers")


def test_semaphores_with_and_without_a_name() -> None:
    raw = struct.pack("<IIii", 0, 2, 0, 0)
    by_name, by_contents = waited(raw, 0x189, 0, "sem_wait"), waited(raw, 0x189, 0)
    assert by_name == by_contents and by_name.kind == "semaphore"
    assert by_name.remark.startswith("its value is 0; a semaphore has")
    assert waited(raw, 0x109, 0).kind == "futex word", "a call among processes, and a semaphore of one"


def test_the_innermost_name_decides() -> None:
    """A thread that was signalled locks its mutex again."""
    found = waited(mutex(2, OWNER, 1, 0), 0x80, 2, "__lll_lock_wait", "__pthread_mutex_cond_lock", "pthread_cond_wait")
    assert (found.kind, found.owner) == ("mutex", OWNER)
    assert waited(bytes(64), 0x189, 0, "futex_wait", "pthread_cond_wait").kind == "condition variable"
    assert waited(bytes(64), 0x80, 2, "__lll_lock_wait_private", "malloc").kind == "lock of libc"


def test_a_thread_that_is_joined_and_memory_that_is_gone() -> None:
    assert waited(struct.pack("<I", 99), 0x109, 99, "pthread_join") == Lock("thread's end", AT, 99)
    assert waited(b"", 0x80, 2, "pthread_mutex_lock").remark == "what is at 0x1000 cannot be read"


REGISTERS = {"orig_rax": 202, "rax": (1 << 64) - 512, "rdi": AT, "rsi": 0x80, "rdx": 2}


def test_only_a_call_that_a_stop_has_interrupted_waits() -> None:
    found = waits.waiting_call(REGISTERS, b"\x0f\x05")
    assert found is not None and found.is_futex and found.arguments == (AT, 0x80, 2) and found.name == "futex"
    assert waits.waiting_call({**REGISTERS, "orig_rax": (1 << 64) - 1}, b"\x0f\x05") is None, "no call"
    assert waits.waiting_call({**REGISTERS, "rax": 0}, b"\x0f\x05") is None, "it is over"
    assert waits.waiting_call(REGISTERS, b"\x90\x90") is None
    wakes = waits.waiting_call({**REGISTERS, "rsi": 0x81}, b"\x0f\x05")
    assert wakes is not None and not wakes.is_futex
    restarted = waits.waiting_call({**REGISTERS, "orig_rax": 219, "rsi": 0x189}, b"\x0f\x05")
    assert restarted is not None and restarted.is_futex
    polls = waits.waiting_call({**REGISTERS, "orig_rax": 219, "rsi": 0}, b"\x0f\x05")
    assert polls is not None and not polls.is_futex


LOCKED = """1: POSIX  ADVISORY  WRITE 9621 fe:00:2181459 0 EOF
1: -> POSIX  ADVISORY  WRITE 9619 fe:00:2181459 0 EOF
2: FLOCK  ADVISORY  WRITE 9619 fe:00:2181460 0 EOF
3: POSIX  ADVISORY  READ  77 fe:00:2181459 100 199
4: OFDLCK ADVISORY  READ  -1 00:1f:2181460 0 0
5: LEASE  ACTIVE    READ  77 fe:00:2181459 0 EOF
"""


def test_who_has_a_file_locked() -> None:
    first, flock, some, of_description = file_locks.listed(LOCKED)
    assert (first.kind, first.pid, first.inode, first.is_exclusive) == ("fcntl lock", 9621, 2181459, True)
    assert (some.start, some.end, some.is_exclusive) == (100, 199, False)
    assert (of_description.kind, of_description.pid, of_description.end) == ("open file description lock", -1, 0)
    assert [*file_locks.listed("lock:\t1: FLOCK  ADVISORY  WRITE 9619 fe:00:2181460 0 EOF\n")] == [flock]


def wanted(
    number: int, operation: int, mode: int = 1, whence: int = 0, start: int = 0, length: int = 0
) -> file_locks.FileLock:
    memory = DictMemory({AT: struct.pack("<hhxxxxqq", mode, whence, start, length)})
    return file_locks.wanted_by(WaitingCall(number, (3, operation, AT)), memory, 5, 2181459)


def test_which_locks_stand_in_the_way() -> None:
    first, flock, some, _ = file_locks.listed(LOCKED)
    whole, read = wanted(72, 7), wanted(72, 7, mode=0, start=150, length=10)
    assert first.stops(whole) and some.stops(whole) and not flock.stops(whole)
    assert first.stops(read) and not some.stops(read), "two readers do not stop each other"
    assert not some.stops(wanted(72, 7, start=200, length=1)) and some.stops(wanted(72, 7, start=201, length=-50))
    assert some.stops(wanted(72, 7, whence=2, start=0, length=1)), "from the end on: anywhere"
    assert not first.stops(whole._replace(pid=9621)), "a process does not stop itself"
    assert flock.stops(wanted(73, 2)._replace(inode=2181460)) and not flock.stops(wanted(73, 2))


def test_inodes() -> None:
    assert file_locks.inode_of("pos:\t0\nflags:\t02\nmnt_id:\t1\nino:\t77\n") == 77
    assert file_locks.inode_of("pos:\t0\n") == 0


def waiting(thread: int, *after: int) -> WaitingThread:
    who = [Holder(one, f"thread {one}", str(one)) for one in after]
    return WaitingThread(Lock("mutex", AT), f"m{thread}", who, [], thread, thread)


def test_circles_of_waiting_threads() -> None:
    threads = [waiting(1, 2), waiting(2, 3), waiting(3, 1), waiting(4, 1), waiting(5, 5), waiting(6, 7)]
    found = [*lock_report.circles(threads)]
    assert [[one.thread for one in circle] for circle in found] == [[1, 2, 3], [5]]
    text = lock_report.text([waiting(1, 2), waiting(2, 1)])
    assert text.startswith("Deadlock: thread 1 waits for thread 2 (mutex m1), thread 2 waits for thread 1 (mutex m2)\n")
    assert not lock_report.text([])


def test_a_process_elsewhere_closes_no_circle() -> None:
    """Its number may be that of a thread by chance: of another namespace."""
    other = WaitingThread(Lock("mutex", AT), "m", [Holder(1, "process 1")], [], 1, 1)
    assert not [*lock_report.circles([other])]


def test_equal_waits_are_shown_together() -> None:
    three = [waiting(thread, 9) for thread in (2, 3, 4, 6)]
    for one in three:
        one.name = "m"
    assert lock_report.text(three).splitlines()[0] == "Threads 2-4, 6 wait for the mutex m"

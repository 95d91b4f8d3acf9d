"""The Python frames of each thread, innermost first. (CPython's Include/internal/pycore_frame.h.)"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Any, NamedTuple

from gdbcuda.cpython.layouts import NOWHERE, Layout
from gdbcuda.cpython.python_objects import UNKNOWN, CodeObjects, PythonCode, half, word
from gdbcuda.errors import Unreadable
from gdbcuda.memory import Memory

MOST_THREADS = 100_000
MOST_FRAMES = 100_000  # of one stack: Python's own limit is far below
NOT_PYTHON = 3  # the owner of frames that only mark where C called the interpreter
OF_GENERATOR = 1


class PythonFrame(NamedTuple):
    """``line`` is None where the code there has none. ``entry`` tells the calls of the interpreter from C apart, each
    of which runs one or several frames: the address of the oldest one, or of the mark behind it (in the thread's stack,
    3.12 and newer); 0 where each frame is such a call (3.9 and 3.10)."""

    file: str
    line: int | None
    function: str
    entry: int = 0

    @property
    def is_known(self) -> bool:
        return not self.file == self.function == UNKNOWN or self.line is not None

    def as_data(self) -> dict[str, Any]:
        return {"file": self.file, "line": self.line, "function": self.function}


UNREADABLE = PythonFrame(UNKNOWN, None, UNKNOWN)


class PythonStack(NamedTuple):
    """``is_whole``: down to the thread's first frame. A thread that was stopped in the middle of a call may not be. The
    last frame is `UNREADABLE` then, and so is one of whose code nothing can be read."""

    frames: list[PythonFrame]
    is_whole: bool


def entered(frames: Iterable[PythonFrame]) -> list[list[PythonFrame]]:
    """The frames of each call of the interpreter, innermost first: a native frame each."""
    found: list[list[PythonFrame]] = []
    for one in frames:
        if one.entry and found and found[-1][0].entry == one.entry:
            found[-1].append(one)
        else:
            found.append([one])
    return found


class ThreadState(NamedTuple):
    """``native``: the kernel's number of the thread, 0 where this version does not keep it."""

    address: int
    pthread: int
    native: int


class Interpreter:
    """One CPython in a process: where its ``_PyRuntime`` is, and how its structs are laid out."""

    def __init__(self, runtime: int, layout: Layout) -> None:
        self.runtime, self.layout = runtime, layout
        self.codes = CodeObjects(layout)

    def threads(self, memory: Memory) -> Iterator[ThreadState]:
        """Of all subinterpreters."""
        one = self.layout
        for interpreter in links(memory, self.runtime + one.interpreters, one.interpreter_next):
            for thread in links(memory, interpreter + one.interpreter_threads, one.thread_next):
                size = max(one.thread_pthread, one.thread_native) + 8
                data = memory.read(thread, size)
                native = 0 if one.thread_native == NOWHERE else word(data, one.thread_native)
                yield ThreadState(thread, word(data, one.thread_pthread), native)

    def stack(self, memory: Memory, thread: ThreadState) -> PythonStack:
        """What can be read of it."""
        found: list[PythonFrame] = []
        try:
            self.prefetch(memory, thread)
            for at, data in self.frames(memory, thread):
                self.append(memory, at, data, found)
        except Unreadable as problem:
            found.append(UNREADABLE)
            if self.layout.frame_owner != NOWHERE:  # the marks behind it are not known
                mark(found, problem.address)
            return PythonStack(found, False)
        return PythonStack(found, True)

    def frames(self, memory: Memory, thread: ThreadState) -> Iterator[tuple[int, bytes]]:
        """Where each is, and its bytes."""
        at, seen = self.innermost(memory, thread), set[int]()
        while at:
            if at in seen or len(seen) == MOST_FRAMES:
                raise Unreadable(at, self.layout.frame_size)
            seen.add(at)
            data = memory.read(at, self.layout.frame_size)
            yield at, data
            at = word(data, self.layout.frame_previous)

    def prefetch(self, memory: Memory, thread: ThreadState) -> None:
        """The frames of functions lie in one piece: a far process sends it at once. (_PyStackChunk: previous, size.)"""
        if self.layout.chunk == NOWHERE:
            return
        with suppress(Unreadable):
            chunk = word(memory.read(thread.address + self.layout.chunk, 8), 0)
            size = word(memory.read(chunk, 16), 8)
            memory.read(chunk, min(size, 1 << 16))

    def innermost(self, memory: Memory, thread: ThreadState) -> int:
        """Address of the thread's frame; 0 where it runs no Python."""
        at = thread.address
        for offset in self.layout.frame_of:
            at = at and word(memory.read(at + offset, 8), 0)
        return at

    def append(self, memory: Memory, address: int, data: bytes, found: list[PythonFrame]) -> None:
        """The frame, or the mark behind the frames that are called through it."""
        one = self.layout
        owner = 0 if one.frame_owner == NOWHERE else data[one.frame_owner]
        if owner >= NOT_PYTHON:
            mark(found, address)
            return
        code = self.code(memory, data)
        if code and code.first_line == 0 and owner != OF_GENERATOR and one.version >= (3, 13):
            return  # what calls an __init__ is a frame too
        found.append(PythonFrame(code.file, self.line(memory, code, data), code.function) if code else UNREADABLE)
        if one.version == (3, 11) and data[one.frame_owner - 1]:  # is_entry
            mark(found, address)

    def code(self, memory: Memory, data: bytes) -> PythonCode | None:
        """That the frame runs."""
        with suppress(Unreadable):
            return self.codes.at(memory, word(data, self.layout.frame_code) & self.layout.code_mask)
        return None

    def line(self, memory: Memory, code: PythonCode, data: bytes) -> int | None:
        one = self.layout
        if one.frame_line == NOWHERE:
            start = self.start(memory, code, data)
            return None if start is None else code.line(one.version, word(data, one.frame_position) - start)
        is_kept = half(data, one.frame_line) if one.version == (3, 10) else word(data, one.frame_trace)
        if is_kept:
            return half(data, one.frame_line)
        unit = 2 if one.version == (3, 10) else 1
        return code.line(one.version, unit * half(data, one.frame_position))

    def start(self, memory: Memory, code: PythonCode, data: bytes) -> int | None:
        """Where the bytecode that the frame runs begins. None where there is no such copy."""
        which = 0 if self.layout.frame_copy == NOWHERE else half(data, self.layout.frame_copy)
        if not which:
            return code.start
        with suppress(Unreadable):
            if 0 < which < MOST_THREADS:
                copies = memory.read(code.copies, 8 * (which + 2))
                return word(copies, 8 * (which + 1)) if which < word(copies, 0) else None
        return None


def mark(found: list[PythonFrame], address: int) -> None:
    for index in range(len(found) - 1, -1, -1):
        if found[index].entry:
            return
        found[index] = found[index]._replace(entry=address)


def links(memory: Memory, first: int, following: int) -> Iterator[int]:
    """A linked list: the addresses of what is in it."""
    at, seen = word(memory.read(first, 8), 0), set[int]()
    while at and at not in seen and len(seen) < MOST_THREADS:
        seen.add(at)
        yield at
        at = word(memory.read(at + following, 8), 0)

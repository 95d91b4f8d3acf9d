"""The lines of Python that a process notes itself: it is told which CPython it has, and what its words mean is read.

(`ring_layout.PYTHON`; shim/trace/python.c)
"""

from __future__ import annotations

import os
import secrets
import struct
from collections.abc import Collection, Iterable
from contextlib import suppress
from typing import Callable

from gdbcuda.calls.record import Call
from gdbcuda.cpython import own_code
from gdbcuda.cpython.thread_frames import PythonFrame
from gdbcuda.errors import Unreadable
from gdbcuda.live import process
from gdbcuda.live.patching import agent
from gdbcuda.live.pythons import thread_stacks
from gdbcuda.live.recording.in_process import past_gdb
from gdbcuda.memory import Memory
from gdbcuda.rings import python_words
from gdbcuda.rings.ring_layout import IS_PYTHON, MOST_TOLD, PYTHON, PYTHON_STACKS, PYTHON_SYMBOL, WORD
from gdbcuda.rings.traced.trace_python import PythonStacks


class ToldPython:
    """Of one process. ``frames``: by the word of a stack. ``sites``: the place of the user's own line, and those of all
    lines."""

    def __init__(self, words: int = 0, folder: str = "") -> None:
        """``words``: where the process keeps `ring_layout.PYTHON`, 0 where that is not known yet."""
        self.words, self.folder = words, folder
        self.frames: dict[int, list[PythonFrame]] = {}
        self.sites: dict[int, tuple[int, list[int]]] = {}

    def begin(self, functions: Collection[str], folder: str) -> None:
        """As soon as a CPython is loaded."""
        if not functions or self.words:
            return
        place, found = agent.symbol(PYTHON_SYMBOL), thread_stacks.interpreters()
        if place is None or not found:
            return
        words = python_words.words(found[0].layout)
        words[PYTHON["RUNTIME"]] = found[0].runtime
        words[PYTHON["SALT"]] = secrets.randbits(64)  # what an earlier recording has told is told again
        words[PYTHON["TOLD"]] = area(process.InferiorMemory(), place.address)[0]
        past_gdb.write(place.address, struct.pack(f"<{len(words)}Q", *words))
        self.words, self.folder = place.address, folder

    def read(self, words: Iterable[int], place_of: Callable[[PythonFrame], int]) -> None:
        """What those mean that are new."""
        new = {one for one in words if one & IS_PYTHON and one not in self.sites}
        if not new:
            return
        stacks = PythonStacks(self.raw())
        for one in new:
            frames = self.frames[one] = stacks.frames(one)
            own = own_code.site(frames)
            self.sites[one] = place_of(own) if own is not None else 0, [place_of(frame) for frame in frames]

    def is_from(self, stack: int, words: Iterable[str]) -> bool:
        """A line of that stack is meant by one of the words."""
        return any(own_code.is_meant(one, word) for one in self.frames.get(stack, ()) for word in words)

    def raw(self) -> bytes:
        with suppress(OSError):
            if self.folder:
                with open(os.path.join(self.folder, PYTHON_STACKS), "rb") as file:
                    return file.read()
        return told(process.InferiorMemory(), self.words)

    def name(self, calls: Iterable[Call]) -> None:
        """The word that each has for its stack becomes places."""
        for call in calls:
            if call.python:
                call.python, lines = self.sites.get(call.python, (0, []))
                call.stack = [*(call.stack or [call.caller]), *lines] if lines else call.stack


def area(memory: Memory, words: int) -> tuple[int, int]:
    """Where it is and how long; 0 where there is none."""
    found = struct.unpack("<2Q", memory.read(words + PYTHON["TOLD"] * WORD, 2 * WORD))
    return found[0], min(found[1], MOST_TOLD)


def told(memory: Memory, words: int) -> bytes:
    with suppress(Unreadable):
        start, size = area(memory, words)
        return memory.read(start, size) if start and size else b""
    return b""

"""Python stacks read from memory are those that Python itself tells."""

from __future__ import annotations

import json
import random
import struct
import subprocess
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import interpreters_here
import pytest
from interpreters_here import MINORS, WITHOUT_GIL
from process_memory import AT_PHDR, AT_PHNUM, ProcessMemory, auxiliary

from gdbcuda.cpython.interpreters import interpreter
from gdbcuda.cpython.layouts import KNOWN
from gdbcuda.cpython.python_objects import PythonCode
from gdbcuda.cpython.thread_frames import Interpreter, PythonStack, ThreadState
from gdbcuda.errors import Unreadable
from gdbcuda.linkage import image
from gdbcuda.memory import DictMemory

PROGRAM = Path(__file__).resolve().parent / "python_stacks.py"
HERE = {**interpreters_here.found(), **interpreters_here.without_gil()}


class Standing(NamedTuple):
    """A process of one Python, what it said of its threads, and how it is read."""

    process: subprocess.Popen[str]
    told: dict[int, list[list[object]]]
    memory: ProcessMemory
    python: Interpreter

    def stacks(self) -> dict[int, PythonStack]:
        return {one.pthread: self.python.stack(self.memory, one) for one in self.python.threads(self.memory)}


def read_interpreter(memory: ProcessMemory, pid: int) -> Interpreter:
    values = auxiliary(pid)
    objects = image.images(memory, values[AT_PHDR], values[AT_PHNUM])

    def find(name: str) -> tuple[int, int] | None:
        symbols = [found for one in objects if (found := one.lookup(name))]
        return (symbols[0].address, symbols[0].size) if symbols else None

    found = interpreter(memory, find)
    assert found is not None
    return found


@pytest.fixture(scope="module", params=[*(f"3.{minor}" for minor in MINORS), *WITHOUT_GIL])
def standing(request: pytest.FixtureRequest) -> Iterator[Standing]:
    if request.param not in HERE:
        pytest.skip(f"no Python {request.param} on this machine")
    line = [HERE[request.param], str(PROGRAM)]
    process = subprocess.Popen(line, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    told = {int(thread): stack for thread, stack in json.loads(process.stdout.readline()).items()}
    time.sleep(0.1)  # the main thread comes to its readline
    memory = ProcessMemory(process.pid)
    yield Standing(process, told, memory, read_interpreter(memory, process.pid))
    memory.close()
    process.kill()
    process.communicate()


def test_every_frame_of_every_thread(standing: Standing) -> None:
    stacks = standing.stacks()
    assert len(standing.told) == 7
    for thread, told in standing.told.items():
        assert stacks[thread].is_whole
        assert [[one.file, one.line, one.function] for one in stacks[thread].frames] == told


def test_the_main_thread_waits_at_its_last_line(standing: Standing) -> None:
    main = next(stack for thread, stack in standing.stacks().items() if thread not in standing.told)
    last = PROGRAM.read_text().rstrip().count("\n") + 1
    assert [(one.file, one.line, one.function) for one in main.frames] == [(str(PROGRAM), last, "<module>")]


def test_kept_code_costs_one_read_a_frame(standing: Standing) -> None:
    standing.stacks()
    before = standing.memory.reads
    frames = sum(len(stack.frames) for stack in standing.stacks().values())
    assert standing.memory.reads - before < 4 * frames


class ScribbledMemory:
    """One byte in a hundred reads is another one than in the process."""

    def __init__(self, memory: ProcessMemory, seed: int) -> None:
        self.memory, self.dice = memory, random.Random(seed)

    def read(self, address: int, size: int) -> bytes:
        data = bytearray(self.memory.read(address, size))
        if data and not self.dice.randrange(100):
            data[self.dice.randrange(len(data))] = self.dice.randrange(256)
        return bytes(data)


def test_damaged_memory_gives_less_and_no_fault(standing: Standing) -> None:
    """What was read before is there, and the stack says that it is not whole."""
    cut = 0
    for seed in range(60):
        memory = ScribbledMemory(standing.memory, seed)
        fresh = Interpreter(standing.python.runtime, standing.python.layout)
        with suppress(Unreadable):  # of the list of threads itself
            stacks = [fresh.stack(memory, one) for one in fresh.threads(memory)]
            cut += any(not one.is_whole for one in stacks)
    assert cut


class OtherMemory:
    """Words that are others than in the process; None: what is read there is not."""

    def __init__(self, memory: ProcessMemory, words: dict[int, int | None]) -> None:
        self.memory, self.words = memory, words

    def read(self, address: int, size: int) -> bytes:
        data = bytearray(self.memory.read(address, size))
        for at, word in self.words.items():
            if word is None and address <= at < address + size:
                raise Unreadable(address, size)
            if word is not None and address <= at <= address + size - 8:
                struct.pack_into("<Q", data, at - address, word)
        return bytes(data)


def deep(standing: Standing) -> tuple[Interpreter, ThreadState, list[int], int]:
    """The thread that has called itself 60 times: its state, its frames, and the code of most of them."""
    one = Interpreter(standing.python.runtime, standing.python.layout)
    state = next(each for each in one.threads(standing.memory) if len(one.stack(standing.memory, each).frames) > 60)
    frames = dict(one.frames(standing.memory, state))
    code = struct.unpack_from("<Q", frames[[*frames][5]], one.layout.frame_code)[0] & one.layout.code_mask
    return Interpreter(one.runtime, one.layout), state, [*frames], code


def test_a_frame_that_cannot_be_read_hides_no_other(standing: Standing) -> None:
    one, state, _frames, code = deep(standing)
    right = one.stack(standing.memory, state).frames
    for place, file, function in ((code, "?", "?"), (code + one.layout.code_file, str(PROGRAM), "deep")):
        fresh = Interpreter(one.runtime, one.layout)
        words = {place: None if place == code else 8}
        found = fresh.stack(OtherMemory(standing.memory, words), state)
        assert found.is_whole and len(found.frames) == len(right)
        for shown, was in zip(found.frames, right):
            unknown = was._replace(file="?") if file != "?" else was._replace(file="?", line=None, function=function)
            assert shown._replace(entry=0) == (unknown if was.function == "deep" else was)._replace(entry=0)


def test_frames_and_threads_in_a_circle_end(standing: Standing) -> None:
    one, state, frames, _code = deep(standing)
    layout = one.layout
    found = one.stack(OtherMemory(standing.memory, {frames[9] + layout.frame_previous: frames[3]}), state)
    assert not found.is_whole and len(found.frames) <= 11 and found.frames[-1].function == "?"
    assert len({each.entry for each in found.frames}) == 1  # no native frame is taken for two of them
    circle = OtherMemory(standing.memory, {state.address + layout.thread_next: state.address})
    assert 0 < len([*one.threads(circle)]) <= len(standing.stacks())


@pytest.mark.parametrize(
    ("which", "position", "line"),
    [
        (0, 0x3100, 41),
        (0, 0x3102, 42),
        (0, 0x30FE, 41),  # it has not begun
        (0, 0x3104, None),  # behind its end
        (0, 0x30FC, None),
        (0, 0x5002, None),  # in a copy that is not the frame's
        (1, 0x5002, 42),
        (1, 0x3102, None),
        (2, 0x5002, None),  # there is no such copy
        (-1, 0x5002, None),
    ],
)
def test_a_line_is_told_of_the_bytecode_that_the_frame_runs(which: int, position: int, line: int | None) -> None:
    """Without GIL each thread has a copy of it, since 3.14. What lies in none has no line rather than the next one."""
    layout = KNOWN[(3, 12)]._replace(version=(3, 14), frame_copy=8, code_copies=16)
    code = PythonCode("train.py", "step", 41, bytes([0xE8, 0, 0xE8, 2]), 0x3100, 0x4000)  # two instructions
    memory = DictMemory({0x4000: struct.pack("<4Q", 2, 0x3100, 0x5000, 0x3100)})
    frame = bytearray(layout.frame_size)
    struct.pack_into("<i", frame, 8, which)
    struct.pack_into("<Q", frame, layout.frame_position, position)
    assert Interpreter(0x1000, layout).line(memory, code, bytes(frame)) == line


def test_another_version_is_not_guessed_at() -> None:
    """3.8 and a CPython to come: no stack rather than a wrong one."""
    unknown = struct.pack("<8sQQ", b"xdebugpy", 0x03_0F_00_F0, 0)
    for head, version in ((unknown, None), (bytes(24), 0x0308_00F0), (bytes(24), 0x0400_00F0)):
        memory = DictMemory({0x1000: head, 0x2000: struct.pack("<Q", version or 0)})
        symbols = {"_PyRuntime": (0x1000, 600), **({"Py_Version": (0x2000, 8)} if version else {})}
        assert interpreter(memory, symbols.get) is None

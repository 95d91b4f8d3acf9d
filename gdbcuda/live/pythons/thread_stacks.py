"""The Python frames of the program's threads.

A thread is found among Python's own by its pthread_t, which is the thread pointer (fs_base), or by the kernel's
number: in a container that is another one for Python than for gdb.
"""

from __future__ import annotations

import os
from contextlib import suppress

import gdb

from gdbcuda.cpython import autograd
from gdbcuda.cpython.interpreters import Find, interpreter
from gdbcuda.cpython.thread_frames import Interpreter, PythonFrame, PythonStack, ThreadState
from gdbcuda.errors import Unreadable, UserError
from gdbcuda.linkage.image import Image
from gdbcuda.live import process
from gdbcuda.memory import Memory
from gdbcuda.memory.paged_memory import PagedMemory

NOTHING = PythonStack([], True)


@process.until_objects_change
def interpreters() -> list[Interpreter]:
    """More than one only where a program embeds two."""
    memory = process.InferiorMemory()
    found = (interpreter(memory, finder(one)) for one in process.images() if may_be_python(one))
    return [one for one in found if one is not None]


def may_be_python(image: Image) -> bool:
    """The program itself, or a libpython: a lookup in each of 200 objects would cost a far process many packets."""
    return not image.name or "python" in os.path.basename(image.name)


def finder(image: Image) -> Find:
    def find(name: str) -> tuple[int, int] | None:
        found = image.lookup(name)
        return (found.address, found.size) if found is not None else None

    return find


def of_selected_thread() -> PythonStack:
    """Empty where the thread runs no Python, or none that is known."""
    if not process.is_alive() or not interpreters():  # asked at every recorded call
        return NOTHING
    memory = memory_here()
    stacks = [one.stack(memory, state) for one in interpreters() for state in states_here(one, memory)]
    stacks.sort(key=innermost_entry)
    return PythonStack([frame for one in stacks for frame in one.frames], all(one.is_whole for one in stacks))


def memory_here() -> Memory:
    return PagedMemory(process.InferiorMemory()) if process.is_remote() else process.InferiorMemory()


def innermost_entry(stack: PythonStack) -> int:
    """A thread in two subinterpreters has two stacks; the one that was entered last lies lower."""
    return stack.frames[0].entry if stack.frames else 0


def states_here(python: Interpreter, memory: Memory) -> list[ThreadState]:
    states = []
    with suppress(Unreadable):  # behind those that were read
        for one in python.threads(memory):
            states.append(one)
    pthread, native = thread_pointer(), gdb.selected_thread().ptid[1]
    return [one for one in states if one.pthread == pthread] or [one for one in states if one.native == native]


def thread_pointer() -> int:
    """The thread control block, whose address is glibc's pthread_t; 0 where gdb does not know it. (psABI 3.4.6.)"""
    try:
        return process.register("fs_base")
    except (gdb.error, UserError):
        return 0


def own() -> list[PythonFrame]:
    """The selected thread's; [] also where nothing can be read."""
    try:
        return of_selected_thread().frames
    except (gdb.error, Unreadable, UserError):
        return []


def calling() -> list[PythonFrame]:
    """The frames that called what is shown, or that wait in another thread for what this one does."""
    try:
        return own() or waiting()
    except (gdb.error, Unreadable, UserError):
        return []


def waiting() -> list[PythonFrame]:
    """[] also where two threads wait, and either may be meant."""
    if not process.is_alive() or not interpreters():
        return []
    memory = memory_here()
    stacks = [one.stack(memory, state).frames for one in interpreters() if states_here(one, memory)
              for state in one.threads(memory)]  # fmt: skip
    found = list(filter(autograd.is_waited_in, stacks))
    return found[0] if len(found) == 1 else []

"""By what the machine code of guards knows gdb's threads: each number has a word with its thread's control block.

The word is zero until gdb tells of the thread, which has executed nothing then: gdb holds it. A control block is used
again for a later thread, once the thread that had it has ended. (gdb manual: "Events In Python", new_thread.)
"""

from __future__ import annotations

import gdb

from gdbcuda.errors import Unreadable
from gdbcuda.live import process
from gdbcuda.live.host import inferiors
from gdbcuda.live.patching import counter_words
from gdbcuda.machine.detour import NoDetour

PURPOSE = "thread"


class NotYet(NoDetour):
    """Later perhaps."""


def known_by(number: int) -> int:
    """Address of the thread's word."""
    thread = next((one for one in inferiors.threads() if one.num == number), None)
    if thread is None and process.raw_memory() is None:  # gdbserver tells of threads at stops alone
        raise NotYet(f"there is no thread {number} yet")
    address = counter_words.word((PURPOSE, number))
    counter_words.write(address, control_block(thread) if thread is not None else 0)
    return address


def on_new(thread: gdb.InferiorThread) -> None:
    """`NoDetour` where it cannot be asked."""
    known = {
        number: address for (purpose, number), address in counter_words.WORDS().known.items() if purpose == PURPOSE
    }
    if not known:
        return
    block = control_block(thread)
    for number, address in known.items():
        try:
            if number == thread.num:
                counter_words.write(address, block)
            elif counter_words.read(address) == block:
                counter_words.write(address, 0)
        except (Unreadable, gdb.error) as problem:
            raise NoDetour(str(problem)) from None


def control_block(thread: gdb.InferiorThread) -> int:
    """(In the event gdb 10 to 13 have no thread selected.)"""
    selected = inferiors.selected_thread()
    try:
        thread.switch()
        return process.register("fs_base")
    except gdb.error as problem:
        raise NoDetour(f"thread {thread.num} cannot be asked ({problem})") from None
    finally:
        if selected is not None and selected.is_valid():
            selected.switch()

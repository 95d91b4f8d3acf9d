"""What a condition's machine code needs of the process beside the call: counters, threads, callers' addresses."""

from __future__ import annotations

from collections.abc import Sequence

import gdb

from gdbcuda.condition import typed
from gdbcuda.condition.place import Range
from gdbcuda.detour import Refused
from gdbcuda.errors import UserError
from gdbcuda.live import callers, counting, environment, target
from gdbcuda.live.inferiors import PerInferior

WORD = 8

_counters: PerInferior[dict[tuple[int, str], int]] = PerInferior(dict)


def counter(number: int, what: str) -> int:
    """Address of 8 bytes for a breakpoint, in the zero bytes behind a .bss; the same one when asked again."""
    known = _counters()
    if (number, what) not in known:
        try:
            known[number, what] = environment.store(bytes(WORD), keep=True)
        except UserError as problem:
            raise Refused(str(problem)) from None
    return known[number, what]


class Place:
    """`gdbcuda.condition.place.Place` of the selected process, for the condition of one breakpoint."""

    def __init__(self, number: int) -> None:
        self.number = number

    def counter(self, node: typed.Count) -> int:
        address = counter(self.number, "terms")
        if counting.of(self.number).address != address:
            counting.move_into_process(self.number, address)
        return address

    def caller_ranges(self, node: typed.CallerIn) -> Sequence[Range]:
        return callers.ranges(node.words)

    def thread(self, node: typed.Thread) -> int:
        for one in gdb.selected_inferior().threads():
            if one.num == node.number:
                return control_block(one)
        raise Refused(f"there is no thread {node.number} yet")


def control_block(thread: gdb.InferiorThread) -> int:
    selected = gdb.selected_thread()
    try:
        thread.switch()
        return target.register("fs_base")
    except gdb.error as problem:
        raise Refused(f"thread {thread.num} cannot be asked ({problem})") from None
    finally:
        if selected is not None and selected.is_valid():
            selected.switch()

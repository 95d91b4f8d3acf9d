"""Which functions of the runtime inside the program the program itself refers to. All of its 380 come along."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Set

from gdbcuda.errors import Unreadable
from gdbcuda.live import layers, process
from gdbcuda.live.layers import this_snapshot
from gdbcuda.machine.x86.code_references import code_references
from gdbcuda.routes import collect

EXECUTABLE = 1  # PF_X
ENTRIES = ("cuda", "__cuda")  # the runtime's own that programs refer to


@process.until_objects_change
def referred_to() -> Set[str]:
    """By the program's own code, or by a function of the runtime that it refers to: nvcc's stubs call
    __cudaLaunchKernel, and that goes on to cudaLaunchKernel."""
    reached: set[str] = set()
    edges, waiting = callers_of_entries(), [""]
    while waiting:
        found = edges.get(waiting.pop(), set()) - reached
        reached |= found
        waiting += found
    return reached


def callers_of_entries() -> dict[str, set[str]]:
    """Function of the runtime -> those that it refers to; "" is the program's own code."""
    rows = sorted((address, name) for name, address in this_snapshot.symbol_table(process.program()))
    addresses = [address for address, _ in rows]
    targets = {address: name for address, name in rows if name.startswith(ENTRIES)}
    stored = (value for _, value in collect.words(this_snapshot.now(), this_snapshot.objects().all[0]))
    edges = {"": {targets[value] for value in stored if value in targets}}
    for start, code in executable_parts():
        for site, target in code_references(code, start, targets):
            name = rows[max(bisect_right(addresses, site) - 1, 0)][1]
            edges.setdefault(name if is_runtimes(name) else "", set()).add(targets[target])
    return edges


def is_runtimes(name: str) -> bool:
    return name.startswith((*ENTRIES, layers.STATIC_RUNTIME))


def executable_parts() -> list[tuple[int, bytes]]:
    found = []
    for start, end, flags in this_snapshot.objects().all[0].image.segments:
        if flags & EXECUTABLE:
            try:
                found.append((start, process.original_code(start, end - start)))
            except Unreadable:
                continue
    return found

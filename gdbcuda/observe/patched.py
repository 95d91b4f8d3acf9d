"""Functions whose first bytes are not the file's in a process: a jump of a recorder, a guard or a hook library. (A
breakpoint, or another's uprobe, is one int3, and does no harm.)

Behind the uprobe's int3 the kernel executes the file's first instruction, and the thread goes on after it: among the
bytes of somebody's jump. (Linux: kernel/events/uprobes.c, prepare_uprobe, pre_ssout.)
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator

from gdbcuda import elf
from gdbcuda.elf.code.probed_jump import is_one_int3
from gdbcuda.errors import UserError
from gdbcuda.observe.probes import Place, WatchedFile
from gdbcuda.observe.process_code import Mapping, is_mapped, mappings

FIRST_BYTES = 16  # more than any jump, and its first instruction


def processes(pid: int | None) -> Iterable[int]:
    """That one, or all that can be seen from here."""
    return [pid] if pid is not None else [int(one) for one in os.listdir("/proc") if one.isdigit()]


def patched(files: Iterable[tuple[WatchedFile, elf.Elf, list[Place]]], pids: Iterable[int]) -> dict[str, int]:
    """By symbol a process in which the function has been changed."""
    wanted = [(watched.path, [(offset(file, one), one.symbol) for one in places]) for watched, file, places in files]
    found: dict[str, int] = {}
    for pid in pids:
        for there in (one for one in mappings(pid) if one.is_code):
            for path, functions in wanted:
                if is_mapped(path, pid, there):
                    found.update(dict.fromkeys(changed(pid, there, path, functions), pid))
    return found


def offset(file: elf.Elf, place: Place) -> int:
    try:
        return file.addresses.extent_in_file(place.address)[0] if place.offset is None else place.offset
    except UserError:
        return -1


def changed(pid: int, there: Mapping, path: str, functions: Iterable[tuple[int, str]]) -> Iterator[str]:
    try:
        with open(f"/proc/{pid}/mem", "rb", buffering=0) as memory, open(path, "rb", buffering=0) as file:
            for at, symbol in functions:
                size = min(FIRST_BYTES, there.offset + there.end - there.start - at)
                if there.offset <= at and size > 0:
                    own = os.pread(file.fileno(), size, at)
                    have = os.pread(memory.fileno(), size, there.start + at - there.offset)
                    if have != own and not is_one_int3(have, own):
                        yield symbol
    except OSError:  # it has ended, or is not ours to look at
        return

"""Where a recorder's calls go into files: the process is told the folder, and who is who in what it writes there.

It makes the files itself, as under ``gdbcuda trace``, and so do its children. (`ring_layout.TRACE`, shim/trace/files.c)
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator

import gdb

from gdbcuda.data_classes import dataclass, field
from gdbcuda.errors import UserError
from gdbcuda.live import process
from gdbcuda.live.host import console
from gdbcuda.live.host.inferiors import PerInferior
from gdbcuda.live.layers import this_snapshot
from gdbcuda.live.process import ranks
from gdbcuda.live.recording.entries import function_slots
from gdbcuda.live.recording.in_process.past_gdb import write, write_word
from gdbcuda.live.recording.in_process.ring_process import RingProcess
from gdbcuda.rings.ring_layout import (
    A_FUNCTION,
    A_RANK,
    AN_OBJECT,
    ENTRY,
    MOST_ENTRIES,
    RING,
    RING_HEADER,
    STATE,
    TRACE,
    TRACE_SYMBOL,
    WORD,
)
from gdbcuda.text.printable import visible

LONGEST = (ENTRY["SIZE"] - ENTRY["TEXT"]) * WORD
LONGEST_FOLDER = TRACE["PLACES"] * WORD


@dataclass
class ToldEntries:
    """What the process has been told: objects by (file, base) with their numbers, slots, its rank."""

    objects: dict[tuple[str, int], int] = field(default_factory=dict)
    slots: set[int] = field(default_factory=set)
    rank: bool = False


TOLD: PerInferior[ToldEntries] = PerInferior(ToldEntries)


def require_seen(folder: str) -> None:
    """`UserError` where the process cannot write there."""
    pid = gdb.selected_inferior().pid
    try:
        if not os.path.samefile(folder, f"/proc/{pid}/root{folder}"):
            raise UserError(f"the process sees another {folder} (is it in a container?)")
        owner = os.stat(f"/proc/{pid}").st_uid
        if os.stat(folder).st_uid != owner:
            os.chown(folder, owner, -1)
    except OSError as problem:
        raise UserError(f"the process cannot write into {folder} ({problem.strerror})") from None


def is_here(folder: str) -> bool:
    """gdb may have been connected to another machine since the command was typed."""
    return bool(folder) and not process.is_remote()


def here(folder: str) -> str:
    """"" where it is not, which is said."""
    if folder and not is_here(folder):
        console.write(
            f"cuda-log: nothing is kept in {visible(folder)}: --keep is of processes of this machine. "
            "(There, type  gdbcuda trace -p PID)\n"
        )
        return ""
    return folder


def begin(state: RingProcess, folder: str, last: int, callers: int) -> None:
    """What was there is another recording's: rings that threads have are begun again."""
    assert state.reader is not None
    raw = os.fsencode(folder) + b"\0"
    if len(raw) > LONGEST_FOLDER:
        raise UserError(f"the name of the folder is too long: {folder}")
    base = function_slots.require(TRACE_SYMBOL)
    if not folder and not any(state.reader.memory.read(base, 1)):
        return
    write(base, raw + bytes(LONGEST_FOLDER - len(raw)))
    for part in ("PID", "FILE", "MAKING", "ENTRIES_COUNT"):
        write_word(base + TRACE[part] * WORD, 0)
    words = state.reader.words(state.reader.state, STATE["SIZE"])
    for ring in words[STATE["RINGS"] : STATE["RINGS"] + words[STATE["COUNT"]]]:
        if ring:
            write_word(ring + RING["RECORDS"] * WORD, 0)
    if last and not words[STATE["COUNT"]]:
        write_word(state.reader.state + STATE["RECORDS"] * WORD, 1 << (last - 1).bit_length())
    write_word(state.reader.state + STATE["CALLERS"] * WORD, callers)
    TOLD().objects.clear()
    TOLD().slots.clear()
    TOLD().rank = False


def tell(state: RingProcess) -> None:
    """What it does not know yet."""
    assert state.reader is not None
    base, told = function_slots.require(TRACE_SYMBOL), TOLD()
    pid, file, _ = state.reader.words(base + TRACE["PID"] * WORD, 3)
    count = state.reader.words(base + TRACE["ENTRIES_COUNT"] * WORD, 1)[0]
    made = b"".join([*objects(told, count), *functions(told, state), *rank(told)])
    number = len(made) // (ENTRY["SIZE"] * WORD)
    if not number or count + number > MOST_ENTRIES:
        return
    write(base + (TRACE["ENTRIES"] + count * ENTRY["SIZE"]) * WORD, made)
    write_word(base + TRACE["ENTRIES_COUNT"] * WORD, count + number)
    if file and pid == gdb.selected_inferior().pid:
        folder = os.fsdecode(state.reader.memory.read(base, LONGEST_FOLDER).partition(b"\0")[0])
        append(os.path.join(folder, f"{pid}-{file}.process"), (RING_HEADER + count * ENTRY["SIZE"]) * WORD, made)


def objects(told: ToldEntries, count: int) -> Iterator[bytes]:
    """The program is the first one."""
    for one in this_snapshot.objects().all:
        key = this_snapshot.file_of(one), one.image.base
        if key not in told.objects:
            count += 1
            told.objects[key] = count
            yield entry(AN_OBJECT, 0, one.image.base, 0, key[0])


def functions(told: ToldEntries, state: RingProcess) -> Iterator[bytes]:
    numbers = {file: number for (file, _), number in told.objects.items()}
    for (address, (file, symbol, _)), slot in list(function_slots.SLOTS().numbers.items()):
        spot = state.spots.get(address)
        if slot not in told.slots and spot is not None and spot.file == file:
            told.slots.add(slot)
            yield entry(A_FUNCTION, slot, address, numbers.get(spot.file, 0), symbol)


def rank(told: ToldEntries) -> Iterator[bytes]:
    """As the recorder notes it where it is there from the start."""
    named = {} if told.rank else ranks.variables()
    told.rank = True
    for name, value in named.items():
        yield entry(A_RANK, 0, 0, 0, f"{name}={value}"[: LONGEST - 1])


def entry(kind: int, number: int, address: int, where: int, text: str) -> bytes:
    raw = os.fsencode(text)[-(LONGEST - 1) :]
    return struct.pack(f"<4Q{LONGEST}s", kind, number, address, where, raw)


def append(path: str, at: int, raw: bytes) -> None:
    try:
        file = os.open(path, os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:  # what is there stays readable
        return
    try:
        os.pwrite(file, raw, at)
    finally:
        os.close(file)

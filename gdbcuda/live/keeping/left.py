"""Entries of functions that jump to the recorder in a process that gdb has let go, and how they come back.

What they were stands in the process itself: any gdb that attaches later can end the recording. (`ring_layout.LEFT`.)
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

from gdbcuda.errors import Unreadable, UserError
from gdbcuda.live import process
from gdbcuda.live.guarding import without_gdb
from gdbcuda.live.host import gdb_cli, lazily
from gdbcuda.live.patching import agent
from gdbcuda.live.placing import stepping_out
from gdbcuda.live.recording import call_log
from gdbcuda.live.recording.entries import entry_patches, taken_bytes
from gdbcuda.live.recording.entries.entry_patch import EntryPatch
from gdbcuda.live.recording.in_process import kept_folder
from gdbcuda.live.recording.in_process.ring_recorder import RingRecorder
from gdbcuda.machine.x86.x86_write import JUMP_SIZE
from gdbcuda.rings.ring_layout import LEFT, LEFT_SYMBOL, MOST_FUNCTIONS, PATCH, WORD

PATCHES = (LEFT["PATCHES"] - LEFT["COUNT"]) * WORD


def leave(recorder: RingRecorder) -> int:
    """The jumps are written, and stay when gdb lets the process go; how many."""
    state, memory, place = recorder.processes(), process.raw_memory(), agent.symbol(LEFT_SYMBOL)
    if memory is None or place is None:
        raise UserError("the recorder is not in this process")
    if state.patches:
        stepping_out.step_out({at for one in state.patches.values() for at in one.inside}.__contains__)
        kept_folder.tell(state)
    entry_patches.write_all(state.patches.values(), taken_bytes.now(), is_stepped=False)
    written = [one for one in state.patches.values() if one.is_written]
    if not written:
        raise UserError("no jump could be written now: let the program go on, stop it, and try again")
    rows = [struct.pack(f"<{PATCH['SIZE']}Q", one.address, *map(word, (one.jump, one.own))) for one in written]
    memory.write(place.address + PATCHES, b"".join(rows))
    memory.write(place.address, len(rows).to_bytes(WORD, "little"))
    for one in written:
        one.is_written = False
        process.PATCHED().pop(one.address)
    return len(written)


def let_go() -> tuple[str, int]:
    """gdb detaches from the process, in which the recorder goes on: its folder, and how many functions."""
    recorder = call_log.SESSION.require()
    if not isinstance(recorder, RingRecorder) or not recorder.wish.folder:
        raise UserError("the recorder's calls are in gdb alone; cuda-log start --fast --keep FOLDER keeps them",
                        page="log")  # fmt: skip
    if process.is_remote():
        raise UserError("a recorder stays in processes of this machine: there, type  gdbcuda trace -p PID", page="log")
    if lazily.is_loaded("gdbcuda.live.guarding.guards"):
        without_gdb.take_all_back()
    count = leave(recorder)
    call_log.stop()
    gdb_cli.execute("detach")
    return recorder.wish.folder, count


def word(code: bytes) -> int:
    return int.from_bytes(code, "little")


def patches() -> Sequence[EntryPatch]:
    """What an earlier gdb has left in this process."""
    place, memory = agent.symbol(LEFT_SYMBOL), process.writable_memory()
    if place is None or memory is None:
        return []
    try:
        count = min(word(memory.read(place.address, WORD)), MOST_FUNCTIONS)
        raw = memory.read(place.address + PATCHES, count * PATCH["SIZE"] * WORD)
    except Unreadable:
        return []
    rows = struct.iter_unpack(f"<{PATCH['SIZE']}Q", raw)
    return [EntryPatch(at, own.to_bytes(WORD, "little")[:JUMP_SIZE], jump.to_bytes(WORD, "little")[:JUMP_SIZE], True)
            for at, jump, own in rows]  # fmt: skip


def take_out() -> int:
    """How many functions have their own bytes again. All threads stand still."""
    found, memory, place = patches(), process.writable_memory(), agent.symbol(LEFT_SYMBOL)
    if not found or memory is None or place is None:
        return 0
    taken = taken_bytes.now()
    for one in found:
        one.restore(memory, taken)
    memory.write(place.address, bytes(WORD))
    return len(found)

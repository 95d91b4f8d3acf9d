"""In gdb: `patch(FUNCTIONS)` lets their entries jump to the recorder, `write(PATH)` writes the calls that it has."""

import json
import os
import struct

import gdb

from gdbcuda.calls import ring, ring_calls, ring_layout
from gdbcuda.live import process
from gdbcuda.live.layers import table_version, this_snapshot
from gdbcuda.live.patching import detours, trampoline_space
from gdbcuda.live.recording import planting

FIELDS = ("name", "layer", "depth", "arguments", "status", "result", "out", "ended")
known = {}


def address(symbol):
    agent = next(one for one in process.lasting_images() if os.path.basename(one.name) == "libgdbcuda.so")
    return agent.lookup(symbol).address


def patch(functions, *places):
    table = table_version.table()
    slots, descriptions = address(ring_layout.SLOTS_SYMBOL), address(ring_layout.FUNCTIONS_SYMBOL)
    for linkage in this_snapshot.objects().all:
        for spot in planting.spots(linkage, frozenset(functions), places):
            number, found = len(known), detours.plan(spot.address, spot.address, True)
            made = trampoline_space.place(found, [])
            known[number] = ring_calls.RecordedFunction(
                table.functions[spot.symbol], spot.layer, os.path.basename(spot.file)
            )
            words = struct.pack(f"<{ring_layout.FUNCTION['SIZE']}Q", *known[number].words(made.onward))
            detours.write(descriptions + number * len(words), words)
            detours.write(spot.address, found.jump_to(slots + number * ring_layout.SLOT_SIZE))
    gdb.execute("tbreak _exit")


def write(path):
    reader = ring.RingReader(process.InferiorMemory(), address(ring_layout.STATE_SYMBOL))
    found = [[{name: getattr(call, name) for name in FIELDS}
              for call in ring_calls.calls(thread, records, known, table_version.table())]
             for thread, records in sorted(reader.read(), key=lambda one: one[0].lwp)]  # fmt: skip
    lost = [one.lost for one in reader.rings.values()]
    with open(path, "w") as file:
        json.dump({"threads": found, "missed": reader.missed, "lost": lost}, file)

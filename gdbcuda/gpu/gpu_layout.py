"""What libgdbcuda-gpu.so writes into its file, word by word: all numbers are words of 8 bytes, little-endian.

This is the one description. `python -m gdbcuda.gpu.gpu_layout` prints it as a header, with which the library is built
(shim/gpu); `gpu_file` reads by it.
"""

from __future__ import annotations

from gdbcuda.files.word_layout import offsets

WORD = 8
VERSION = 1
MAGIC = int.from_bytes(b"gdbcugpu", "little")
MARK = 0x67707500  # in the upper half of each record's first word; below are the words of the record, and its kind
KIND_BITS = 8
LONGEST_TEXT = 4096  # bytes

# The file begins with this. MONOTONIC and REALTIME (nanoseconds) are one moment; CUPTI is the version of its library,
# BUILT that of the header that ours was built with. HAS_CAUSES: calls of the recorder are told (see CAUSE).
HEADER = offsets("MAGIC", "VERSION", "PID", "MONOTONIC", "REALTIME", "CUPTI", "BUILT", "HAS_CAUSES")

# Then records, one behind the other. START and END are nanoseconds of CUPTI's clock, 0 where it does not know them.
# CORRELATION is the number that CUPTI gives the call of CUDA that a record comes from.
PLACE = ("HEAD", "START", "END", "CORRELATION", "DEVICE", "CONTEXT", "STREAM")
IN_GRAPH = ("NODE", "GRAPH")  # 0 and 0 for work that is in no graph
RECORDS = {
    # What NUMBER stands for: the name of a kernel or a function. TEXT ends with zeros, up to the end of the record.
    "NAME": offsets("HEAD", "NUMBER", "TEXT"),
    # CUPTI's clock was GPU at some moment between BEFORE and AFTER, nanoseconds of CLOCK_MONOTONIC.
    "CLOCK": offsets("HEAD", "BEFORE", "GPU", "AFTER"),
    "KERNEL": offsets(*PLACE, *IN_GRAPH, "NAME", ("GRID", 3), ("BLOCK", 3), "REGISTERS", "STATIC_SHARED",
                      "DYNAMIC_SHARED", "LOCAL"),  # LOCAL: bytes a thread
    # WAY, FROM and TO: CUpti_ActivityMemcpyKind, CUpti_ActivityMemoryKind. Of a copy between devices SOURCE and TARGET.
    "COPY": offsets(*PLACE, *IN_GRAPH, "BYTES", "WAY", "FROM", "TO", "IS_ASYNC", "IS_BETWEEN", "SOURCE", "TARGET"),
    "FILL": offsets(*PLACE, *IN_GRAPH, "BYTES", "VALUE", "MEMORY"),
    # The program waits: TYPE is CUpti_ActivitySynchronizationType.
    "WAIT": offsets(*PLACE, "TYPE", "EVENT"),
    # Memory of a POOL (its address) is handed out or given back: OPERATION is CUpti_ActivityMemoryOperationType.
    "MEMORY": offsets(*PLACE, "OPERATION", "ADDRESS", "BYTES", "MEMORY", "IS_ASYNC", "POOL", "POOL_SIZE", "POOL_USED"),
    # Of a pool itself: OPERATION is CUpti_ActivityMemoryPoolOperationType.
    "POOL": offsets(*PLACE, "OPERATION", "POOL", "POOL_SIZE", "POOL_USED", "LEAST"),
    # Unified memory: COUNTER is CUpti_ActivityUnifiedMemoryCounterKind, VALUE bytes or how many.
    "UNIFIED": offsets(*PLACE, "COUNTER", "VALUE", "ADDRESS", "SOURCE", "TARGET"),
    # The call that CORRELATION is: of THREAD, the record of this POSITION in its ring (its lower 32 bits).
    "CAUSE": offsets("HEAD", "CORRELATION", "THREAD", "POSITION"),
    # The same where CUPTI itself has seen it: in IS_RUNTIME or the driver, a function called NAME.
    "CALL": offsets("HEAD", "START", "END", "CORRELATION", "THREAD", "NAME", "IS_RUNTIME", "RESULT"),
    "DEVICE": offsets("HEAD", "DEVICE", "MULTIPROCESSORS", "MEMORY", "NAME"),
    "DROPPED": offsets("HEAD", "COUNT"),  # records that CUPTI had no room for, or this file
    "UNREAD": offsets("HEAD", "COUNT"),  # records that ours knows nothing of
    "REMARK": offsets("HEAD", "TEXT"),  # one line for the user
    "END": offsets("HEAD"),  # the program has ended, and all was handed over
}  # fmt: skip
KINDS = {name: number for number, name in enumerate(RECORDS, 1)}
WITH_TEXT = ("NAME", "REMARK")
NUMBERS = {"VERSION": VERSION, "MAGIC": MAGIC, "MARK": MARK, "KIND_BITS": KIND_BITS, "LONGEST_TEXT": LONGEST_TEXT}


def header() -> str:
    """For C: GPU_KERNEL is a kind, GPU_KERNEL_GRID a field of it."""
    lines = [f"#define GPU_{name} {value:#x}" for name, value in NUMBERS.items()]
    lines += [f"#define GPU_HEADER_{name} {at}" for name, at in HEADER.items()]
    for kind, fields in RECORDS.items():
        lines.append(f"#define GPU_{kind} {KINDS[kind]}")
        lines += [f"#define GPU_{kind}_{name} {at}" for name, at in fields.items()]
    return "\n".join([*lines, ""])


if __name__ == "__main__":
    print(header(), end="")

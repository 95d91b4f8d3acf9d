"""The offsets that CPython 3.13 and newer publish for debuggers, at the start of ``_PyRuntime``.

(Include/internal/pycore_runtime.h of 3.13, pycore_debug_offsets.h of 3.14 and 3.15: struct _Py_DebugOffsets.)
"""

from __future__ import annotations

import struct

from gdbcuda.cpython.layouts import NOWHERE, Layout

COOKIE = b"xdebugpy"
SIZE = {(3, 13): 584, (3, 14): 760, (3, 15): 888}  # bytes of the whole table
# The first word of each group, by version; a group's first field is the size of what it describes.
GROUPS = {
    (3, 13): {"runtime": 3, "interpreter": 6, "thread": 19, "frame": 28, "code": 34, "bytes": 64, "text": 67},
    (3, 14): {"runtime": 3, "interpreter": 6, "thread": 22, "frame": 31, "code": 39, "bytes": 74, "text": 77},
    (3, 15): {"runtime": 3, "interpreter": 6, "thread": 22, "frame": 39, "code": 47, "bytes": 86, "text": 89},
}
NUMBERS = {(3, 13): 5, (3, 14): 5, (3, 15): 8}  # where in its group the thread's two are, and the chunk behind them
THREAD_KEYS = {(3, 13): 2160, (3, 14): 2336, (3, 15): NOWHERE}  # not published; 3.15 has a variable of the thread
CODE_MASKS = {(3, 13): ~1, (3, 14): ~3, (3, 15): ~3}  # the lowest bits of a frame's pointer to its code are flags


def version_of(head: bytes) -> tuple[int, int] | None:
    """Of the first 24 bytes of ``_PyRuntime``; None where it publishes nothing."""
    if head[:8] != COOKIE:
        return None
    number = struct.unpack_from("<Q", head, 8)[0]
    return number >> 24 & 255, number >> 16 & 255


def layout(table: bytes, version: tuple[int, int]) -> Layout:
    """Of the ``SIZE[version]`` bytes that stand there."""
    words = struct.unpack_from(f"<{SIZE[version] // 8}Q", table)
    at = GROUPS[version]
    runtime, interpreter, thread, frame, code = (
        words[at[name] :] for name in ("runtime", "interpreter", "thread", "frame", "code")
    )
    pthread, native, chunk = thread[NUMBERS[version] :][:3]
    is_free_threaded = bool(words[2])
    has_copies = is_free_threaded and version >= (3, 14)
    return Layout(
        version, interpreters=runtime[2], interpreter_next=interpreter[2], interpreter_threads=interpreter[3],
        thread_next=thread[2], thread_pthread=pthread, thread_native=native, frame_of=(thread[4],),
        chunk=chunk, frame_size=frame[0], frame_previous=frame[1], frame_code=frame[2], frame_position=frame[3],
        frame_owner=frame[5], frame_line=-1, frame_trace=-1, code_file=code[1], code_name=code[2],
        code_qualified_name=code[3], code_first_line=code[5], code_lines=code[4], code_start=code[9],
        bytes_size=words[at["bytes"] + 1], bytes_data=words[at["bytes"] + 2],
        text_state=words[at["text"] + 1], text_length=words[at["text"] + 2], text_ascii=words[at["text"] + 3],
        text_compact=words[at["text"] + 3] + 16,
        state_shift=8 if has_copies else 2, thread_key=THREAD_KEYS[version], code_mask=CODE_MASKS[version],
        frame_copy=frame[7] if has_copies else NOWHERE, code_copies=code[10] if has_copies else NOWHERE,
    )  # fmt: skip

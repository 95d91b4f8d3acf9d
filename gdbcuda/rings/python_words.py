"""What the recorder in the process has to know of each CPython, as the words of `ring_layout.PYTHON`."""

from __future__ import annotations

import struct
from typing import NamedTuple

from gdbcuda.cpython import debug_offsets
from gdbcuda.cpython.layouts import KNOWN, NOWHERE, Layout
from gdbcuda.rings.ring_layout import PYTHON

NONE = (1 << 64) - 1
APART = 10_000  # between two words of a table in which each says where it is
IS_FREE_THREADED = 2  # word of that table


def words(one: Layout) -> list[int]:
    """Of a version that tells no debugger."""
    found = [0] * PYTHON["SIZE"]
    found[PYTHON["VERSION"]] = one.version[0] << 8 | one.version[1]
    for name, value in fields(one).items():
        found[PYTHON[name]] = value & NONE
    return found


def fields(one: Layout) -> dict[str, int]:
    name = one.code_name if one.code_qualified_name == NOWHERE else one.code_qualified_name
    return {
        "FRAME": one.frame_of[0], "THROUGH": one.frame_of[1] if len(one.frame_of) > 1 else NOWHERE,
        "PTHREAD": one.thread_pthread, "KEY": one.thread_key, "FRAME_SIZE": one.frame_size,
        "PREVIOUS": one.frame_previous, "CODE": one.frame_code, "POSITION": one.frame_position,
        "OWNER": one.frame_owner, "CODE_MASK": one.code_mask, "CODE_START": one.code_start, "CODE_FILE": one.code_file,
        "CODE_NAME": name, "CODE_FIRST_LINE": one.code_first_line, "CODE_LINES": one.code_lines,
        "CODE_OBJECT_SIZE": one.code_lines + 8, "BYTES_SIZE": one.bytes_size, "BYTES_DATA": one.bytes_data,
        "TEXT_LENGTH": one.text_length, "TEXT_STATE": one.text_state, "TEXT_ASCII": one.text_ascii,
        "TEXT_COMPACT": one.text_compact, "STATE_SHIFT": one.state_shift,
        "INTERPRETERS": one.interpreters, "INTERPRETER_NEXT": one.interpreter_next,
        "THREADS": one.interpreter_threads, "NEXT": one.thread_next,
        "COPY": one.frame_copy, "COPIES": one.code_copies,
    }  # fmt: skip


class Published(NamedTuple):
    """For each word which one of the published table it is (NONE: of none), and what is added to that."""

    version: int
    is_free_threaded: bool
    indices: list[int]
    more: list[int]


def layouts() -> list[list[int]]:
    return [words(one) for one in KNOWN.values()]


def published() -> list[Published]:
    return [table(version, free) for version in debug_offsets.SIZE for free in (False, True)]


def table(version: tuple[int, int], is_free_threaded: bool) -> Published:
    count = debug_offsets.SIZE[version] // 8
    each = [APART * (index + 1) for index in range(count)]
    each[IS_FREE_THREADED] = int(is_free_threaded)
    found = words(debug_offsets.layout(struct.pack(f"<{count}Q", *each), version))
    is_from = [APART <= one < APART * (count + 1) for one in found]
    return Published(
        found[PYTHON["VERSION"]], is_free_threaded,
        [one // APART - 1 if there else NONE for one, there in zip(found, is_from)],
        [one % APART if there else one for one, there in zip(found, is_from)],
    )  # fmt: skip

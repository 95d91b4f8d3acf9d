"""The offsets that a CPython without GIL publishes: few machines have one, so its tables are here, with what they mean.

Both are made of the headers of Debian's libpython3.14-dev (3.14.10) and libpython3.15-dev (3.15.2), compiled with
Py_GIL_DISABLED: the words are _Py_DebugOffsets_INIT("xdebugpy"), what is expected of them is offsetof() of the structs.
"""

from __future__ import annotations

import struct

import pytest

from gdbcuda.cpython import debug_offsets

OF_3_14 = (
    8750607829840520312, 51251952, 1, 365624, 784, 808, 249976, 7280, 7272, 7344, 7360, 7408, 7712, 7696, 7704, 16,
    7808, 0, 7832, 7824, 8024, 17300, 832, 0, 8, 16, 72, 152, 160, 232, 32, 88, 8, 0, 56, 80, 78, 64, 72, 240, 128,
    136, 144, 152, 84, 68, 112, 120, 232, 224, 32, 24, 432, 40, 104, 184, 56, 48, 32, 56, 40, 32, 216, 40, 56, 48,
    64, 48, 56, 40, 32, 48, 32, 40, 56, 32, 48, 80, 48, 32, 56, 288, 192, 176, 40, 88, 83, 0, 8, 24, 304, 8108, 0,
    4, 512,
)  # fmt: skip
OF_3_15 = (
    8750607829840520312, 51315440, 1, 409296, 912, 936, 250328, 7272, 7264, 7336, 7352, 7400, 7592, 7576, 7584, 16,
    7736, 0, 7760, 7752, 7952, 17252, 888, 0, 8, 16, 72, 80, 88, 96, 176, 184, 256, 32, 36, 40, 136, 288, 0, 88, 8,
    0, 56, 80, 78, 64, 72, 240, 128, 136, 144, 152, 84, 68, 112, 120, 232, 224, 32, 24, 440, 40, 104, 184, 48, 304,
    968, 904, 56, 48, 32, 56, 40, 32, 216, 40, 56, 48, 64, 48, 56, 40, 32, 48, 32, 40, 56, 32, 48, 80, 48, 32, 56,
    72, 176, 112, 120, 224, 104, 176, 40, 88, 83, 0, 8, 24, 344, 8036, 0, 4, 512,
)  # fmt: skip
SAME = {"thread_next": 8, "frame_of": (72,), "frame_size": 88, "frame_previous": 8, "frame_code": 0,
        "frame_position": 56, "frame_owner": 78, "frame_copy": 72, "code_file": 128, "code_name": 136,
        "code_qualified_name": 144,
        "code_first_line": 84, "code_lines": 152, "code_start": 232, "code_copies": 224, "bytes_size": 32,
        "bytes_data": 48, "text_length": 32, "text_state": 48, "text_ascii": 56, "text_compact": 72,
        "state_shift": 8}  # fmt: skip


@pytest.mark.parametrize(
    ("version", "words", "own"),
    [
        ((3, 14), OF_3_14, {"thread_pthread": 152, "thread_native": 160, "chunk": 232, "thread_key": 2336}),
        ((3, 15), OF_3_15, {"thread_pthread": 176, "thread_native": 184, "chunk": 256, "thread_key": -1}),
    ],
)
def test_the_layout_is_that_of_its_headers(
    version: tuple[int, int], words: tuple[int, ...], own: dict[str, int]
) -> None:  # fmt: skip
    table = struct.pack(f"<{len(words)}Q", *words)
    assert (debug_offsets.version_of(table[:24]), debug_offsets.SIZE[version]) == (version, len(table))
    assert (SAME | own).items() <= debug_offsets.layout(table, version)._asdict().items()

"""Where CPython keeps what a stack is made of: byte offsets into its structs, by version.

3.13 and newer publish theirs in the process (`debug_offsets`); those of 3.9 to 3.12 never change any more.
(CPython's Include/cpython and Include/internal headers, on 64-bit machines.)
"""

from __future__ import annotations

from typing import NamedTuple

NOWHERE = -1  # this version has no such field


class Layout(NamedTuple):
    """``thread_key``: where ``_PyRuntime`` has the thread-specific data of a thread's own state, a Py_tss_t
    (NOWHERE in 3.15: it is found by its thread's number).
    ``frame_of``: the offsets that lead from a thread state to its innermost frame, each but the last read as a
    pointer. ``frame_size`` bytes of a frame hold all that is asked of it. ``frame_copy``: which of the code's copies it
    runs, ``code_copies``: where these are (free-threaded 3.14: each thread has one)."""

    version: tuple[int, int]
    interpreters: int
    interpreter_next: int
    interpreter_threads: int
    thread_next: int
    thread_pthread: int
    thread_native: int
    frame_of: tuple[int, ...]
    chunk: int
    frame_size: int
    frame_previous: int
    frame_code: int
    frame_position: int
    frame_owner: int
    frame_line: int
    frame_trace: int
    code_file: int
    code_name: int
    code_qualified_name: int
    code_first_line: int
    code_lines: int
    code_start: int
    bytes_size: int
    bytes_data: int
    text_length: int
    text_state: int
    text_ascii: int
    text_compact: int
    state_shift: int = 2  # of the kind; the bits "compact" and "ascii" are above it
    thread_key: int = NOWHERE
    code_mask: int = -1  # the bits of the frame's pointer to its code that are the address
    frame_copy: int = NOWHERE
    code_copies: int = NOWHERE

    @property
    def code_size(self) -> int:
        """Bytes of a code object that hold all that is asked of it."""
        return max(self.code_qualified_name, self.code_name, self.code_lines, self.code_copies) + 8


SHAPES = {  # of strings and bytes
    "until 3.11": {"bytes_size": 16, "bytes_data": 32, "text_length": 16, "text_state": 32, "text_ascii": 48,
                   "text_compact": 72},
    "3.12": {"bytes_size": 16, "bytes_data": 32, "text_length": 16, "text_state": 32, "text_ascii": 40,
             "text_compact": 56},
}  # fmt: skip

KNOWN = {
    (3, 9): Layout(
        (3, 9), interpreters=32, interpreter_next=0, interpreter_threads=8, thread_next=8, thread_pthread=176,
        thread_native=NOWHERE, frame_of=(24,), chunk=NOWHERE, frame_size=112, frame_previous=24, frame_code=32,
        frame_position=104, frame_owner=NOWHERE, frame_line=108, frame_trace=80, code_file=104, code_name=112,
        code_qualified_name=NOWHERE, code_first_line=40, code_lines=120, code_start=NOWHERE,
        thread_key=584, **SHAPES["until 3.11"],
    ),
    (3, 10): Layout(
        (3, 10), interpreters=32, interpreter_next=0, interpreter_threads=8, thread_next=8, thread_pthread=176,
        thread_native=NOWHERE, frame_of=(24,), chunk=NOWHERE, frame_size=112, frame_previous=24, frame_code=32,
        frame_position=96, frame_owner=NOWHERE, frame_line=100, frame_trace=72, code_file=104, code_name=112,
        code_qualified_name=NOWHERE, code_first_line=40, code_lines=120, code_start=NOWHERE,
        thread_key=584, **SHAPES["until 3.11"],
    ),
    (3, 11): Layout(
        (3, 11), interpreters=40, interpreter_next=0, interpreter_threads=16, thread_next=8, thread_pthread=152,
        thread_native=160, frame_of=(56, 8), chunk=296, frame_size=72, frame_previous=48, frame_code=32,
        frame_position=56, frame_owner=69, frame_line=NOWHERE, frame_trace=NOWHERE, code_file=112, code_name=120,
        code_qualified_name=128, code_first_line=72, code_lines=136, code_start=184,
        thread_key=592, **SHAPES["until 3.11"],
    ),
    (3, 12): Layout(
        (3, 12), interpreters=40, interpreter_next=0, interpreter_threads=72, thread_next=8, thread_pthread=136,
        thread_native=144, frame_of=(56, 0), chunk=232, frame_size=72, frame_previous=8, frame_code=0,
        frame_position=56, frame_owner=70, frame_line=NOWHERE, frame_trace=NOWHERE, code_file=112, code_name=120,
        code_qualified_name=128, code_first_line=68, code_lines=136, code_start=192,
        thread_key=1544, **SHAPES["3.12"],
    ),
}  # fmt: skip

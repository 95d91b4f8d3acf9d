"""Files as libgdbcuda-gpu.so writes them, made of fields."""

from __future__ import annotations

import struct

from gdbcuda.gpu.gpu_layout import HEADER, KIND_BITS, KINDS, MAGIC, MARK, RECORDS, VERSION, WITH_TEXT, WORD


def header(**fields: int) -> bytes:
    words = [0] * HEADER["SIZE"]
    for name, value in {"MAGIC": MAGIC, "VERSION": VERSION, "CUPTI": 130001, "HAS_CAUSES": 1, **fields}.items():
        words[HEADER[name]] = value
    return struct.pack(f"<{len(words)}Q", *words)


def record(kind: str, text: str = "", **fields: int | list[int]) -> bytes:
    words = [0] * RECORDS[kind]["SIZE"]
    for name, value in fields.items():
        at = RECORDS[kind][name]
        values = value if isinstance(value, list) else [value]
        words[at : at + len(values)] = values
    raw = b""
    if kind in WITH_TEXT:
        words.pop()
        raw = text.encode() + bytes(WORD - len(text.encode()) % WORD)
    size = len(words) + len(raw) // WORD
    words[0] = MARK << 32 | size << KIND_BITS | KINDS[kind]
    return struct.pack(f"<{len(words)}Q", *words) + raw

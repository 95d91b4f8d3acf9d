"""What kind of value an argument is, and its bytes."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from gdbcuda import api
from gdbcuda.machine import abi


def is_number(field: api.Field) -> bool:
    kind = field.type
    return kind.kind in ("int", "uint") and kind.enum is None and not is_count(field.name)


def is_plain(kind: api.Type) -> bool:
    """Any bytes are one."""
    return kind.kind in ("int", "uint", "char") and kind.enum is None


def is_function(kind: api.Type) -> bool:
    return kind.target is not None and kind.target.kind == "function"


@cache
def is_device(kind: api.Type, name: str) -> bool:
    """An ordinal, which a hook library may take for an index."""
    return kind.name == "CUdevice" or (kind.kind in ("int", "uint") and name.lower() in ("device", "dev", "index"))


def is_size(parameter: api.Parameter) -> bool:
    """Of memory, where a hook library may have a limit."""
    return parameter.type.kind == "uint" and not parameter.handle and (
        parameter.size_bytes or parameter.type.name == "size_t")  # fmt: skip


@cache
def is_count(name: str) -> bool:
    lower = name.lower()
    return lower.startswith("num") or "count" in lower


def to_bytes(value: int, size: int) -> bytes:
    return (value & ((1 << 8 * size) - 1)).to_bytes(size, "little")


def meaningful(kind: api.Type | None, raw: bytes) -> list[bytes]:
    """The bytes of each scalar of a value, or array of values: a compiler need not copy padding."""
    if kind is None or kind.size == 0 or not abi.shape(kind).scalars:
        return [raw]
    scalars = abi.shape(kind).scalars
    starts: Sequence[int] = range(0, len(raw), kind.size)
    return [raw[start + offset : start + offset + size] for start in starts for offset, size, _ in scalars]

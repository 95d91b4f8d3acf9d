"""Values of a call: whether two are the same, and how a person reads them."""

from __future__ import annotations

from gdbcuda import api
from gdbcuda.contract.argument_kinds import meaningful
from gdbcuda.contract.arguments import WORD, CallerMemory

MOST_BYTES = 16  # of a value that are shown


def status_text(function: api.Function, raw: bytes) -> str:
    """A result, by its name where it has one."""
    value = int.from_bytes(raw, "little", signed=True)
    enum = function.result.enum
    return str(value) if enum is None else enum.name_of(value) or f"{value} (not in {function.result.name})"


def same(pointee: CallerMemory, expected: bytes, found: bytes | None) -> bool:
    if found is None:
        return False
    return expected == found or meaningful(pointee.type, expected) == meaningful(pointee.type, found)


def difference(ours: bytes, theirs: bytes, kind: api.Type | None) -> str:
    """Of what is longer than a word the first member, or byte, that differs."""
    at = next((index for index, pair in enumerate(zip(ours, theirs)) if pair[0] != pair[1]), 0)
    fields = kind.fields if kind is not None and len(ours) == len(theirs) == kind.size else ()
    member = next((one for one in fields if one.offset <= at < one.offset + one.type.size), None)
    if member is not None:
        begin, end = member.offset, member.offset + member.type.size
        return f"{member.name}: {difference(ours[begin:end], theirs[begin:end], member.type)}"
    if len(ours) > WORD and len(ours) == len(theirs):
        return f"byte {at}: {ours[at]:#x} -> {theirs[at]:#x}"
    return f"{shown(ours)} -> {shown(theirs)}"


def shown(raw: bytes) -> str:
    """A number up to a word, else bytes."""
    if len(raw) <= WORD:
        return hex(int.from_bytes(raw, "little"))
    return raw[:MOST_BYTES].hex(" ") + (" ..." if len(raw) > MOST_BYTES else "")

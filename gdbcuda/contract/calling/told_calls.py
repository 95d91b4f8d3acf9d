"""A call as the program of the cases is told to make it, and what it says of it (shim/contract/calls.c)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class Called(NamedTuple):
    """What a call has left: its result's bytes, errno, by offset what has changed in the arena, and by name what of the
    processor's state it had to leave to its caller and did not ("BEFORE -> AFTER")."""

    result: bytes
    errno: int
    changes: dict[int, bytes]
    machine: dict[str, str]

    def written_over(self, offset: int, before: bytes) -> bytes:
        """What is there now where the arena had that."""
        there, end = bytearray(before), offset + len(before)
        for at, new in self.changes.items():
            first, last = max(at, offset), min(at + len(new), end)
            if first < last:
                there[first - offset : last - offset] = new[first - at : last - at]
        return bytes(there)


def call_command(symbol: str, address: int, arguments: Sequence[bytes], errno: int = 0) -> str:
    return f"call {symbol} {address:x} {errno:x} {' '.join(one.hex() for one in arguments)}"


def called(text: str) -> Called:
    """The answer to such a command."""
    result, after, machine, *changes = text.split()
    pairs = (one.split(":") for one in changes)
    memory = {int(at, 16): bytes.fromhex(new) for at, new in pairs}
    return Called(bytes.fromhex(result), int(after, 16), memory, machine_changes(machine))


def machine_changes(text: str) -> dict[str, str]:
    """Of "-NAME=BEFORE>AFTER,..."."""
    pairs = (one.partition("=") for one in text[1:].split(",") if one)
    return {name.replace("-", " "): values.replace(">", " -> ") for name, _, values in pairs}

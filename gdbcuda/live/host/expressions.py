"""Text of gdb expressions."""

from __future__ import annotations


def quoted(text: str) -> str:
    """A Python string as a gdb string literal."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'

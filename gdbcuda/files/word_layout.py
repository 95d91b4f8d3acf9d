"""Binary files of ours are rows of words of 8 bytes, little-endian; each layout is described once, in Python."""

from __future__ import annotations

MOST_PIDS = 1 << 22  # PID_MAX_LIMIT: the number of no process or thread is larger


def offsets(*fields: str | tuple[str, int]) -> dict[str, int]:
    """Each field -> the words in front of it; "SIZE" -> all of them."""
    found, at = {}, 0
    for field in fields:
        name, size = (field, 1) if isinstance(field, str) else field
        found[name] = at
        at += size
    return {**found, "SIZE": at}

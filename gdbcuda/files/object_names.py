"""Which file somebody means who names a library, at a breakpoint as over a log."""

from __future__ import annotations

from fnmatch import fnmatchcase


def is_meant(word: str, path: str) -> bool:
    """ "libfoo", "libfoo.so", "libfoo.so.1", "libf*" and the path all mean /lib/libfoo.so.1."""
    if word == path:
        return True
    base = path.rpartition("/")[2]
    endings = ("", ".so*", ".*") if word.endswith(".so") else ("", ".so*")
    return any(fnmatchcase(base, word + ending) for ending in endings)

"""What a hook library asks of the API for itself: functions that it does not define and refers to."""

from __future__ import annotations

import functools

from gdbcuda.errors import UserError
from gdbcuda.live import layers
from gdbcuda.live.layers import library_files, names

MOST_CONSTANTS = 64 << 20  # bytes


def callers_of(function: str) -> list[str]:
    """The named hook libraries that may call it: linked with it, or with its name for dlsym among their constants."""
    others = (path for path in layers.named_hooks() if not names.defines(path, function))
    return [path for path in others if refers(path, library_files.version_of(path), function)]


@functools.lru_cache(maxsize=256)
def refers(path: str, version: tuple[int, ...], function: str) -> bool:
    from gdbcuda import elf  # 20 ms, and only a session with a hook library's file needs it

    try:
        return function in elf.open(path).undefined or has_constant(path, function)
    except UserError:
        return False


def has_constant(path: str, text: str) -> bool:
    """Is the text a constant of the file?"""
    from gdbcuda import elf

    constants = elf.open(path).contents(".rodata")
    found, word = constants.read(0, MOST_CONSTANTS) if constants is not None else b"", b"%s\0" % text.encode()
    return found.startswith(word) or b"\0" + word in found

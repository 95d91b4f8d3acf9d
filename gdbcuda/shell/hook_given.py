"""The hook library that a command of the shell is given: what is wrong with it is said before anything runs."""

from __future__ import annotations

import os
from collections.abc import Iterable

from gdbcuda.errors import UserError

AUDITING = "la_version"  # the loader asks for it first
PRELOADED = ("cu", "nvml", "dl")  # how names begin that a hook library puts before those of others


def hook_given(path: str) -> str:
    """Its whole path. ld.so would start the program without it, with a line of its own, or not at all."""
    from gdbcuda import elf  # where no hook library is named, nothing waits for it

    library = elf.open(path)
    if library.kind != "shared":
        raise UserError(f"{path} is no shared library")
    if is_for_audit(library.exported):
        raise UserError(f"{path} is for LD_AUDIT (it has {AUDITING}): where it is preloaded it does nothing")
    return os.path.abspath(path)


def is_for_audit(exported: Iterable[str]) -> bool:
    """And has nothing that a preload would put before others."""
    names = set(exported)
    return AUDITING in names and not any(name.startswith(PRELOADED) for name in names)

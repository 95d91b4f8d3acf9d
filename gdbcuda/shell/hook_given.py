"""The hook library that a command of the shell is given: what is wrong with it is said before anything runs."""

from __future__ import annotations

import os

from gdbcuda.errors import UserError


def hook_given(path: str) -> str:
    """Its whole path. ld.so would start the program without it, with a line of its own, or not at all."""
    from gdbcuda import elf  # where no hook library is named, nothing waits for it

    if elf.open(path).kind != "shared":
        raise UserError(f"{path} is no shared library")
    return os.path.abspath(path)

"""The hook library that a command of the shell is given: what is wrong with it is said before anything runs."""

from __future__ import annotations

import os
from collections.abc import Container, Iterable

from gdbcuda.errors import UserError
from gdbcuda.files.preloadable import require_auditable, require_preloadable

AUDITING = "la_version"  # the loader asks for it first
INJECTED = "InitializeInjection"  # the driver calls it at cuInit
PUT_BEFORE = ("cu", "nvml", "dl")  # how names begin that a hook library puts before those of others
PRELOAD, AUDIT, INJECTION = "LD_PRELOAD", "LD_AUDIT", "CUDA_INJECTION64_PATH"


def hook_given(path: str, variables: Container[str] = (PRELOAD,)) -> str:
    """Its whole path. ld.so would start the program without it, with a line of its own, or not at all. ``variables``
    of the environment that the command may name it in."""
    from gdbcuda import elf  # where no hook library is named, nothing waits for it

    library, whole = elf.open(path), os.path.abspath(path)
    if library.kind != "shared":
        raise UserError(f"{path} is no shared library")
    way = named_in(library.exported)
    if AUDIT not in variables and way == AUDIT:
        raise UserError(f"{path} is for LD_AUDIT (it has {AUDITING}): where it is preloaded it does nothing")
    if way == AUDIT:
        require_auditable(whole)
    elif way == PRELOAD:
        require_preloadable(whole)
    return whole


def of_this_machine(path: str) -> str:
    """The path, for what runs programs of this machine alone. ld.so would leave the library out."""
    from gdbcuda import elf

    found, here = ((one.machine, one.header.bits) for one in map(elf.open, (path, "/proc/self/exe")))
    if found != here:
        raise UserError(f"{path} is for {found[0]}, {found[1]} bits; programs are for {here[0]}, {here[1]} bits here")
    return path


def named_in(exported: Iterable[str]) -> str:
    """The variable of the environment by which it comes into a program. What has names that a preload would put before
    those of others is preloaded."""
    names = set(exported)
    if any(name.startswith(PUT_BEFORE) for name in names):
        return PRELOAD
    return next((variable for name, variable in ((AUDITING, AUDIT), (INJECTED, INJECTION)) if name in names), PRELOAD)

"""Whether processes may be traced here at all."""

from __future__ import annotations

import ctypes
import os
import stat

from gdbcuda.errors import UserError
from gdbcuda.files import places

TRACE_ME = 0  # PTRACE_TRACEME
CAPABILITIES = "security.capability"  # the attribute of a file that setcap writes
WHY = "ptrace is not allowed here (by seccomp, as in some containers, or kernel.yama.ptrace_scope is 2 or 3)"


def require() -> None:
    if not is_allowed_to(places.find_gdb()):
        raise UserError(f"{WHY}, so gdb starts no program; gdbcuda trace needs none of it")


def is_allowed_to(program: str) -> bool:
    """One with rights of its own (setcap cap_sys_ptrace+ep) may do what this process may not: it is left to say it."""
    return is_allowed() or has_rights(program)


def has_rights(program: str) -> bool:
    try:
        return bool(os.stat(program).st_mode & stat.S_ISUID or os.getxattr(program, CAPABILITIES))
    except OSError:  # none, or a file system without attributes
        return False


def is_allowed() -> bool:
    """Asked by a child that ends at once. (ptrace(2): a filter refuses that, too, and so do Yama's scopes 3 and,
    without CAP_SYS_PTRACE, 2.)"""
    child = os.fork()
    if not child:
        refused = 1
        try:
            refused = int(ctypes.CDLL(None).ptrace(TRACE_ME, 0, None, None) != 0)
        finally:
            os._exit(refused)
    return os.waitpid(child, 0)[1] == 0

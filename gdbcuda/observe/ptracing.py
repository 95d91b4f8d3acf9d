"""Whether processes may be traced here at all."""

from __future__ import annotations

import ctypes
import os

from gdbcuda.errors import UserError

TRACE_ME = 0  # PTRACE_TRACEME
WHY = "ptrace is not allowed here (by seccomp, as in some containers, or kernel.yama.ptrace_scope is 2 or 3)"


def require() -> None:
    if not is_allowed():
        raise UserError(f"{WHY}, so gdb starts no program; gdbcuda trace needs none of it")


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

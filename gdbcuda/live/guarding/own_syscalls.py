"""Code of the program that makes system calls past libc: nobody sees when the program confines itself by one.

The code is read before a guard may ask the kernel: the program's, the hook library's, any other's but the vendor's and
the system's, unless there is very much of it. In a large object, and in code without a symbol, only a call counts in
front of which its number is loaded.
"""

from __future__ import annotations

import os

from gdbcuda.errors import Unreadable
from gdbcuda.linkage.image import Image
from gdbcuda.live import layers, process
from gdbcuda.live.guarding import seccomp
from gdbcuda.live.host.inferiors import PerInferior
from gdbcuda.live.patching import detours
from gdbcuda.machine import x86_syscalls

PF_X = 1
PIECE, OVERLAP = 1 << 20, 128
MOST_EXACT, MOST_READ, MOST_FAR = 4 << 20, 1 << 26, 1 << 20  # bytes of code
KNOWN: PerInferior[dict[tuple[str, int], str]] = PerInferior(dict)  # by name and base of an object: its reason, or ""
REASON = "{} makes system calls past libc, by one of which the program may confine itself with seccomp, and {}"


def reason() -> str:
    """Why the kernel is not asked in this process; "" where it may be."""
    known = KNOWN()
    for one in process.images():
        key = (one.name, one.base)
        if key not in known:
            known[key] = look(one)
    return next((known[one.name, one.base] for one in process.images() if known[one.name, one.base]), "")


def look(image: Image) -> str:
    name = image.name or process.strip_prefix(process.program())
    if layers.layer_of_object(name) in ("system", "runtime", "driver"):
        return ""
    ranges = [(start, end) for start, end, flags in image.segments if flags & PF_X]
    size = sum(end - start for start, end in ranges)
    if size > (MOST_FAR if process.is_remote() else MOST_READ):
        return ""
    found = any(may_confine(start, min(start + PIECE + OVERLAP, end), size <= MOST_EXACT)
                for low, end in ranges for start in range(low, end, PIECE))  # fmt: skip
    return REASON.format(os.path.basename(name), seccomp.WOULD_ASK) if found else ""


def may_confine(start: int, end: int, is_exact: bool) -> bool:
    try:
        code = process.original_code(start, end - start)
    except Unreadable:
        return False
    return any(x86_syscalls.is_marked(code, at) or (is_exact and is_one(start + at))
               for at in x86_syscalls.offsets(code))  # fmt: skip


def is_one(address: int) -> bool:
    """By the instructions of the function that it is in."""
    function = process.function_start(address)
    if function is None or address - function > detours.LARGEST_FUNCTION:
        return False
    try:
        code = process.original_code(function, address - function + len(x86_syscalls.SYSCALL))
    except Unreadable:
        return False
    return x86_syscalls.confining(code, address - function)

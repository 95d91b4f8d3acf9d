"""Whether ld.so can be told of a file. It splits LD_PRELOAD at " " and ":", LD_AUDIT at ":", and neither at other
blanks. (glibc, elf/rtld.c: dl_main, audit_list_next; tried with 2.36.)"""

from __future__ import annotations

from gdbcuda.errors import UserError

SPLIT = "ld.so splits it at blanks and colons"


def is_split(path: str) -> bool:
    return " " in path or ":" in path


def require_preloadable(path: str) -> None:
    if is_split(path):
        raise UserError(f"LD_PRELOAD cannot name {path!r}: {SPLIT}; use a link without them")


def require_preloadable_by_gdb(path: str) -> None:
    """For what is told by a command of gdb's."""
    require_preloadable(path)
    if "\n" in path:
        raise UserError(f"gdb cannot name {path!r}: its commands end with the line; use a link without it")


def require_auditable(path: str) -> None:
    if ":" in path:
        raise UserError(f"LD_AUDIT cannot name {path!r}: ld.so splits it at colons; move it to where there is none")


def require_folder_for_preloading(path: str, instead: str = "choose another folder") -> None:
    """For what is built there."""
    if is_split(path):
        raise UserError(f"LD_PRELOAD cannot name a library in {path!r}: {SPLIT}; {instead}")

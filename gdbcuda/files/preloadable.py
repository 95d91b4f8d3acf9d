"""Whether ld.so can be told of a file. (ld.so(8): LD_PRELOAD.)"""

from __future__ import annotations

import re

from gdbcuda.errors import UserError

SEPARATES = re.compile(r"[\s:]")
SPLIT = "ld.so splits it at blanks and colons"


def require_preloadable(path: str) -> None:
    if SEPARATES.search(path):
        raise UserError(f"LD_PRELOAD cannot name {path!r}: {SPLIT}; use a link without them")


def require_folder_for_preloading(path: str) -> None:
    """For what is built there."""
    if SEPARATES.search(path):
        raise UserError(f"LD_PRELOAD cannot name a library in {path!r}: {SPLIT}; choose another folder")

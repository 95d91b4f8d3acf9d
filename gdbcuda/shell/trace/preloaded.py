"""``gdbcuda trace --preload``: the recorder by the loader alone, and what that changes for others."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING

from gdbcuda.errors import UserError
from gdbcuda.shell.observers.options import AUTO, RECORDER

if TYPE_CHECKING:
    from gdbcuda.shell.observers.options import ObserverOptions

UNCHANGED = "it exports no function, so each object reaches the functions that it reaches without"


def require_start(wanted: ObserverOptions) -> None:
    if wanted.way not in (RECORDER, AUTO):
        raise UserError(f"--preload is a way of its own, not one for --with {wanted.way}")
    if wanted.pid is not None:
        raise UserError("a process that runs cannot be given a library by its loader: -p without --preload takes gdb, "
                        "and --with uprobe -p neither")  # fmt: skip


def remark(own: Mapping[str, str], hook: str | None) -> str:
    paths = [hook or "", *own.get("LD_PRELOAD", "").replace(" ", ":").split(":")]
    others = [os.path.basename(one) for one in paths if one]
    where = f"in front of {', '.join(others)}" if others else "alone"
    return f"the recorder is preloaded {where}; {UNCHANGED}"

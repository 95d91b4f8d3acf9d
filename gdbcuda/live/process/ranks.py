"""The rank of a process, as its environment has it now: multiprocessing's children set their own."""

from __future__ import annotations

import gdb

from gdbcuda.calls import rank_names
from gdbcuda.errors import Unreadable, UserError
from gdbcuda.live.host import inferiors
from gdbcuda.live.host.inferiors import PerInferior
from gdbcuda.live.process import environment_variables

_known: PerInferior[list[str]] = PerInferior(list)


def here() -> str:
    """Of the selected process, where gdb has several: "rank 1", "" where it is not known (yet)."""
    if not inferiors.are_several():
        return ""
    if not _known():
        found = looked_up()
        if found:
            _known().append(found)
    return "".join(_known())


def looked_up() -> str:
    return rank_names.label(variables().get)


def variables() -> dict[str, str]:
    """Those that name a rank, as the selected process has them now."""
    try:
        present = dict(text.partition(b"=")[::2] for _, text in environment_variables.current())
    except (UserError, Unreadable, gdb.error):
        return {}
    return {name: present[name.encode()].decode(errors="replace")
            for name in (*rank_names.GLOBAL, *rank_names.LOCAL) if name.encode() in present}  # fmt: skip

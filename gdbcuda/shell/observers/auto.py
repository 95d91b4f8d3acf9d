"""``gdbcuda trace --with auto``: the way that costs least of those that work here."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from gdbcuda.errors import UserError
from gdbcuda.files import places
from gdbcuda.observe import ptracing
from gdbcuda.observe.uprobes import needs
from gdbcuda.shell.observers.options import RECORDER, UPROBE
from gdbcuda.shell.trace import starting
from gdbcuda.text import output
from gdbcuda.text.printable import visible

if TYPE_CHECKING:
    from gdbcuda.shell.observers.options import ObserverOptions


def choose(wanted: ObserverOptions, words: Sequence[str]) -> str:
    """`UserError` where none works; the line says why not the others."""
    ways = {RECORDER: [*not_by_recorder(wanted, words)], UPROBE: [*needs.missing()]}
    found = next((way for way, reasons in ways.items() if not reasons), "")
    others = "; ".join(f"not {way}: {', '.join(reasons)}" for way, reasons in ways.items() if reasons)
    if not found:
        how = "gdbcuda gdb -p PID" if wanted.pid else "gdbcuda gdb --args PROGRAM"
        raise UserError(f"no way to watch it here ({others}); under gdb: {how}, then cuda-log start", page="other-eyes")
    rest = others or f"not {UPROBE}: the recorder costs less"
    how = {RECORDER: ", put in by gdb" if wanted.pid else ", preloaded"}.get(found, "")
    way = {RECORDER: "the recorder", UPROBE: "uprobes"}[found]
    output.complain(f"gdbcuda: watching with {way}{how} ({visible(rest)})")
    return found


def not_by_recorder(wanted: ObserverOptions, words: Sequence[str]) -> Iterator[str]:
    if wanted.of_others():
        yield f"it has no {wanted.of_others()}"
    elif platform.machine() != "x86_64":
        yield "it is made for x86-64"
    elif not places.built(places.TRACER):
        yield f"{places.TRACER} is not built"
    elif wanted.pid:
        yield from not_attached(wanted.pid)
    elif words:
        yield from starting.remarks(words[0])


def not_attached(pid: int) -> Iterator[str]:
    """gdb puts it in. (ptrace(2), "Ptrace access mode checking": the same for /proc/PID/mem.)"""
    try:
        gdb = places.find_gdb()
        os.close(os.open(f"/proc/{pid}/mem", os.O_RDWR | os.O_CLOEXEC))
        if not ptracing.is_allowed_to(gdb):
            yield ptracing.WHY
    except PermissionError:
        yield f"process {pid} may not be traced, and one that runs cannot be preloaded"
    except FileNotFoundError:
        raise UserError(f"there is no process {pid}") from None
    except (OSError, UserError) as problem:
        yield str(problem)

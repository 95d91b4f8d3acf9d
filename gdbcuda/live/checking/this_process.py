"""The findings of a live process: is the hook library really there, first, alive, and not walked around?

``findings()`` is what ``cuda-check`` shows beside the findings of the files. (getauxval(3); <link.h>, r_debug_extended)
"""

from __future__ import annotations

import gdb

from gdbcuda.api import vendor
from gdbcuda.check import loaded
from gdbcuda.check.finding import Finding
from gdbcuda.check.loaded import Facts
from gdbcuda.errors import Unreadable, UserError
from gdbcuda.live import layers, process
from gdbcuda.live.frames import frames
from gdbcuda.live.host import inferiors
from gdbcuda.live.layers import this_snapshot
from gdbcuda.live.noticing import answer_search
from gdbcuda.live.process import environment_variables

MOST_FRAMES = 300


def findings() -> list[Finding]:
    """UserError without a process."""
    if not process.is_alive():
        raise UserError("no process: run the program first, or open a core file")
    vector = process.auxiliary()
    if not process.images():
        return loaded.without_loader(Facts(is_static=vector.get("AT_BASE") == 0))
    return loaded.findings(answer_search.notice_all(), facts(vector))


def facts(vector: dict[str, int]) -> Facts:
    return Facts(
        named_hooks=tuple(layers.named_hooks()),
        is_secure=bool(vector.get("AT_SECURE")),
        preload=preload(),
        initialised=is_initialised(),
        debugger_maps=debugger_maps(),
        static_runtime=bool(this_snapshot.static_runtime()),
        namespaces=tuple(
            tuple((one.name, layers.layer_of_object(one.name)) for one in namespace)
            for namespace in process.images_elsewhere()
        ),
        lacking=tuple(one.lacking for one in process.images() if one.lacking),
    )


def preload() -> str | None:
    """As ld.so saw it; what the program has made of its environment since then does not matter."""
    found = environment_variables.initial("LD_PRELOAD")
    if found is not None:
        return found
    try:
        return environment_variables.get("LD_PRELOAD") or ""
    except (UserError, Unreadable):
        return None


def is_initialised() -> bool | None:
    """False while the first thread's stack begins in ld.so: it calls the constructors, and then the program's start."""
    selected = inferiors.selected_thread()
    first = next((thread for thread in inferiors.threads() if thread.num == 1), None)
    if first is None or selected is None:
        return None
    try:
        first.switch()
        outermost = outermost_object()
    except gdb.error:
        return None
    finally:
        selected.switch()
    return not vendor.is_loader(outermost) if outermost else None


def outermost_object() -> str:
    """Of the selected thread's stack. What gdb unwinds beyond the start code is in no object."""
    found = ""
    for frame in frames.innermost(MOST_FRAMES):
        found = process.object_of(frame.pc()) or found
    return found


def debugger_maps() -> tuple[str, ...]:
    """Files whose code is mapped in gdb's own process, always on this machine; gdb maps others to read them."""
    try:
        with open("/proc/self/maps", encoding="utf-8", errors="replace") as file:
            rows = [line.rstrip("\n").split(None, 5) for line in file]
    except OSError:
        return ()
    return tuple(sorted({row[5] for row in rows if len(row) == 6 and "x" in row[1]}))

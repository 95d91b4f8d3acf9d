"""``gdbcuda log gpu``: what the GPU did, by kernel, stream and call, as text and as data."""

from __future__ import annotations

from gdbcuda import api
from gdbcuda.calls.data import Data
from gdbcuda.calls.text import duration
from gdbcuda.log.views.gpu_views.gpu_rows import CallRow, GpuRows
from gdbcuda.log.views.gpu_views.gpu_work import COPY, FILL, GRAPH, KERNEL, WAIT, GpuOfLog, clocks_apart
from gdbcuda.text import cplusplus, fitting
from gdbcuda.text.sentences import counted
from gdbcuda.text.units import human

ROWS, LESS_ROWS = (15, 15), (8, 3)  # of what ran, and of each other table; and where these do not fit a screen
NONE = "No work of a GPU in this log: gdbcuda trace --gpu records it."
TOLD_NOTHING = "No work of a GPU in this log: CUPTI was asked and told of none."
PLURALS = {KERNEL: "kernel", GRAPH: "graph", COPY: "copy", FILL: "fill", WAIT: "wait"}


def text(found: GpuOfLog, is_wide: bool = False, is_all: bool = False) -> str:
    if not len(found):
        return TOLD_NOTHING if found.notes.gpus else NONE
    rows = GpuRows(found)
    if is_all or is_wide:
        return tables(found, rows, is_wide, None, None)
    whole = tables(found, rows, is_wide, *ROWS)
    return whole if fitting.lines_on_screen(whole) <= fitting.SCREEN else tables(found, rows, is_wide, *LESS_ROWS)


def tables(found: GpuOfLog, rows: GpuRows, is_wide: bool, names: int | None, few: int | None) -> str:
    parts = [head(found, rows), by_name(rows, is_wide, names), by_call(rows, few), waited(rows, few)]
    return "\n\n".join(filter(None, [*parts, by_stream(rows, few)]))


def head(found: GpuOfLog, rows: GpuRows) -> str:
    said = [count_of(kind, rows.kinds[kind]) for kind in PLURALS if rows.kinds[kind]]
    lines = [", ".join(said) + without_call(rows)]
    names = {(pid, f"GPU {number}"): name for (_, pid), one in found.notes.gpus.items()
             for number, name in one["devices"].items()}  # fmt: skip
    for one in rows.by_device():
        name = of_process(one.pid, rows) + (f" ({names[key]})" if (key := (one.pid, one.device)) in names else "")
        overlap, beside = share(one.overlap, one.span), share(one.beside, one.span)
        lines.append(f"{one.device}{name}: {duration(one.span)} from its first work to its last, busy "
                     f"{share(one.busy, one.span)}, idle {duration(one.span - one.busy)}, more than one at a time "
                     f"{overlap}, copies beside kernels {beside}")  # fmt: skip
    return "\n".join([*lines, *clocks(found, rows)])


def of_process(pid: int, rows: GpuRows) -> str:
    """ " of process 4711" where there are several: each numbers the GPUs that it may use from 0."""
    return f" of process {pid}" if len(rows.processes) > 1 else ""


def clocks(found: GpuOfLog, rows: GpuRows) -> list[str]:
    apart, early = clocks_apart(found.notes), rows.early
    said = [f"T{apart[1:]}, as far as CUPTI's own clock can be told."] if apart else []
    if found.notes.apart() is None:
        said = [f"T{apart[1:]}."] if apart else []  # of system calls
        said.append("How far the times of the GPU and of the calls are apart is not known.")
    if early:
        said.append(f"{counted(len(early), 'piece')} of work began up to {duration(max(early))} before the call: "
                    f"so far the clocks may be wrong.")  # fmt: skip
    return said


def count_of(kind: str, count: int) -> str:
    return f"{count} copies" if kind == COPY and count != 1 else counted(count, kind)


def without_call(rows: GpuRows) -> str:
    count = rows.without_call
    return f"; {count} of them come from calls that are not in the log" if count else ""


def share(part: float, whole: float) -> str:
    return f"{100 * part / whole:.0f} %" if whole else "0 %"


def time(seconds: float) -> str:
    return duration(seconds) if seconds >= 0 else ""


def by_name(rows: GpuRows, is_wide: bool, few: int | None) -> str:
    found = [one for one in rows.by_name() if one.kind in PLURALS]
    cells = [(one.name if is_wide else cplusplus.shortened(one.name), one.pieces, duration(one.run),
              duration(one.run / one.pieces), duration(one.longest), time(one.queue), time(one.longest_queue),
              human(one.bytes) if one.bytes else "") for one in found[:few]]  # fmt: skip
    titles = ("on the GPU", "count", "in all", "mean", "longest", "call to start", "longest", "bytes")
    return fitting.table(cells, titles, (6, 4, 7, 3)) + more(len(found), few)


def by_stream(rows: GpuRows, few: int | None) -> str:
    found = rows.by_stream()
    cells = [
        (one.stream + of_process(one.pid, rows), one.pieces, duration(one.busy), duration(one.idle), time(one.gap))
        for one in found[:few]
    ]
    titles = ("stream", "pieces", "busy", "idle between", "longest gap")
    return fitting.table(cells, titles) + more(len(found), few)


def by_call(rows: GpuRows, few: int | None) -> str:
    found = rows.by_call()
    cells = [(one.function, one.pieces, through(one), time(one.before),
              time(one.longest_before), duration(one.call), time(one.queue)) for one in found[:few]]  # fmt: skip
    titles = ("call", "pieces", "through", "before the driver", "longest", "the call", "call to start")
    return fitting.table(cells, titles, (4, 2)) + more(len(found), few) if found else ""


def through(one: CallRow) -> str:
    """Nobody, where the program calls the driver itself."""
    function = api.load_all().function(one.function)
    is_drivers = function is not None and function.api == "driver"
    return " and ".join(["hook"] * one.has_hook + ["runtime"] * (not is_drivers))


def waited(rows: GpuRows, few: int | None) -> str:
    found = rows.waited()
    cells = [(one.name, one.behind, one.pieces, human(one.bytes), duration(one.waited), duration(one.longest))
             for one in found[:few]]  # fmt: skip
    titles = ("copies that wait", "behind", "count", "bytes", "in all", "longest")
    return fitting.table(cells, titles, (5, 3)) + more(len(found), few) if cells else ""


def more(count: int, few: int | None) -> str:
    return f"\n... {counted(count - few, 'row')} more: --all" if few is not None and count > few else ""


def data(found: GpuOfLog) -> Data:
    """Times in seconds; -1 where something is not known, None of how far clocks are apart."""
    rows = GpuRows(found)
    return {
        "clock": [{"pid": pid, "uncertainty": seconds(one["uncertainty"]), "devices": one["devices"]}
                  for (_, pid), one in found.notes.gpus.items()],
        "early": len(rows.early),
        "without_call": rows.without_call,
        "devices": [one._asdict() for one in rows.by_device()],
        "streams": [one._asdict() for one in rows.by_stream()],
        "work": [one._asdict() for one in rows.by_name()],
        "calls": [one._asdict() for one in rows.by_call()],
        "waited": [one._asdict() for one in rows.waited()],
    }  # fmt: skip


def seconds(nanoseconds: float | None) -> float | None:
    return None if nanoseconds is None else round(float(nanoseconds) / 1e9, 12)

"""The first line of a log's file: the program, its objects, the versions of the API."""

from __future__ import annotations

from typing import Any

import gdb

from gdbcuda import __version__
from gdbcuda.calls import record, sinks
from gdbcuda.errors import UserError
from gdbcuda.linkage import Linkage
from gdbcuda.live import process
from gdbcuda.live.layers import table_version, this_snapshot


def header() -> dict[str, Any]:
    table = table_version.table()
    return record.header(table.cuda, table.nvml, process.strip_prefix(process.program()), __version__, objects())


def save(kept: sinks.Kept, path: str) -> int:
    """Writes what is kept; how many calls that is."""
    file = sinks.JsonLines(path, header())
    kept.replay(file)
    file.close()
    return len(kept.calls)


def object_data(one: Linkage) -> dict[str, Any]:
    return {"file": this_snapshot.file_of(one), "layer": this_snapshot.layer_of(one), "build_id": one.image.build_id}


def objects() -> list[dict[str, Any]]:
    """The files as far as they are known by now; what is loaded later has a line of its own."""
    if process.is_alive():
        try:
            return [object_data(one) for one in this_snapshot.objects().all]
        except UserError:  # the loader has not begun
            pass
    program = process.program()
    known = next((one for one in gdb.objfiles() if one.filename == program), None)
    return [{"file": process.strip_prefix(program), "layer": "app", "build_id": known.build_id}] if known else []

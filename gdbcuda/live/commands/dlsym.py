"""``cuda-dlsym``: who implements it, and whom each object asks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gdbcuda.command_line.options import Options, flag
from gdbcuda.live import layers, process
from gdbcuda.live.layers import this_snapshot
from gdbcuda.live.process.objects import core_files
from gdbcuda.live.prompt.command import command
from gdbcuda.live.stopping import stops
from gdbcuda.routes import snapshot as snapshots
from gdbcuda.routes.reports import resolvers
from gdbcuda.text.json_text import json_text

if TYPE_CHECKING:
    from gdbcuda.routes.collect import Route


class DlsymOptions(Options):
    all: bool = flag("the references of the system's libraries too")
    json: bool = flag("as one JSON object")


@command("cuda-dlsym", DlsymOptions, prefix=True, purpose="check", needs="stopped")
def cuda_dlsym(wanted: DlsymOptions) -> str:
    """Show every implementation of dlsym, and which one each object reaches.

    The subcommands log the requests, break on one, and answer one differently: help cuda-dlsym log, break,
    answer. What a PLT slot leads to is read from memory. A slot that was not called yet is looked up as the
    loader will do it.

    Examples:
      cuda-dlsym
      cuda-dlsym log on
      cuda-dlsym break cuMemAlloc_v2"""
    snapshot = this_snapshot.now()
    found = resolvers.implementations(snapshot) + hidden(snapshot)
    routes = resolvers.references(snapshot, wanted.all)
    if wanted.json:
        return json_text({"implementations": [one.as_json() for one in found],
                           "references": [route.as_json() for route in routes]})  # fmt: skip
    lines = [resolvers.table(found, stops.paint), ""] if found else ["Nothing in this process defines dlsym.", ""]
    lines.append(resolvers.reference_table(routes, stops.paint) if routes else "No object refers to dlsym by name.")
    return "\n".join([*lines, *program_says(snapshot, routes), *core_files.advice()])


def hidden(snapshot: snapshots.ProcessSnapshot) -> list[resolvers.Implementation]:
    """Those that only gdb knows, from a symbol table or debug info: they cannot be reached by name."""
    known = {one.address for one in resolvers.implementations(snapshot)}
    found = []
    for name in snapshots.LOADERS_RESOLVERS:
        starts = {at for address in process.decoded(name) if (at := process.function_start(address)) is not None}
        found += [implementation(name, at) for at in sorted(starts - known) if process.symbol_of(at)[0] == name]
    return found


def implementation(name: str, address: int) -> resolvers.Implementation:
    file = process.object_of(address)
    return resolvers.Implementation(name, address, file, layers.layer_of_object(file), (), exported=False)


def program_says(snapshot: snapshots.ProcessSnapshot, routes: list[Route]) -> list[str]:
    """What matters most in one line: does the program's own dlsym reach the hook?"""
    program = snapshot.file_of(snapshot.objects.all[0])
    mine = next((r for r in routes if r.asker == program and r.function == "dlsym" and r.reached), None)
    if mine is not None and mine.reached is not None:
        return [f"The program's dlsym is {mine.reached.object}'s ({mine.reached.layer})."]
    found = snapshot.objects.lookup("dlsym", snapshot.objects.startup)
    if found is None:
        return []
    owner = snapshot.reached_definition(*found)
    return [f"The program does not refer to dlsym; a library that does, and is not loaded with RTLD_DEEPBIND, reaches "
            f"{owner.object}'s ({owner.layer})."]  # fmt: skip

"""``cuda-route``."""

from __future__ import annotations

import json

from gdbcuda.live.checking import routes_here
from gdbcuda.live.layers import names, this_snapshot
from gdbcuda.live.layers.arguments import FUNCTION
from gdbcuda.live.process import core_files
from gdbcuda.live.prompt.command import command
from gdbcuda.live.stopping import stops
from gdbcuda.routes import report
from gdbcuda.routes.collect import Route
from gdbcuda.routes.snapshot import ProcessSnapshot
from gdbcuda.text.options import Options, flag, optional_word


class RouteOptions(Options):
    function: str | None = optional_word(FUNCTION, "API function, base name or glob ('cuMem*'), or exported name")
    app: bool = flag("what the program itself refers to, not its libraries")
    all: bool = flag("the hook's and the driver's own references too, and functions that nobody refers to")
    unhooked: bool = flag("only what goes past the hook, allocation functions first")
    json: bool = flag("as one JSON object")


@command("cuda-route", RouteOptions, purpose="check", needs="stopped")
def cuda_route(wanted: RouteOptions) -> str:
    """Show which implementation answers: per function, and per way of reaching it.

    The command works at any stop, also before the first call, and on a core file. PLT and GOT slots are read
    from memory. A slot that is "not called yet" is looked up as the loader will do it. A pointer is one that
    the program, the runtime or the hook has stored in its variables. While cuda-dlsym log is on, the answers
    of dlsym and cuGetProcAddress are added.

    The verdicts: hooked; driver (past the hook); runtime; other; missing; wrong version; real (the hook's own
    way on).

    Examples:
      cuda-route
      cuda-route cuMemAlloc
      cuda-route --unhooked
      cuda-route 'cuMem*' --all --json"""
    snapshot = this_snapshot.now()
    routes = routes_here.routes(snapshot, wanted.function, wanted.app, wanted.all)
    shown = routes_here.past_the_hook(snapshot, routes) if wanted.unhooked else routes
    if wanted.json:
        return as_json(snapshot, shown, report.summary(snapshot, routes))
    if not shown:
        return "\n".join([nothing(wanted.function, wanted.unhooked), *core_files.advice()])
    return "\n".join([report.table(shown, stops.paint), report.summary(snapshot, routes), *core_files.advice()])


def nothing(pattern: str | None, unhooked: bool) -> str:
    if unhooked:
        return "Nothing goes past the hook."
    if pattern and names.is_glob(pattern):
        return f"Nothing refers to {pattern} by name yet; what a new reference would find: --all"
    what = f"{pattern}, and no loaded object defines it" if pattern else \
        "the CUDA and NVML API by name; what it asks dlsym for shows with cuda-dlsym log on"  # fmt: skip
    return f"Nothing in this process refers to {what}."


def as_json(snapshot: ProcessSnapshot, routes: list[Route], summary: str) -> str:
    return json.dumps({
        "hooks": [snapshot.file_of(hook) for hook in snapshot.hooks],
        "cuda": snapshot.table.cuda,
        "nvml": snapshot.table.nvml,
        "summary": summary,
        "routes": [route.as_json() for route in routes],
    })

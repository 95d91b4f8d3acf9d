"""``cuda-route``."""

from __future__ import annotations

import json as jsonlib
from collections.abc import Iterable

from gdbcuda.errors import UserError
from gdbcuda.linkage import Linkage
from gdbcuda.live import process
from gdbcuda.live.checking import real_functions
from gdbcuda.live.dlsym import request_log
from gdbcuda.live.layers import names, this_snapshot
from gdbcuda.live.process import core_files
from gdbcuda.live.prompt.command import Option, Word, command
from gdbcuda.live.stopping import stops
from gdbcuda.routes import collect, judge, report
from gdbcuda.routes.collect import Route
from gdbcuda.routes.snapshot import ProcessSnapshot, Reached
from gdbcuda.routes.verdicts import Verdict


@command(
    "cuda-route",
    Word("function", "API function, base name or glob ('cuMem*'), or exported name", "?", names.complete_functions),
    Option("--app", "what the program itself refers to, not its libraries", flag=True),
    Option("--all", "the hook's and the driver's own references too, and functions that nobody refers to", flag=True),
    Option("--unhooked", "only what goes past the hook, allocation functions first", flag=True),
    Option("--json", "as one JSON object", flag=True),
)
def cuda_route(function: str | None, app: bool, all: bool, unhooked: bool, json: bool) -> str:
    """Show which implementation answers: per function, and per way of reaching it.

    Works at any stop, also before the first call, and on a core file: PLT and GOT slots are read from memory. A slot
    that is "not called yet" is looked up as the loader will. A pointer is one that the program, the runtime or the
    hook has stored in its variables. What dlsym and cuGetProcAddress answered is added while cuda-dlsym log is on.

    Verdicts: hooked, driver (past the hook), runtime, other, missing, wrong version, and real: the hook's own way on.

    Examples:
      cuda-route
      cuda-route cuMemAlloc
      cuda-route --unhooked
      cuda-route 'cuMem*' --all --json"""
    process.require_stopped()
    world = this_snapshot.now()
    wanted = wanted_names(world, function)
    routes = collect.sorted_routes([*found_routes(world, wanted, app, all or function is not None)])
    if not app and (all or (function is not None and not names.is_glob(function))):
        routes = collect.sorted_routes([*routes, *new_references(world, wanted, routes)])
    shown = past_the_hook(world, routes) if unhooked else routes
    if json:
        return as_json(world, shown, report.summary(world, routes))
    if not shown:
        return "\n".join([nothing(function, unhooked), *core_files.advice()])
    return "\n".join([report.table(shown, stops.paint), report.summary(world, routes), *core_files.advice()])


def wanted_names(world: ProcessSnapshot, pattern: str | None) -> frozenset[str]:
    if pattern is None:
        return frozenset(world.api_names)
    found = frozenset(f.symbol for f in world.table.find(pattern))
    if found:
        return found
    if not names.is_glob(pattern) and any(one.symbols.find(pattern) for one in world.objects.all):
        return frozenset({pattern})
    names.unknown(pattern, world.table)
    raise AssertionError


def found_routes(world: ProcessSnapshot, wanted: frozenset[str], app: bool, everything: bool) -> Iterable[Route]:
    """``everything``: the hook's own ways too."""
    left_out = ("system",) if everything else ("system", "driver", "hook")
    found = answered(world, wanted, app) + static(world, wanted)
    for asker in world.objects.all[:1] if app else world.objects.all:
        if app or world.layers[asker] not in left_out:
            found += of_object(world, asker, wanted)
    return found


def new_references(world: ProcessSnapshot, wanted: frozenset[str], found: list[Route]) -> list[Route]:
    """For functions that nobody refers to: what a new reference would find."""
    searched = (collect.search(world, name) for name in wanted - {route.function for route in report.of_callers(found)})
    return [route for route in searched if route.reached is not None]


def answered(world: ProcessSnapshot, wanted: frozenset[str], app: bool) -> list[Route]:
    """What the log of requests saw."""
    found = judge.routes(world, request_log.LOG().book.requests)
    program = world.file_of(world.objects.all[0])
    return [route for route in found if route.function in wanted and (not app or route.asker == program)]


def static(world: ProcessSnapshot, wanted: frozenset[str]) -> list[Route]:
    """The runtime inside the program: no slot leads there, its functions are called directly."""
    program = world.file_of(world.objects.all[0])
    verdict = Verdict("runtime", "linked into the program: only the driver below it can be hooked")
    return [Route(name, "static", program, "app", "", Reached(address, (name,), program, "runtime"), verdict)
            for name, address in this_snapshot.static_runtime().items() if name in wanted]  # fmt: skip


def of_object(world: ProcessSnapshot, asker: Linkage, wanted: frozenset[str]) -> list[Route]:
    found = collect.references(world, asker, wanted)
    if collect.stores_answers(world, asker):
        found += collect.pointers(world, asker, wanted)
    if world.layers[asker] == "hook":
        found += real_functions.not_looked_up(world, asker, wanted)
    return found


def past_the_hook(world: ProcessSnapshot, routes: list[Route]) -> list[Route]:
    if not world.hooks:
        raise UserError("no hook library is loaded: everything goes past it (cuda-load LIB)")
    past = [route for route in report.of_callers(routes) if report.is_past(world, route)]
    return sorted(past, key=lambda route: not collect.is_alloc(world, route.function))


def nothing(pattern: str | None, unhooked: bool) -> str:
    if unhooked:
        return "Nothing goes past the hook."
    if pattern and names.is_glob(pattern):
        return f"Nothing refers to {pattern} by name yet; what a new reference would find: --all"
    what = f"{pattern}, and no loaded object defines it" if pattern else \
        "the CUDA and NVML API by name; what it asks dlsym for shows with cuda-dlsym log on"  # fmt: skip
    return f"Nothing in this process refers to {what}."


def as_json(world: ProcessSnapshot, routes: list[Route], summary: str) -> str:
    return jsonlib.dumps({
        "hooks": [world.file_of(hook) for hook in world.hooks],
        "cuda": world.table.cuda,
        "nvml": world.table.nvml,
        "summary": summary,
        "routes": [route.as_json() for route in routes],
    })

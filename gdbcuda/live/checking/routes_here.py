"""The routes of the process: what references, stored pointers and the answers that were logged lead to."""

from __future__ import annotations

import fnmatch
import os
from collections.abc import Iterable

from gdbcuda.errors import UserError
from gdbcuda.linkage import Linkage
from gdbcuda.live.checking import hook_variables, nameless_pointers, real_functions, static_calls
from gdbcuda.live.dlsym import request_log
from gdbcuda.live.layers import names, this_snapshot
from gdbcuda.live.noticing import wrappers
from gdbcuda.routes import collect, judge
from gdbcuda.routes.answering import Answering, base
from gdbcuda.routes.collect import Route
from gdbcuda.routes.reports import route_report
from gdbcuda.routes.snapshot import ProcessSnapshot, Reached
from gdbcuda.routes.verdicts import Verdict
from gdbcuda.text.printable import visible


def routes(snapshot: ProcessSnapshot, function: str | None = None, app: bool = False, all: bool = False) -> list[Route]:
    """Those of the functions that ``function`` names, or of all; ``app``: of the program alone; ``all``: the hook's and
    the driver's own ways too, and what a new reference would find. UserError for a name that nobody knows."""
    wanted = wanted_names(snapshot, function)
    is_overview = not all and (function is None or names.is_glob(function))
    ways = [*found_routes(snapshot, wanted, app, all or function is not None)]
    found = collect.sorted_routes(collect.without_kept_answers(ways) if is_overview else ways)
    if not app and (all or (function is not None and not names.is_glob(function))):
        found = collect.sorted_routes([*found, *new_references(snapshot, wanted, found)])
    return found


def wanted_names(snapshot: ProcessSnapshot, pattern: str | None) -> frozenset[str]:
    if pattern is None:
        return snapshot.api_names
    found = frozenset(f.symbol for f in snapshot.table.find(pattern))
    if names.is_glob(pattern):
        found |= exported_by_ours(snapshot, pattern)
    if found:
        return found
    if not names.is_glob(pattern) and any(one.symbols.find(pattern) for one in snapshot.objects.all):
        return frozenset({pattern})
    names.unknown(pattern, snapshot.table)
    raise AssertionError


def defining(snapshot: ProcessSnapshot, function: str) -> list[str]:
    """Base names of the objects that have it, in the search order of the program or not."""
    wanted = wanted_names(snapshot, function)
    return [snapshot.name_of(one) for one in snapshot.objects.all if any(one.symbols.find(name) for name in wanted)]


def exported_by_ours(snapshot: ProcessSnapshot, glob: str) -> frozenset[str]:
    """What the hook libraries export beside the API: their own functions are asked for like others."""
    exported = {name for hook in snapshot.hooks for known in hook.symbols.by_address.values() for name in known}
    return frozenset(fnmatch.filter(exported, glob))


def found_routes(snapshot: ProcessSnapshot, wanted: frozenset[str], app: bool, everything: bool) -> Iterable[Route]:
    """``everything``: the hook's own ways too."""
    left_out = ("system",) if everything else ("system", "driver", "hook")
    found = answered(snapshot, wanted, app) + static(snapshot, wanted, everything) + wrapped(snapshot, wanted, app)
    for asker in snapshot.objects.all[:1] if app else snapshot.objects.all:
        if app or snapshot.layers[asker] not in left_out:
            found += of_object(snapshot, asker, wanted)
    return found


def new_references(snapshot: ProcessSnapshot, wanted: frozenset[str], found: list[Route]) -> list[Route]:
    """For functions that nobody refers to: what a new reference would find."""
    searched = (
        collect.search(snapshot, name) for name in wanted - {route.function for route in route_report.of_callers(found)}
    )
    return [route for route in searched if route.reached is not None]


def answered(snapshot: ProcessSnapshot, wanted: frozenset[str], app: bool) -> list[Route]:
    """What the log of requests saw."""
    found = judge.routes(snapshot, request_log.LOG().book.requests)
    program = snapshot.file_of(snapshot.objects.all[0])
    return [route for route in found if route.function in wanted and (not app or route.asker == program)]


def static(snapshot: ProcessSnapshot, wanted: frozenset[str], everything: bool) -> list[Route]:
    """The runtime inside the program: no slot leads there, its functions are called directly. All of them come along;
    to most of them nothing refers."""
    there = {name: address for name, address in this_snapshot.static_runtime().items() if name in wanted}
    used = static_calls.referred_to() if there else frozenset()
    program = snapshot.file_of(snapshot.objects.all[0])
    verdict = Verdict("runtime", "linked into the program: only the driver below it can be hooked")
    return [Route(name, "static" if name in used else "by name", program, "app", "",
                  Reached(address, (name,), program, "runtime"), verdict)
            for name, address in there.items() if everything or name in used]  # fmt: skip


def wrapped(snapshot: ProcessSnapshot, wanted: frozenset[str], app: bool) -> list[Route]:
    """What an object was linked with for --wrap gets its own calls; the slot is its way on."""
    program = snapshot.file_of(snapshot.objects.all[0])
    return [wrapped_route(one, program) for one in wrappers.wrapped(wanted) if not app or one.reached.file == program]


def wrapped_route(one: Answering, program: str) -> Route:
    file = one.reached.file
    whose = "the program's" if file == program else f"{base(file)}'s"
    verdict = Verdict("other", f"{whose} own calls: it is linked with --wrap")
    return Route(one.function, collect.WRAP, file, "app", "", one.reached, verdict)


def of_object(snapshot: ProcessSnapshot, asker: Linkage, wanted: frozenset[str]) -> list[Route]:
    found = collect.references(snapshot, asker, wanted)
    if collect.stores_answers(snapshot, asker):
        found += collect.pointers(snapshot, asker, wanted)
    if snapshot.layers[asker] == "hook":
        found = [with_entry(route) for route in found]
        found += real_functions.null_entries(snapshot, asker, wanted.__contains__, request_log.LOG().book.requests)
    return found


def with_entry(route: Route) -> Route:
    """A pointer of a table is named by its entry, as one that is NULL."""
    entry = real_functions.entry_at(route.asker, route.address) if route.way == "pointer" else ""
    return route._replace(state=entry) if entry else route


def null_pointers(snapshot: ProcessSnapshot, function: str | None = None) -> list[Route]:
    """The hook's own pointers that lead nowhere; of all functions, also those for names outside of the API."""
    wanted, asked = wanted_names(snapshot, function), request_log.LOG().book.requests

    def is_meant(name: str) -> bool:
        return function is None or name in wanted or (names.is_glob(function) and fnmatch.fnmatch(name, function))

    found = []
    for hook in snapshot.hooks:
        file = snapshot.file_of(hook)
        found += real_functions.null_entries(snapshot, hook, is_meant, asked)
        others = [one for one in nameless_pointers.nameless(hook, file) if is_meant(one.function)]
        found += real_functions.null_lone(snapshot, file, others, asked)
    return collect.sorted_routes(found)


def no_null_pointers(snapshot: ProcessSnapshot) -> str:
    """What can be said where none was found: nothing, without debug info."""
    silent = [file for file in map(snapshot.file_of, snapshot.hooks) if not hook_variables.is_told_of(file)]
    named = [file for file in silent if hook_variables.is_told_of(file, of_the_api=False)]
    if silent and named != silent:
        which = ", ".join(visible(os.path.basename(file)) for file in silent if file not in named)
        return f"unknown: gdb has no debug info of {which} that tells of its pointers (build it with -g)"
    if named:
        which = ", ".join(visible(os.path.basename(file)) for file in named)
        return f"unknown: no pointer of {which}, and no function around one, is named after one of the API"
    return "No NULL among the hook's pointers that its debug info tells of."


def past_the_hook(snapshot: ProcessSnapshot, routes: list[Route]) -> list[Route]:
    if not snapshot.hooks and not snapshot.unsearched_hooks:
        raise UserError("no hook library is loaded: everything goes past it (cuda-load LIB)")
    past = [route for route in route_report.of_callers(routes) if route_report.is_past(snapshot, route)]
    return collect.allocations_first(snapshot, past)

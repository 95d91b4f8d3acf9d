"""Routes as a table and a summary."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Callable

from gdbcuda.routes.collect import Route
from gdbcuda.routes.snapshot import ProcessSnapshot, Reached
from gdbcuda.routes.verdicts import ROLES, runtime
from gdbcuda.text import render
from gdbcuda.text.printable import visible

HEADERS = ("function", "asked by", "way", "reaches", "verdict", "why")
Paint = Callable[[str, str], str]


def is_past(snapshot: ProcessSnapshot, route: Route) -> bool:
    """Does the call go past a hook that could have had it? One below the runtime does not want the runtime's calls."""
    if route.verdict.word == "runtime":
        return any(runtime(snapshot, name) for name in snapshot.hooked_names)
    return route.verdict.word in ("driver", "other", "wrong version", "wrong object")


def arrives_in_hook(route: Route) -> bool:
    return route.reached is not None and route.reached.layer == "hook"


def of_callers(routes: Sequence[Route]) -> list[Route]:
    """Without the hook's own ways, and those of the vendor and the system."""
    return [route for route in routes if route.asker_layer in ("app", "runtime")]


def table(routes: Sequence[Route], paint: Paint) -> str:
    rows = [(paint(r.function, "function"), asker(r, paint), way(r), reached(r.reached, paint),
             paint(r.verdict.word, ROLES[r.verdict.word]), r.verdict.why) for r in routes]  # fmt: skip
    headers = HEADERS if any(row[-1] for row in rows) else HEADERS[:-1]
    return render.table([row[: len(headers)] for row in rows], headers, colour=paint("x", "ok") != "x")


def asker(route: Route, paint: Paint) -> str:
    file = visible(route.asker.rsplit("/", 1)[-1])
    return f"{paint(route.asker_layer, 'layer-' + route.asker_layer)} {file}"


def way(route: Route) -> str:
    return f"{route.way}, {route.state}" if route.state else route.way


def reached(there: Reached | None, paint: Paint) -> str:
    if there is None:
        return "nothing"
    return paint(there.text, "layer-" + there.layer if there.layer else "dim")


def summary(snapshot: ProcessSnapshot, routes: Sequence[Route]) -> str:
    """ "12 functions reachable: 10 hooked, 3 past the hook (1 depends on who asks)"; of callers, not of the hook."""
    mine = [route for route in of_callers(routes) if route.way != "by name"]
    names = {route.function for route in mine if route.reached is not None}
    if routes and not mine:
        is_shown = any(route.way == "by name" for route in routes)
        new = "'by name' is what a new reference would find." if is_shown else "what a new reference would find: --all"
        return f"Nothing refers to it by name yet; {new}"
    head = f"{len(names)} function{'' if len(names) == 1 else 's'} reachable"
    if not snapshot.hooks:
        return f"{head}; no hook library is loaded"
    past = {route.function for route in mine if is_past(snapshot, route) and not arrives_in_hook(route)}
    hooked = {route.function for route in mine if route.verdict.word == "hooked"}
    wrong = {route.function for route in mine if route.verdict.word.startswith("wrong")}
    both = len(hooked & past)
    depends = f" ({both} depend{'s' if both == 1 else ''} on who asks)" if both else ""
    counts = [(len(wrong), "wrong version"), (len(names - hooked - past - wrong), "above the hook"),
              (len({route.function for route in mine} - names), "missing")]  # fmt: skip
    rest = "".join(f", {count} {word}" for count, word in counts if count)
    return f"{head}: {len(hooked)} hooked, {len(past)} past the hook{depends}{rest}"

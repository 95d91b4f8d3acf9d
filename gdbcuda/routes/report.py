"""Routes as a table and a summary."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Callable

from gdbcuda.routes.collect import WRAP, Route, is_alloc
from gdbcuda.routes.verdicts import ROLES, runtime
from gdbcuda.text import render
from gdbcuda.text.cplusplus import shortened
from gdbcuda.text.printable import visible
from gdbcuda.text.sentences import counted, short_paths

if TYPE_CHECKING:
    from gdbcuda.routes.snapshot import ProcessSnapshot, Reached

MOST_ASKERS, MOST_NAMED, SCREEN = 2, 4, 40
EACH = "A row with \"and N more\" stands for functions that are alike; cuda-route --unhooked '*' has a row for each."
HEADERS = ("function", "asked by", "way", "reaches", "verdict", "why")
Paint = Callable[[str, str], str]
NAMES: Mapping[str, str] = {}


def is_past(snapshot: ProcessSnapshot, route: Route) -> bool:
    """Does the call go past a hook that could have had it? One below the runtime does not want the runtime's calls."""
    if route.verdict.word == "runtime":
        return any(runtime(snapshot, name) for name in snapshot.hooked_names)
    return route.way != WRAP and route.verdict.word in ("driver", "other", "wrong version", "wrong object")


def arrives_in_hook(route: Route) -> bool:
    return route.reached is not None and route.reached.layer == "hook"


def of_callers(routes: Sequence[Route]) -> list[Route]:
    """Without the hook's own ways, and those of the vendor and the system."""
    return [route for route in routes if route.asker_layer in ("app", "runtime")]


def table(routes: Sequence[Route], paint: Paint, is_each: bool = True, is_wide: bool = False) -> str:
    """A row for each place; else one for all places of a function that lead to the same."""
    short = str if is_wide else shortened
    return written([[same] for same in places(routes, is_each)], paint, short)


def folded_table(snapshot: ProcessSnapshot, routes: Sequence[Route], paint: Paint, is_wide: bool = False) -> str:
    """A row for each function that hands out memory; where the rows do not fit a screen, one for all others that the
    same objects ask for and that lead to the same object."""
    short = str if is_wide else shortened
    functions = places(routes, is_each=False)
    if len(functions) <= SCREEN:
        return written([[same] for same in functions], paint, short)
    found: dict[object, list[list[Route]]] = {}
    for same in functions:
        first, who = same[0], frozenset(route.asker for route in same)
        key = first if is_alloc(snapshot, first.function) else (who, whose(first.reached), first.verdict)
        found.setdefault(key, []).append(same)
    note = [EACH] if len(found) < len(functions) else []
    return "\n".join([written(list(found.values()), paint, short), *note])


def written(rows: Sequence[list[list[Route]]], paint: Paint, short: Callable[[str], str]) -> str:
    there = [route for alike in rows for same in alike for route in same]
    names = short_paths([*(route.asker for route in there), *(route.reached.file for route in there if route.reached)])
    cells = [cells_of(alike, paint, short, names) for alike in rows]
    headers = HEADERS if any(row[-1] for row in cells) else HEADERS[:-1]
    return render.table([row[: len(headers)] for row in cells], headers, colour=paint("x", "ok") != "x")


def cells_of(
    alike: list[list[Route]], paint: Paint, short: Callable[[str], str], names: Mapping[str, str] = NAMES
) -> tuple[str, ...]:
    """Of one function, or of several that are one row."""
    same, first, more = [route for each in alike for route in each], alike[0][0], len(alike) - 1
    there = paint(whose(first.reached), "dim") if more else reached(first.reached, paint, short, names)
    name = paint(first.function, "function") + (f" and {more} more" if more else "")
    verdict = paint(first.verdict.word, ROLES[first.verdict.word])
    return name, askers(same, paint, names), short(ways(same)), there, verdict, first.verdict.why


def whose(there: Reached | None) -> str:
    return f"{there.layer} {there.object}" if there is not None and there.file else "nothing"


def places(routes: Sequence[Route], is_each: bool) -> list[list[Route]]:
    """Those that are one row, in the order of the first of them."""
    found: dict[object, list[Route]] = {}
    for route in routes:
        key = route if is_each else (route.function, route.reached, route.verdict)
        found.setdefault(key, []).append(route)
    return list(found.values())


def askers(same: Sequence[Route], paint: Paint, names: Mapping[str, str] = NAMES) -> str:
    found = list(dict.fromkeys(asker(route, paint, names) for route in same))
    left = len(found) - MOST_ASKERS
    return ", ".join(found[:MOST_ASKERS]) + (f" and {left} more" if left > 0 else "")


def asker(route: Route, paint: Paint, names: Mapping[str, str] = NAMES) -> str:
    """``names``: of the files, where two are called the same."""
    file = visible(names.get(route.asker) or route.asker.rsplit("/", 1)[-1])
    return f"{paint(route.asker_layer, 'layer-' + route.asker_layer)} {file}"


def ways(same: Sequence[Route]) -> str:
    """ "PLT, bound"; of several places "2 PLT, 4 pointers"."""
    if len(same) == 1:
        return way(same[0])
    counts = Counter(route.way for route in same)
    return ", ".join(f"{count} {kind}{'s' if kind == 'pointer' and count > 1 else ''}" if count > 1 else kind
                     for kind, count in counts.items())  # fmt: skip


def way(route: Route) -> str:
    return f"{route.way}, {route.state}" if route.state else route.way


def reached(
    there: Reached | None, paint: Paint, short: Callable[[str], str] = str, names: Mapping[str, str] = NAMES
) -> str:
    if there is None:
        return "nothing"
    text = there.text
    if there.file and names.get(there.file) == there.file:
        text = text.replace(there.object, there.file, 1)
    return paint(short(text), "layer-" + there.layer if there.layer else "dim")


def head(snapshot: ProcessSnapshot, past: Sequence[Route]) -> str:
    """ "8 functions go past the hook; 1 hands out memory: cuMemAllocAsync_ptsz". These come first."""
    referred = [route for route in past if route.way != "by name"] or past
    names = list(dict.fromkeys(route.function for route in referred))
    allocate = [name for name in names if is_alloc(snapshot, name)]
    go = "goes" if len(names) == 1 else "go"
    if not allocate:
        return f"{counted(len(names), 'function')} {go} past the hook, and none hands out memory:"
    hand, shown = "hands" if len(allocate) == 1 else "hand", ", ".join(allocate[:MOST_NAMED])
    more = ", ..." if len(allocate) > MOST_NAMED else ""
    return f"{counted(len(names), 'function')} {go} past the hook; {len(allocate)} {hand} out memory: {shown}{more}"


def summary(snapshot: ProcessSnapshot, routes: Sequence[Route]) -> str:
    """ "12 functions reachable: 10 hooked, 3 past the hook (1 depends on who asks)"; of callers, not of the hook."""
    mine = [route for route in of_callers(routes) if route.way != "by name"]
    names = {route.function for route in mine if route.reached is not None}
    if routes and not mine:
        is_shown = any(route.way == "by name" for route in routes)
        new = "'by name' is what a new reference would find." if is_shown else "what a new reference would find: --all"
        return f"Nothing refers to it by name yet; {new}"
    head = f"{len(names)} function{'' if len(names) == 1 else 's'} reachable"
    if not snapshot.hooks and not snapshot.unsearched_hooks and not any(map(arrives_in_hook, mine)):
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

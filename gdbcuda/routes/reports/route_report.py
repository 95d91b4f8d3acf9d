"""Routes as a table and a summary."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from gdbcuda.routes.collect import WRAP, Route, is_alloc
from gdbcuda.routes.reports import route_table
from gdbcuda.routes.reports.route_table import Paint
from gdbcuda.routes.verdicts import offers_names, runtime
from gdbcuda.text.sentences import counted

if TYPE_CHECKING:
    from gdbcuda.routes.snapshot import ProcessSnapshot

MOST_NAMED, SCREEN = 4, 40  # names in a line, lines of a table
# Where a table does not fit a screen, what is worse comes first in one that does.
WORST_FIRST = ("wrong version", "wrong object", "driver", "other", "missing", "runtime", "real", "hooked")
LAST_FOLDING = 5
NO_MEMORY = ", and none hands out memory"


def is_past(snapshot: ProcessSnapshot, route: Route) -> bool:
    """Does the call go past a hook that could have had it? One below the runtime does not want the runtime's calls."""
    if route.verdict.word == "runtime":
        return any(runtime(snapshot, name) for name in snapshot.hooked_names)
    return route.way != WRAP and route.verdict.word in ("driver", "other", "wrong version", "wrong object")


def is_unknown(route: Route) -> bool:
    """Code of no object: nobody can say whose it is, and where it leads."""
    return route.reached is not None and not route.reached.file


def arrives_in_hook(route: Route) -> bool:
    return route.reached is not None and route.reached.layer == "hook"


def of_callers(routes: Sequence[Route]) -> list[Route]:
    """Without the hook's own ways, and those of the vendor and the system."""
    return [route for route in routes if route.asker_layer in ("app", "runtime")]


def table(routes: Sequence[Route], paint: Paint, is_each: bool = True, is_wide: bool = False) -> str:
    """A row for each place; else one for all places of a function that lead to the same."""
    return route_table.written([[same] for same in places(routes, is_each)], paint, is_wide, is_each)


def screenful(
    snapshot: ProcessSnapshot, routes: Sequence[Route], paint: Paint, is_wide: bool = False
) -> tuple[str, bool]:
    """A row for each function; where these do not fit a screen, the first of the coarser tables that does. True if it
    is one of them."""
    functions, text = places(routes, is_each=False), ""
    for at, rows in enumerate(foldings(snapshot, functions)):
        if len(rows) <= SCREEN or at == LAST_FOLDING:
            text = route_table.written(rows, paint, is_wide)
            if text.count("\n") < SCREEN or at == LAST_FOLDING:
                return text, at > 0
    raise AssertionError


def foldings(snapshot: ProcessSnapshot, functions: list[list[Route]]) -> Iterator[list[list[list[Route]]]]:
    """Tables whose rows are functions that are alike, each coarser than the one before. What is wrong, and what goes
    past the hook and hands out memory, comes first, and stays a row of its own as long as it may."""
    yield [[same] for same in functions]
    sorted_functions = sorted(functions, key=lambda same: place_of(snapshot, same[0]))

    def asked_alike(same: list[Route]) -> object:
        return frozenset(route.asker for route in same), *reached_alike(same)

    def reached_alike(same: list[Route]) -> tuple[object, ...]:
        return where(same[0]), same[0].verdict

    def of_one_kind(same: list[Route]) -> tuple[object, ...]:
        return where(same[0]), same[0].verdict.word, same[0].kind or same[0].verdict.why

    def judged_alike(same: list[Route]) -> tuple[object, ...]:
        return where(same[0]), same[0].verdict.word

    for key, is_apart in ((asked_alike, True), (reached_alike, True), (of_one_kind, True), (judged_alike, True),
                          (judged_alike, False)):  # fmt: skip
        found: dict[object, list[list[Route]]] = {}
        for same in sorted_functions:
            notable = is_notable(snapshot, same[0])
            found.setdefault(same[0] if notable and is_apart else (notable, key(same)), []).append(same)
        yield [sorted(alike, key=lambda same: len(same[0].function)) for alike in found.values()]


def where(route: Route) -> tuple[str, str]:
    return (route.reached.layer, route.reached.file) if route.reached is not None else ("", "")


def is_notable(snapshot: ProcessSnapshot, route: Route) -> bool:
    is_wrong = route.verdict.word.startswith("wrong")
    return is_wrong or (is_past(snapshot, route) and is_alloc(snapshot, route.function))


def place_of(snapshot: ProcessSnapshot, route: Route) -> tuple[bool, int]:
    return not is_notable(snapshot, route), WORST_FIRST.index(route.verdict.word)


def places(routes: Sequence[Route], is_each: bool) -> list[list[Route]]:
    """Those that are one row, in the order of the first of them."""
    found: dict[object, list[Route]] = {}
    for route in routes:
        key = route if is_each else (route.function, route.reached, route.verdict)
        found.setdefault(key, []).append(route)
    return list(found.values())


def head(snapshot: ProcessSnapshot, past: Sequence[Route]) -> str:
    """ "8 functions go past the hook; 1 hands out memory: cuMemAllocAsync_ptsz". These come first."""
    referred = [route for route in past if route.way != "by name"] or past
    unknown = list(dict.fromkeys(route.function for route in referred if is_unknown(route)))
    names = list(dict.fromkeys(r.function for r in referred if not arrives_in_hook(r) and not is_unknown(r)))
    misled = list(dict.fromkeys(route.function for route in referred if arrives_in_hook(route)))
    said = [went_past(snapshot, names)] if names else []
    if misled:
        get = "gets" if len(misled) == 1 else "get"
        said.append(f"{counted(len(misled), 'function')} {get} a wrong one of the hook's: {first_of(misled)}")
    if unknown:
        lead = "leads" if len(unknown) == 1 else "lead"
        said.append(f"{counted(len(unknown), 'function')} {lead} into code of no object: {first_of(unknown)}")
    text = "; ".join(said)
    return f"{text}:" if text.endswith(NO_MEMORY) else text


def went_past(snapshot: ProcessSnapshot, names: list[str]) -> str:
    allocate = [name for name in names if is_alloc(snapshot, name)]
    go, hand = "goes" if len(names) == 1 else "go", "hands" if len(allocate) == 1 else "hand"
    told = f"; {len(allocate)} {hand} out memory: {first_of(allocate)}" if allocate else NO_MEMORY
    return f"{counted(len(names), 'function')} {go} past the hook{told}"


def first_of(names: list[str]) -> str:
    return ", ".join(names[:MOST_NAMED]) + (", ..." if len(names) > MOST_NAMED else "")


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
    unknown = {route.function for route in mine if is_unknown(route)}
    past = {route.function for route in mine
            if is_past(snapshot, route) and not arrives_in_hook(route) and not is_unknown(route)}  # fmt: skip
    hooked = {route.function for route in mine if route.verdict.word == "hooked"}
    wrong = {route.function for route in mine if route.verdict.word.startswith("wrong")}
    both = len(hooked & past)
    depends = f" ({both} depend{'s' if both == 1 else ''} on who asks)" if both else ""
    above = "above the hook" if hooked or offers_names(snapshot) else "in the runtime"
    counts = [(len(wrong), "wrong version"), (len(names - hooked - past - wrong - unknown), above),
              (len(unknown), "unknown"),
              (len({route.function for route in mine} - names), "missing")]  # fmt: skip
    rest = "".join(f", {count} {word}" for count, word in counts if count)
    return f"{head}: {len(hooked)} hooked, {len(past)} past the hook{depends}{rest}"

"""Routes as rows of a table. Where a terminal is too narrow for it, with less in each row."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Callable, NamedTuple

from gdbcuda.routes.collect import Route
from gdbcuda.routes.snapshot import Reached
from gdbcuda.routes.verdicts import ROLES, of_layer
from gdbcuda.text import render
from gdbcuda.text.cplusplus import shortened
from gdbcuda.text.printable import visible
from gdbcuda.text.sentences import short_paths

MOST_ASKERS = 2
Paint = Callable[[str, str], str]
Row = Sequence[Sequence[Route]]  # for each function that is alike all places of it
NAMES: Mapping[str, str] = {}


class Form(NamedTuple):
    """``has_names``: what is reached is named also where it is called as the function is."""

    columns: tuple[str, ...]
    most_askers: int = MOST_ASKERS
    has_names: bool = True


WIDEST = Form(("function", "asked by", "way", "reaches", "verdict", "why"))
NARROWER = (
    Form(WIDEST.columns, has_names=False),
    Form(("function", "asked by", "reaches", "verdict", "why"), 1, has_names=False),
    Form(("function", "asked by", "reaches", "why"), 1, has_names=False),  # the verdict is that of the layer
)


def written(rows: Sequence[Row], paint: Paint, is_wide: bool, is_whole: bool = False) -> str:
    """``is_whole``: nothing is left out for a narrow terminal."""
    there = [route for alike in rows for same in alike for route in same]
    names = short_paths([*(route.asker for route in there), *(route.reached.file for route in there if route.reached)])
    short, width = str if is_wide else shortened, render.screen()
    narrower = NARROWER if all(map(is_told_by_layer, there)) else NARROWER[:-1]
    for form in (WIDEST, *(() if is_whole else narrower)):
        cells = [cells_of(alike, paint, short, names, form) for alike in rows]
        headers = form.columns if any(row[-1] for row in cells) else form.columns[:-1]
        cells = [row[: len(headers)] for row in cells]
        common = common_reason(rows, headers) if form is not WIDEST else ""
        if common:
            headers, cells = headers[:-1], [row[:-1] for row in cells]
        if width is None or render.natural_width(cells, headers, []) <= width:
            break
    table = render.table(cells, headers, colour=paint("x", "ok") != "x")
    return "\n".join([render.fold(common, width), table]) if common else table


def common_reason(rows: Sequence[Row], headers: Sequence[str]) -> str:
    """Of all rows with these verdicts, where no other row has a reason: it is said once, above a narrow table."""
    verdicts = [route.verdict for alike in rows for same in alike for route in same]
    reasons, told = {one.why for one in verdicts if one.why}, {one.word for one in verdicts if one.why}
    untold = {one.word for one in verdicts if not one.why}
    if headers[-1] != "why" or len(rows) < 2 or len(reasons) != 1 or told & untold:
        return ""
    which = f" that says {' or '.join(sorted(told))}" if untold else ""
    return f"In each row{which}: why: {next(iter(reasons))}"


def is_told_by_layer(route: Route) -> bool:
    return route.verdict.word == of_layer(route.reached)


def cells_of(
    alike: Row, paint: Paint, short: Callable[[str], str], names: Mapping[str, str] = NAMES, form: Form = WIDEST
) -> tuple[str, ...]:
    """Of one function, or of several that are one row."""
    same, first, more = [route for each in alike for route in each], alike[0][0], len(alike) - 1
    reasons = {route.verdict.why for route in same}
    if len(reasons) > 1:
        reasons = {route.kind or route.verdict.why for route in same}
    cells = {
        "function": paint(first.function, "function") + (f" and {more} more" if more else ""),
        "asked by": askers(same, paint, names, form.most_askers),
        "way": short(ways(same)),
        "reaches": place_reached(alike, paint, short, names, form),
        "verdict": paint(first.verdict.word, ROLES[first.verdict.word]),
        "why": reasons.pop() if len(reasons) == 1 else "",
    }
    return tuple(cells[column] for column in form.columns)


def place_reached(alike: Row, paint: Paint, short: Callable[[str], str], names: Mapping[str, str], form: Form) -> str:
    first = alike[0][0]
    there = first.reached
    if there is None or (len(alike) == 1 and (form.has_names or there.name != first.function)):
        return reached(there, paint, short, names)
    return paint(whose(there, names), "dim" if len(alike) > 1 else f"layer-{there.layer}")


def whose(there: Reached, names: Mapping[str, str] = NAMES) -> str:
    return f"{there.layer} {names.get(there.file) or there.object}" if there.file else "nothing"


def askers(
    same: Sequence[Route], paint: Paint, names: Mapping[str, str] = NAMES, most: int = MOST_ASKERS
) -> str:
    found = list(dict.fromkeys(asker(route, paint, names) for route in same))
    left = len(found) - most
    return ", ".join(found[:most]) + (f" and {left} more" if left > 0 else "")


def asker(route: Route, paint: Paint, names: Mapping[str, str] = NAMES) -> str:
    """``names``: of the files, where two are called the same."""
    file = visible(names.get(route.asker) or route.asker.rsplit("/", 1)[-1])
    return f"{paint(route.asker_layer, 'layer-' + route.asker_layer)} {file}"


def ways(same: Sequence[Route]) -> str:
    """ "PLT, bound"; of several places "2 PLT, 4 pointers"; of which version each was asked for is left out there."""
    if len(same) == 1:
        return way(same[0])
    counts = Counter(route.way.partition(" at ")[0] for route in same)
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

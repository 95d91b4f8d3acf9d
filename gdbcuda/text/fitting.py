"""Tables of which a terminal shows a line for each row: names are shortened and columns go, before a cell wraps."""

from __future__ import annotations

from collections.abc import Sequence

from gdbcuda.text import render
from gdbcuda.text.cplusplus import shortened

SCREEN = 40  # lines
LEAST = 32  # columns of a name: so much of it is told before a column goes
TITLE_PADDING = len(render.HEADER_PADDING)


def table(rows: Sequence[Sequence[object]], titles: Sequence[str], spare: Sequence[int] = ()) -> str:
    """The first column is names; ``spare`` are columns that may go, in this order. What is gone is said below."""
    width, gone = render.screen(), list[int]()
    kept = list(range(len(titles)))
    if width is None:
        return render.table(rows, titles)
    longest = max((len(str(row[0])) for row in rows), default=0)
    room = room_of_names(rows, titles, kept, width)
    for one in spare:
        if room >= min(longest, LEAST):
            break
        gone.append(one)
        kept.remove(one)
        room = room_of_names(rows, titles, kept, width)
    cells = [[shortened(str(row[0]), max(room, LEAST)), *(row[i] for i in kept[1:])] for row in rows]
    names = dict.fromkeys(titles[i] for i in sorted(gone))
    note = f"\n({', '.join(names)}: in a wider terminal, or --json)" if gone else ""
    return render.table(cells, [titles[i] for i in kept]) + note


def room_of_names(rows: Sequence[Sequence[object]], titles: Sequence[str], kept: Sequence[int], width: int) -> int:
    others = [max([len(titles[i]) + TITLE_PADDING, *(len(str(row[i])) for row in rows)]) for i in kept[1:]]
    return width - sum(others) - render.GAP * len(others)


def lines_on_screen(text: str) -> int:
    """Where a terminal folds it."""
    return render.fold_to_screen(text).count("\n") + 1

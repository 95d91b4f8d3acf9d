"""The calls of which layers and libraries somebody wants to see."""

from __future__ import annotations

from collections.abc import Sequence

from gdbcuda.calls.record import Call
from gdbcuda.files import object_names
from gdbcuda.text import output
from gdbcuda.text.printable import visible
from gdbcuda.text.sentences import meant


class WantedPlaces:
    """``words`` as behind --in: several, each may be several with commas. It has been asked about the calls of the log
    when it is asked for its remark."""

    def __init__(self, words: Sequence[str]) -> None:
        self.words = tuple(one for some in words for one in some.split(","))
        self.seen: dict[tuple[str, str], bool] = {}

    def take(self, call: Call) -> bool:
        place = (call.layer, call.object)
        if place not in self.seen:
            self.seen[place] = any(is_at(word, *place) for word in self.words)
        return self.seen[place]

    def remark(self) -> str:
        """Of words that mean nothing in this log, a line each."""
        known = sorted({word for place in self.seen for word in place if word})
        strange = [one for one in self.words if known and not any(is_at(one, *place) for place in self.seen)]
        return "\n".join(f"no layer or library of the log is called {one}{meant(one, known)}" for one in strange)


def is_at(word: str, layer: str, file: str) -> bool:
    return word in ("any", layer) or (bool(file) and object_names.is_meant(word, file))


def complain_of(places: WantedPlaces | None) -> None:
    """Where a view is over that has no remarks of its own."""
    if places is not None and places.remark():
        output.complain(visible(f"gdbcuda: {places.remark()}"))

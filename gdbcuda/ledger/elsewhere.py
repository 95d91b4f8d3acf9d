"""Releases of blocks that the log cannot know: handed out before it began, or by calls that it leaves out."""

from __future__ import annotations

from typing import NamedTuple

from gdbcuda.calls.record import Call
from gdbcuda.ledger.trouble import DOUBLE, Found, Trouble

MOST = 10_000
Place = tuple[str, int]  # kind of the block, its address or handle


class Release(NamedTuple):
    """``why`` the block may be none of the log's."""

    call: Call
    why: str


class ReleasesElsewhere:
    """``ended``: those that are over, in order."""

    def __init__(self) -> None:
        self.ended: list[Release] = []
        self._open: dict[int, tuple[Place, Found, str]] = {}  # by number; what is wrong if the driver refuses it
        self._freed: dict[Place, Call] = {}

    def begin(self, call: Call, place: Place, found: Found, why: str) -> None:
        """A block that was freed once in this log is known to be gone, whoever handed it out."""
        before = self._freed.get(place)
        if before is not None and found[2] is None:
            found = DOUBLE, f"what was at {place[1]:#x} was freed by #{before.number} {before.name}", None
        self._open[call.number] = place, found, why

    def end(self, call: Call) -> Trouble:
        """What the driver refuses was no new block: freed twice, as far as the log knows the address."""
        if call.number not in self._open:
            return None
        place, found, why = self._open.pop(call.number)
        if call.failed and found[0] == DOUBLE:
            return found
        if len(self.ended) < MOST:
            self.ended.append(Release(call, why))
            if not call.failed and not call.ended:
                self._freed[place] = call
        return None

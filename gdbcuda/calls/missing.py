"""Of which functions or processes calls are missing in a log of ``--fast``, and why: that is told for as long as the
log has their other calls, also when the library has been loaded again or the program runs anew."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from gdbcuda.data_classes import dataclass, field
from gdbcuda.text.sentences import some

MOST_NAMED = 4
GAVE_WAY = "Calls are missing of functions where a breakpoint is among the first bytes, so that no jump fits there"
WAS_ENTERED = "Calls may be missing of functions in whose first bytes a thread may have been as the program went on"
OVERWRITTEN = "Calls are missing of functions whose first bytes somebody has changed meanwhile, as a uprobe does"
WAS_LEFT = "Calls are missing that come in behind a hook library's jump, and are in a log without --fast"
BEFORE = "Calls are missing of functions that could not be recorded in an earlier run, or where they were loaded before"
UNREAD = "Calls may be missing of processes that ended unseen, from the last stop on (local ones: --keep keeps them)"
REASONS = (GAVE_WAY, WAS_ENTERED, OVERWRITTEN, WAS_LEFT, BEFORE, UNREAD)


@dataclass
class MissingCalls:
    """``names``: of functions, or of processes, by reason."""

    names: dict[str, dict[str, None]] = field(default_factory=lambda: {why: {} for why in REASONS})

    def note(self, name: str, reasons: Iterable[str]) -> None:
        for why in reasons:
            self.names[why][name] = None

    def update(self, other: MissingCalls) -> None:
        for why, names in other.names.items():
            self.names[why].update(names)

    def lines(self, told: Collection[str]) -> Iterator[str]:
        """``told``: functions of which it is said already that they are not recorded."""
        known = {WAS_ENTERED: self.names[GAVE_WAY], BEFORE: told}
        for why, names in self.names.items():
            new = [name for name in names if name not in known.get(why, ())]
            if new:
                yield f"{why}: {some(new, MOST_NAMED)}."

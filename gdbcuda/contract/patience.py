"""How long a program may take until it counts as one that hangs, and how many of a group may hang."""

from __future__ import annotations

import os

from gdbcuda.data_classes import dataclass

USUAL, SHORT = 10.0, 2.0  # seconds
TIMES_ALONE = 10.0  # as long as the driver takes to begin, without the hook library
MOST_HANGS = 3  # cases of a group: what hangs in these hangs in the others, and each takes its whole time


@dataclass
class Patience:
    """``hung`` counts the programs whose time was over. ``alone``: seconds in which a program begins without the hook
    library. ``is_short``: the hook library is known to hang, so nobody needs to be convinced any more."""

    hung: int = 0
    alone: float = 0.0
    is_short: bool = False

    def seconds(self, usual: float = USUAL) -> float:
        """For what usually has so many."""
        return min(usual, round(max(SHORT, TIMES_ALONE * self.alone) * busy(), 1)) if self.is_short else usual


def busy() -> float:
    """How many times as long all takes on this machine as when it has nothing else to do."""
    return max(1.0, os.getloadavg()[0] / len(os.sched_getaffinity(0)))

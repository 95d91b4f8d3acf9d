"""What there is of one thread's calls: in its ring, and kept one behind the other."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, replace
from functools import cached_property

from gdbcuda.rings import ring, ring_words


@dataclass
class RingFile:
    """Of a thread. ``clock``: as `ring.Ring` has it. ``records`` in the order of their entries, ``begun``: how many
    there were since the ring was begun, ``before``: how many before that; ``places``: how many the ring has room for;
    ``is_kept``: somebody has tried to keep all of them; ``is_cut``: of those that are kept only the first were read."""

    lwp: int
    pid: int
    clock: ring_words.Words
    records: list[ring.Record]
    begun: int
    before: int = 0
    places: int = 0
    is_kept: bool = False
    is_cut: bool = False

    @property
    def lost(self) -> int:
        return self.begun - len(self.records)

    def joined(self, kept: RingFile) -> RingFile:
        """With those that are kept elsewhere. Which one has a call's return, has it."""
        both = {one.position: one for one in [*kept.records, *self.records] if one.left is None}
        both.update((one.position, one) for one in [*self.records, *kept.records] if one.left is not None)
        records = [both[position] for position in sorted(both)]
        clock = max(self.clock, kept.clock, key=lambda one: one[-1])
        begun = max(self.begun, kept.begun)
        return replace(self, clock=clock, records=records, begun=begun, is_kept=True, is_cut=kept.is_cut)

    @cached_property
    def gaps(self) -> list[int]:
        """The positions behind those that are missing."""
        return ring.behind_gaps([one.position for one in self.records], self.before)

    @property
    def whole_from(self) -> int | None:
        """When the first call behind the last gap began, in ticks; None where no call is missing."""
        return self.records[bisect_left(self.records, (self.gaps[-1],))].entered if self.gaps else None

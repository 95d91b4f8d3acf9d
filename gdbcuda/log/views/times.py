"""How long many calls took, in little memory."""

from __future__ import annotations

import math
from array import array
from collections import Counter
from collections.abc import Iterator
from itertools import accumulate

EXACT = 10_000  # that are kept as they are
KEPT_BITS = 11  # of the nanoseconds of others: a two-thousandth
NANOSECONDS = 1e9


class Times:
    """In seconds, of which a nanosecond is the smallest part. ``total``, ``least`` and ``most`` are exact; quantiles of
    more than EXACT times to a thousandth."""

    def __init__(self) -> None:
        self.count, self.total, self.least, self.most = 0, 0.0, math.inf, -math.inf
        self.few = array("d")
        self.many: Counter[int] = Counter()  # by nanoseconds, as far as they are kept

    def add(self, seconds: float) -> None:
        self.count += 1
        self.total += seconds
        self.least, self.most = min(self.least, seconds), max(self.most, seconds)
        self.few.append(seconds)
        if len(self.few) > EXACT:
            self.many.update(map(rounded, self.few))
            self.few = array("d")

    def quantile(self, part: float) -> float:
        wanted = min(int(part * self.count), self.count - 1)
        if not self.many:
            return sorted(self.few)[wanted]
        counts = self.many + Counter(map(rounded, self.few))
        return next(value for value, below in below_each(counts) if below > wanted)


def below_each(counts: Counter[int]) -> Iterator[tuple[float, int]]:
    """Each value in order, in seconds, and how many are no larger."""
    values = sorted(counts)
    return zip((one / NANOSECONDS for one in values), accumulate(counts[one] for one in values))


def rounded(seconds: float) -> int:
    """Nanoseconds, all of less than two thousand; of more in the middle of those that are taken together."""
    found = max(round(seconds * NANOSECONDS), 0)
    shift = max(found.bit_length() - KEPT_BITS, 0)
    return (found >> shift << shift) + (1 << shift >> 1)

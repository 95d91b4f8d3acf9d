"""How many calls a guarded function has seen, for cuda-break --count: counted by the trampoline, in the process."""

from __future__ import annotations

from collections.abc import Iterable

from gdbcuda.data_classes import dataclass, field
from gdbcuda.errors import Unreadable
from gdbcuda.live.breakpoints import ours
from gdbcuda.live.guard.guard import Guard
from gdbcuda.live.patching import counter_words


@dataclass
class CountedCalls:
    """Of one process and by function. ``counters``: where its trampoline counts; ``skipped``: calls that none has."""

    skipped: dict[int, int] = field(default_factory=dict)
    counters: dict[int, int] = field(default_factory=dict)

    def counter(self, function: int) -> int:
        return counter_words.word(("calls", function))

    def begin(self, guard: Guard, counter: int) -> None:
        self.counters[guard.function] = counter
        guard.skipped = self.skipped.pop(guard.function, 0)
        for number in guard.members:
            seen_before(number).setdefault(guard.function, self.total(guard))

    def end(self, guard: Guard) -> None:
        self.skipped[guard.function] = guard.skipped

    def total(self, guard: Guard) -> int:
        try:
            return counter_words.read(self.counters[guard.function]) + guard.skipped
        except Unreadable:
            return guard.skipped

    def seen(self, number: int, guards: Iterable[Guard]) -> int | None:
        """All places of the breakpoint together; None while there is no guard that counts."""
        counted = [guard for guard in guards if guard.function in self.counters]
        if not counted:
            return None
        return sum(self.total(guard) - seen_before(number).get(guard.function, 0) for guard in counted)


def seen_before(number: int) -> dict[int, int]:
    return ours.of(number).here().guards.seen_before

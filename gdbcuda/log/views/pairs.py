"""What differs between a call of one log and the same call of another, where addresses and handles are others."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from gdbcuda.calls.record import Call

ARGUMENTS, RESULT, OUT = "arguments", "result", "out-values"


class UnlikeValue(NamedTuple):
    """``what`` is one of the three above, ``name`` that of the parameter, or "result"."""

    what: str
    name: str
    one: Any
    other: Any


class Pairs:
    """Which address or handle of the first log is which of the second, in one thread: what a call hands out in both
    is the same thing. Others, such as the program's own buffers, are taken to be the same."""

    def __init__(self) -> None:
        self.there: dict[str, str] = {}
        self.back: dict[str, str] = {}

    def bind(self, one: Any, other: Any) -> None:
        """Takes what a call has handed out, anywhere in its out-values."""
        if is_address(one) and is_address(other):
            self.back.pop(self.there.pop(one, ""), None)
            self.there.pop(self.back.pop(other, ""), None)
            self.there[one], self.back[other] = other, one
        elif isinstance(one, dict) and isinstance(other, dict):
            for name in one.keys() & other.keys():
                if name != "address":  # where the value was written
                    self.bind(one[name], other[name])
        elif isinstance(one, list) and isinstance(other, list):
            for ours, theirs in zip(one, other):
                self.bind(ours, theirs)

    def same(self, one: Any, other: Any) -> bool:
        if is_address(one) and is_address(other):
            return self.same_address(one, other)
        if isinstance(one, dict) and isinstance(other, dict):
            return one.keys() == other.keys() and all(n == "address" or self.same(one[n], other[n]) for n in one)
        if isinstance(one, list) and isinstance(other, list):
            return len(one) == len(other) and all(map(self.same, one, other))
        return bool(one == other)

    def same_address(self, one: str, other: str) -> bool:
        return not self.knows(one, other) or self.there.get(one) == other

    def knows(self, one: str, other: str) -> bool:
        return one in self.there or other in self.back

    def unlike(self, one: dict[str, Any], other: dict[str, Any]) -> list[str]:
        return [name for name in {**one, **other} if not self.same(one.get(name), other.get(name))]


class PairsOfThread(Pairs):
    """Threads may get an address in another order, when one has freed it: what a thread has got itself it knows better
    than ``all_threads``."""

    def __init__(self, all_threads: Pairs) -> None:
        super().__init__()
        self.all_threads = all_threads

    def bind(self, one: Any, other: Any) -> None:
        super().bind(one, other)
        self.all_threads.bind(one, other)

    def same_address(self, one: str, other: str) -> bool:
        is_same = self.knows(one, other) and super().same_address(one, other)
        return is_same or self.all_threads.same_address(one, other)


def is_address(data: Any) -> bool:
    return isinstance(data, str) and data.startswith("0x")


def unlike_values(ours: Call, theirs: Call, pairs: Pairs) -> Iterator[UnlikeValue]:
    """Of two calls of one function. What they have handed out are pairs from then on."""
    for name in pairs.unlike(ours.arguments, theirs.arguments):
        yield UnlikeValue(ARGUMENTS, name, ours.arguments.get(name), theirs.arguments.get(name))
    pairs.bind(ours.out, theirs.out)
    if (ours.ended, ours.status) != (theirs.ended, theirs.status) or not pairs.same(ours.result, theirs.result):
        yield UnlikeValue(RESULT, "result", outcome(ours), outcome(theirs))
        return
    for name in pairs.unlike(ours.out, theirs.out):
        yield UnlikeValue(OUT, name, ours.out.get(name), theirs.out.get(name))


def outcome(call: Call) -> Any:
    return call.ended or call.result

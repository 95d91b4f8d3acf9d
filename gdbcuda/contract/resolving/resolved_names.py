"""What names lead to, by every way: of many at a time, for a program of its own for each takes longer than to ask."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from gdbcuda.contract.bench import Bench
from gdbcuda.contract.endings import Ended
from gdbcuda.contract.program import LoadedPlace
from gdbcuda.contract.targets import LIBRARY_OF, HookTarget, by_name, places
from gdbcuda.data_classes import dataclass, field

AT_ONCE = 64


class NameAnswer(NamedTuple):
    """``expected``: without the hook library; ``found`` and ``again``: with it, asked twice."""

    expected: LoadedPlace
    found: LoadedPlace
    again: LoadedPlace


Answers = Mapping[HookTarget, NameAnswer]


@dataclass
class AskedNames:
    """``apis``: of each name. Where a program ends that is asked for many, each name has one of its own."""

    apis: Mapping[str, str]
    known: dict[str, Answers] = field(default_factory=dict)
    has_ended: set[str] = field(default_factory=set)

    def answers(self, bench: Bench, symbol: str) -> Answers:
        if bench.is_apart or symbol in self.has_ended:
            return self.ask(bench, [symbol])[symbol]
        if symbol not in self.known:
            names = self.near(symbol)
            try:
                self.known |= self.ask(bench, names)
            except Ended:
                self.has_ended |= set(names)
                return self.answers(bench, symbol)
        return self.known[symbol]

    def near(self, symbol: str) -> Sequence[str]:
        names = list(self.apis)
        first = names.index(symbol) // AT_ONCE * AT_ONCE
        return names[first : first + AT_ONCE]

    def ask(self, bench: Bench, names: Sequence[str]) -> dict[str, Answers]:
        targets = {symbol: ways(symbol, self.apis[symbol]) for symbol in names}
        every = [one for of_name in targets.values() for one in of_name]
        expected = places(bench.program(bench.bare), every)
        with bench.copy() as program:
            found, again = places(program, every), places(program, every)
        return {symbol: {one: NameAnswer(expected[one], found[one], again[one]) for one in of_name}
                for symbol, of_name in targets.items()}  # fmt: skip


def ways(symbol: str, api: str) -> list[HookTarget]:
    library = LIBRARY_OF[api]
    return [*by_name(symbol, api),
            HookTarget(symbol, "dlsym(RTLD_DEFAULT)", f"dlsym default {symbol}"),
            HookTarget(symbol, "dlsym(RTLD_NEXT)", f"dlsym next {symbol}"),
            HookTarget(symbol, "dlvsym", f"dlvsym {library} {symbol} {library}"),
            HookTarget(symbol, "dlvsym(RTLD_DEFAULT)", f"dlvsym default {symbol} {library}")]  # fmt: skip

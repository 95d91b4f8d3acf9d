"""Which functions ``cuda-break`` means by its words, and the condition that some of them have."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Mapping, Sequence
from typing import NamedTuple

from gdbcuda import condition as conditions
from gdbcuda.live.breaking import from_request
from gdbcuda.live.breaking.break_options import BreakOptions
from gdbcuda.live.layers import names, variants


class Named(NamedTuple):
    """Functions with the word that named each; ``by_others``: those of them that the program does not call."""

    patterns: dict[str, str]
    by_others: Container[str]


def named(wanted: BreakOptions, request: from_request.BreakRequest) -> Named:
    calls = request.calls(wanted.exact)
    found = {symbol: pattern for pattern in wanted.function for symbol in variants.resolve(pattern, calls)}
    by_others = called_by_others(wanted.function, found, request, calls)
    return Named(found | by_others, by_others)


def condition_of(request: from_request.BreakRequest, patterns: Mapping[str, str]) -> conditions.Condition | None:
    """It need not fit each of those that one word has named."""
    times = Counter(patterns.values())
    return request.parse([*patterns], {one for one, word in patterns.items() if times[word] > 1 or names.is_glob(word)})


def called_by_others(
    patterns: Sequence[str], found: Container[str], request: from_request.BreakRequest, calls: variants.WantedCalls
) -> dict[str, str]:
    """Where --in names a layer and --from no caller: symbols of the function that the layer has, and the program does
    not call, with their patterns. A thread of the hook library may."""
    if not request.places or request.is_from_given or calls.is_exact:
        return {}
    by_anyone = calls._replace(callers=("any",))
    return {one: pattern for pattern in patterns for one in variants.resolve(pattern, by_anyone) if one not in found}

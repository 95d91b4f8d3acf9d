"""What the program hands in reaches the driver, and what the driver hands out reaches the program."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from functools import partial

from gdbcuda.contract.arguments import PAGE, Making
from gdbcuda.contract.bench import Bench
from gdbcuda.contract.calling import between, kept_memory, many_calls, one_changed
from gdbcuda.contract.calling.one_call import prepared
from gdbcuda.contract.endings import Ended
from gdbcuda.contract.program import Program
from gdbcuda.contract.registry import Broken, Case, contract
from gdbcuda.contract.targets import HookTarget

WITHOUT_ERRNO = 2  # the round in which the driver leaves errno as it is
# Each has memory of its own: what is written into that of the one before shows. In two, numbers of structs are 0.
ROUNDS = (Making(), Making(further=PAGE), Making(further=2 * PAGE), Making(0, 3 * PAGE), Making(1, 4 * PAGE))
LONG = Making(further=5 * PAGE, many=40, text=b"a_long_name_" * 100 + b"\0")  # as C++ makes them
SUCCESS = 0


@contract("transparent", is_prescribed=True,
          means="arguments, result, out-values and errno pass unchanged; nothing else is written")  # fmt: skip
def transparent(bench: Bench) -> Iterator[Case]:
    for target in bench.targets:
        yield Case("transparent", bench.called(target), partial(passes_on, target))
    yield Case("transparent", "kept memory", kept_memory.broken)


def passes_on(target: HookTarget, bench: Bench) -> Iterable[Broken]:
    dice = bench.dice(f"transparent {target.symbol}")
    with bench.copy() as program:
        for number, making in enumerate(ROUNDS):
            call = prepared(bench, program, target, dice, making)
            found = call.made(SUCCESS, sets_errno=number != WITHOUT_ERRNO).broken()
            if found:
                return found
        found = list(one_changed.broken(call)) or list(many_calls.broken(call)) or list(between.broken(call, target))
        return found or with_long_ones(bench, program, target, dice)


def with_long_ones(bench: Bench, program: Program, target: HookTarget, dice: random.Random) -> list[Broken]:
    """Strings, and arrays that have a count."""
    call = prepared(bench, program, target, dice, LONG)
    if not call.maker.counts and not any(one.string for one in call.function.parameters):
        return []
    try:
        return [one._replace(what=f"a long string or array: {one.what}") for one in call.made(SUCCESS).broken()]
    except Ended as how:
        raise how.when("a long string or array") from None

"""What the program hands in reaches the driver, and what the driver hands out reaches the program."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial

from gdbcuda.contract.bench import Bench
from gdbcuda.contract.calling import many_calls
from gdbcuda.contract.calling.one_call import prepared
from gdbcuda.contract.registry import Broken, Case, contract
from gdbcuda.contract.targets import HookTarget

ROUNDS = 5
WITHOUT_ERRNO = 2  # the driver leaves errno as it is
ZEROED = {3: 0, 4: 1}  # members of structs are 0
APART = 1 << 12  # bytes from the memory of a call to that of the next, where nothing is written any more
SUCCESS = 0


@contract("transparent", is_prescribed=True,
          means="arguments, result, out-values and errno pass unchanged; nothing else is written")  # fmt: skip
def transparent(bench: Bench) -> Iterator[Case]:
    for target in bench.targets:
        yield Case("transparent", bench.called(target), partial(passes_on, target))


def passes_on(target: HookTarget, bench: Bench) -> Iterable[Broken]:
    dice = bench.dice(f"transparent {target.symbol}")
    with bench.copy() as program:
        for number in range(ROUNDS):
            call = prepared(bench, program, target, dice, ZEROED.get(number), number * APART)
            found = call.made(SUCCESS, sets_errno=number != WITHOUT_ERRNO).broken()
            if found:
                return found
        return list(many_calls.broken(call))

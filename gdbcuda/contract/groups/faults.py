"""The driver fails: once, in each call of it that the hook library makes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial

from gdbcuda import api
from gdbcuda.contract.bench import Bench
from gdbcuda.contract.failing.one_function import FailingFunction, can_fail
from gdbcuda.contract.failing.run import FailingRun
from gdbcuda.contract.registry import Broken, Case, contract
from gdbcuda.contract.targets import HookTarget

MEANS = "the driver fails once, in any call of it: the program sees it, and all works as before then"


@contract("faults", means=MEANS, is_prescribed=True)
def faults(bench: Bench) -> Iterator[Case]:
    for target in bench.targets:
        if can_fail(bench.table.functions[target.symbol]):
            yield Case("faults", bench.called(target), partial(of_function, target))
    for allocator in bench.memory_functions.in_runs:
        yield Case("faults", f"a run with {allocator.symbol}", partial(of_run, allocator))


def of_function(target: HookTarget, bench: Bench) -> Iterator[Broken]:
    return FailingFunction(bench, target).broken()


def of_run(allocator: api.Function, bench: Bench) -> Iterable[Broken]:
    return FailingRun(bench, allocator).broken()

"""What the driver says of a call reaches the program, and nothing that no driver says does."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Callable

from gdbcuda.api.table import STATUS_TYPES
from gdbcuda.contract.answers import statuses
from gdbcuda.contract.argument_kinds import is_size, to_bytes
from gdbcuda.contract.bench import Bench
from gdbcuda.contract.calling import odd_values
from gdbcuda.contract.calling.odd_values import ADDRESS
from gdbcuda.contract.calling.one_call import OneCall, prepared
from gdbcuda.contract.endings import Ended
from gdbcuda.contract.registry import Broken, Case, contract
from gdbcuda.contract.targets import HookTarget
from gdbcuda.text.sentences import some

SUCCESS = 0
INVALID = {"driver": "CUDA_ERROR_INVALID_VALUE", "runtime": "cudaErrorInvalidValue",
           "nvml": "NVML_ERROR_INVALID_ARGUMENT"}  # fmt: skip
LARGE = (1 << 31, 1 << 40, (1 << 64) - 1)  # bytes: beyond some limit
MOST_NAMES = 4
Deed = Callable[[OneCall], Iterator[Broken]]


MEANS = "each status is passed on, and no other; a call that fails writes nothing; NULL is no crash"


@contract("status", means=MEANS, is_prescribed=True)
def status(bench: Bench) -> Iterator[Case]:
    for target in bench.targets:
        function = bench.table.functions[target.symbol]
        if function.result.spelling == STATUS_TYPES[function.api]:
            yield Case("status", bench.called(target), partial(of_function, target))


def of_function(target: HookTarget, bench: Bench) -> Iterator[Broken]:
    deeds: list[tuple[str, Deed]] = [("a call that fails", each_status), ("a large size", large_sizes),
                                    ("an odd value", odd_values.broken)]
    for index, parameter in enumerate(bench.table.functions[target.symbol].parameters):
        if parameter.type.kind in ("pointer", "array"):
            deeds.append((f"NULL for {parameter.name}", partial(null, index)))
        elif parameter.type.name == ADDRESS:
            deeds.append((f"0 for {parameter.name}", partial(null, index)))
    for what, deed in deeds:
        hung = bench.patience.hung
        yield from (one._replace(what=f"{what}: {one.what}") for one in apart(deed, target, bench))
        if bench.patience.hung > hung:
            return  # as the others would, each for its whole time


def apart(deed: Deed, target: HookTarget, bench: Bench) -> list[Broken]:
    """In a process of its own."""
    found: list[Broken] = []
    dice = bench.dice(f"status {target.symbol}")
    try:
        with bench.copy() as program:
            found.extend(deed(prepared(bench, program, target, dice)))
    except Ended as how:
        found.append(Broken(str(how), how.example, bench.last))
    return found


def each_status(call: OneCall) -> Iterator[Broken]:
    """Of the enum. A call that the hook library answers by itself is judged by its answer alone."""
    lost: dict[str, Broken] = {}
    for value, name in {value: name for name, value in statuses(call.function).items() if value}.items():
        call.made(value, is_written=False)
        yield from call.no_status()
        yield from call.of_machine()
        yield from call.of_contexts()
        yield from call.of_last_error()
        if call.is_reached and not call.is_passed_on:
            lost[name] = call.found("", call.of_result())
        if call.is_reached:
            yield from call.of_errno()
            yield from call.memory()
    if lost:
        is_all = len(lost) == len(set(statuses(call.function).values())) - 1
        what = "the status" if is_all else some([*lost], MOST_NAMES)
        yield next(iter(lost.values()))._replace(what=f"{what} not passed on")


def large_sizes(call: OneCall) -> Iterator[Broken]:
    """A limit may refuse them, in the words of the API; what is not refused reaches the driver as it is."""
    usual, known = call.given, {one.what for one in call.made(SUCCESS).broken()}
    for index, parameter in enumerate(call.function.parameters):
        if not is_size(parameter) or parameter.name in call.maker.counts:
            continue
        for size in LARGE:
            call.given = usual.with_value(index, to_bytes(size, parameter.type.size))
            yield from call.made(SUCCESS).no_status()
            yield from call.of_machine()
            if call.is_reached:
                yield from (one for one in call.on_the_way_down(call.calls) if one.what not in known)
            elif call.status != SUCCESS:
                call.is_written = False
                yield from call.memory()


def null(index: int, call: OneCall) -> Iterator[Broken]:
    """Where a pointer leads to memory the driver takes it for a mistake; a handle, and what nobody has declared, may
    be NULL."""
    pointee = call.given.pointees[index]
    is_mistake = pointee is not None and pointee.is_known and not call.function.parameters[index].optional
    if not is_mistake:
        usual = {one.what for one in call.made(SUCCESS).broken()}
        call.given = call.given.without(index)
        yield from (one for one in call.made(SUCCESS).broken() if one.what not in usual)
        return
    call.given = call.given.without(index)
    call.made(statuses(call.function)[INVALID[call.function.api]], is_written=False)
    if not call.is_passed_on:
        yield call.found("the result is changed", call.of_result())
    if call.is_reached:
        yield from call.memory()

"""Memory that a call was given, used after it: the program has it no more, or something else in it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

from gdbcuda.contract.arguments import PAGE, Making
from gdbcuda.contract.bench import Bench
from gdbcuda.contract.c_programs import keeping
from gdbcuda.contract.calling.one_call import OneCall, prepared
from gdbcuda.contract.endings import Ended
from gdbcuda.contract.program import Program
from gdbcuda.contract.registry import Broken
from gdbcuda.contract.targets import HookTarget

SUCCESS = 0
MOST = 10  # runs, each without what has ended the one before
TIMES = 2  # that each function is called in a run
SETTLES = 0.05  # seconds, for threads of the hook library
KEPT_BY_THE_API = ("cuLinkCreate",)  # its option values must stay as long as the link, says the manual of CUDA
APART = Making(is_apart=True)


class Keeping(NamedTuple):
    """``call`` was given memory by its ``argument``, which was used in ``last``, or at no call."""

    call: OneCall
    argument: int
    last: OneCall
    how: Ended


def broken(bench: Bench) -> Iterator[Broken]:
    """Each function is called, with memory that is gone after it."""
    left = [one for one in bench.targets if bench.table.functions[one.symbol].base not in KEPT_BY_THE_API]
    for _ in range(MOST):
        calls: list[OneCall] = []
        try:
            with bench.alone(bench.usual) as program:
                play(bench, program, left, calls)
            return
        except Ended as how:
            found = kept(calls, how)
            if not calls or (found is None and how.address == 0):
                return  # other cases say how it ends
        if found:
            yield said(found)
        guilty = (found.call if found else calls[-1]).function.symbol
        left = [one for one in left if one.symbol != guilty]


def play(bench: Bench, program: Program, targets: list[HookTarget], calls: list[OneCall]) -> None:
    dice = bench.dice("kept memory")
    for target in targets * TIMES:
        calls.append(prepared(bench, program, target, dice, APART))
        calls[-1].made(SUCCESS)
        program.renew()
    time.sleep(SETTLES)
    program.leave()


def kept(calls: list[OneCall], how: Ended) -> Keeping | None:
    for call in calls:
        offset = how.address - call.maker.arena
        if PAGE <= offset < call.maker.used:
            places = [(one.offset, at) for at, one in enumerate(call.given.pointees) if one and one.offset <= offset]
            return Keeping(call, max(places)[1], calls[-1], how) if places else None
    return None


def said(one: Keeping) -> Broken:
    function = one.call.function
    what = f"what {function.symbol} was given as {function.parameters[one.argument].name} is used after the call"
    then = one.last.shown_call if one.last is not one.call else None
    shown = partial(keeping.program, one.call.shown_call, one.argument, then)
    return Broken(what, f"when {one.last.function.symbol} was called last {one.how}", shown)

"""A call in whose midst another thread makes one with other arguments: each has to get what is its own.

The other one calls between each two instructions that the first has in the hook library (shim/contract/between.c), so
it does not take luck to see that they share memory.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial

from gdbcuda.contract.answers import prescription, statuses
from gdbcuda.contract.arguments import PAGE, Making
from gdbcuda.contract.c_programs import beside
from gdbcuda.contract.calling.one_call import OneCall, prepared
from gdbcuda.contract.calling.told_calls import call_command
from gdbcuda.contract.endings import Ended, Hung
from gdbcuda.contract.registry import Broken
from gdbcuda.contract.targets import HookTarget

SUCCESS = 0
WHILE = "while another thread makes the same call"
BLOCKS_TRAPS = "it ends with SIGTRAP"


def broken(call: OneCall, target: HookTarget) -> Iterator[Broken]:
    """After a call in which all is as it should be."""
    behind = Making(further=call.maker.used // PAGE * PAGE + PAGE)
    other = prepared(call.bench, call.program, target, call.maker.dice, behind)
    try:
        found = made(call, other)
    except Hung as how:
        raise how.when(WHILE) from None
    except Ended as how:
        if not str(how).startswith(BLOCKS_TRAPS):
            raise how.when(WHILE) from None
        call.bench.note(f"transparent/{call.function.symbol} {WHILE}: it blocks all signals")
        return
    answers = call.shown_call.answers[0]
    if found and is_its_own(call):
        told = re.sub("thread=[0-9]+", f"thread={beside.THREAD}", answers)
        shown = partial(beside.program, call.shown_call, other.given, told)
        yield from (Broken(f"{WHILE}: {one.what}", one.example, shown) for one in found)


def made(call: OneCall, other: OneCall) -> list[Broken]:
    """Nothing where there is no other thread."""
    program = call.program
    last = call_command(other.function.symbol, other.address, other.given.values)
    commands = [*program.of_thread, *other.given.pokes, last]
    thread = int(program.tell(f"between {len(commands):x} {call.bench.hook}", *commands)[0], 16)
    call.beside = other.given
    return call.made(SUCCESS, fault=answered(other, thread)).broken() if thread else []


def is_its_own(call: OneCall) -> bool:
    """The call of the driver comes from the thread that calls: else both threads have the same answer."""
    refused = call.prescribed(worst(call))
    own = call.program.copy or call.program.process.pid
    call.made(SUCCESS, fault=f"{call.function.symbol} result={refused.hex()} thread={own}")
    return call.called is not None and call.called.result == refused != call.result


def answered(other: OneCall, thread: int) -> str:
    """It fails, and has written its out-values: who keeps one of them for a while has the wrong ones."""
    result = other.prescribed(worst(other))
    return f"{prescription(other.function, other.given, result, None)} thread={thread} unseen"


def worst(call: OneCall) -> int:
    return max(statuses(call.function).values(), default=SUCCESS)

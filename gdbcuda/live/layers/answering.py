"""Code of a hook library that answers for an API function under another name, or under none: a call of it is a call of
the function. Known are the addresses that a slot, an overwritten entry or an answered request has shown."""

from __future__ import annotations

from typing import Callable

import gdb

from gdbcuda.live import process
from gdbcuda.live.host.inferiors import PerInferior
from gdbcuda.live.placing import unloading
from gdbcuda.routes.answering import Answering

# address of the code's first instruction -> API functions
FUNCTIONS: PerInferior[dict[int, set[str]]] = PerInferior(dict)
OVERWRITTEN: PerInferior[set[int]] = PerInferior(set)  # functions of the vendor's whose entry is a jump of somebody's
ON_LEARNED: list[Callable[[Answering], None]] = []


def learn(answer: Answering) -> None:
    FUNCTIONS().setdefault(answer.reached.address, set()).add(answer.function)
    for tell in ON_LEARNED:
        tell(answer)


def is_answered(function: str, inferior: gdb.Inferior) -> bool:
    return any(function in known for known in FUNCTIONS.of(inferior).values())


def is_start(pc: int) -> bool:
    return pc in FUNCTIONS()


def function_at(pc: int) -> str:
    """The API function for which the code there answers; "" where it is none's, or several functions'."""
    known = FUNCTIONS()
    found = (known.get(pc) or known.get(process.function_start(pc) or 0, set())) if known else set()
    return next(iter(found)) if len(found) == 1 else ""


def is_overwritten(address: int) -> bool:
    """Is the breakpoint's place at the entry of such a function? gdb's bytes would spoil the jump."""
    return bool(OVERWRITTEN()) and (process.function_start(address) or address) in OVERWRITTEN()


def forget_unloaded(addresses: set[int]) -> None:
    unloading.drop(addresses, FUNCTIONS())
    OVERWRITTEN().difference_update(addresses)


unloading.ON_UNLOADED.append(forget_unloaded)

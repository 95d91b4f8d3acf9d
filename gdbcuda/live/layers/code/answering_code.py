"""Code of a hook library that answers for an API function under another name, or under none: a call of it is a call of
the function. Known are the addresses that a slot, an overwritten entry or an answered request has shown."""

from __future__ import annotations

import os
from collections.abc import Iterator, Set
from typing import Callable

import gdb

from gdbcuda.linkage.image import Image
from gdbcuda.live import process
from gdbcuda.live.host.inferiors import PerInferior
from gdbcuda.live.placing import unloading
from gdbcuda.routes.answering import Answering
from gdbcuda.routes.snapshot import ProcessSnapshot

# address of the code's first instruction -> API functions
FUNCTIONS: PerInferior[dict[int, set[str]]] = PerInferior(dict)
# What requests have shown, in this process or in one before: by library, the code's offset and function -> how.
_seen: dict[str, dict[tuple[int, str], str]] = {}
OF_OBJECT: PerInferior[set[int]] = PerInferior(set)  # code that answers the calls of its own library alone
OVERWRITTEN: PerInferior[set[int]] = PerInferior(set)  # functions of the vendor's whose entry is a jump of somebody's
ON_LEARNED: list[Callable[[Answering], None]] = []


def learn(answer: Answering) -> None:
    if answer.is_of_object:
        OF_OBJECT().add(answer.reached.address)
    FUNCTIONS().setdefault(answer.reached.address, set()).add(answer.function)
    for tell in ON_LEARNED:
        tell(answer)


def learn_request(answer: Answering) -> None:
    """Nobody can find it again; another process has the same code, if the library's build-id is the same."""
    if library := key_at(answer.reached.address):
        _seen.setdefault(library, {})[answer.reached.offset, answer.function] = answer.how
    learn(answer)


def seen(snapshot: ProcessSnapshot, names: Set[str]) -> Iterator[Answering]:
    """What requests have shown of code that is here, for these functions."""
    for hook in snapshot.hooks if _seen else ():
        for (offset, function), how in _seen.get(key_of(hook.image), {}).items():
            reached = snapshot.reached(hook.image.base + offset, is_final=True) if function in names else None
            if reached is not None:
                yield Answering(function, reached, how)


def key_at(address: int) -> str:
    owner = next((one for one in process.images() if one.holds(address)), None)
    return key_of(owner) if owner is not None else ""


def key_of(library: Image) -> str:
    """Without a build-id it is known in its process alone."""
    return library.build_id or f"{library.name} at {library.base:#x} of {gdb.selected_inferior().pid}"


def is_answered(function: str, inferior: gdb.Inferior) -> bool:
    """Whoever calls it."""
    own = OF_OBJECT.of(inferior)
    return any(function in known for address, known in FUNCTIONS.of(inferior).items() if address not in own)


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


def comes_in_behind(file: str) -> str:
    return f"the entry in {os.path.basename(file)} jumps into a hook library, which comes in behind it"


def forget_unloaded(addresses: set[int]) -> None:
    unloading.drop(addresses, FUNCTIONS())
    OF_OBJECT().difference_update(addresses)
    OVERWRITTEN().difference_update(addresses)


unloading.ON_UNLOADED.append(forget_unloaded)

"""Two that ask for memory: one has its whole call while the other is at each instruction of the hook library, in turn.

What a look at the limit and the count of it have between them is found each time, on a busy machine too: a breakpoint
at that instruction holds the one until the other has its answer (shim/contract/stepping.c). Where the library holds a
lock there, the other waits, and the first goes on.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator
from typing import NamedTuple

from gdbcuda import api
from gdbcuda.contract.books.concurrent.asking_programs import LONGEST, device_memory, drift, last, program, said
from gdbcuda.contract.books.playing import DEVICE_MEMORY, Player
from gdbcuda.contract.books.sequences import GRANULE
from gdbcuda.contract.c_programs import stepping
from gdbcuda.contract.c_programs.showing_program import UNSTEPPED, ShowingProgram
from gdbcuda.contract.registry import Broken
from gdbcuda.text.units import human

TWO = 2
NOT_BEGUN = 2  # the status of a program without a context
SHARE = 60  # percent of the limit that each asks for: not both may have it


class Kind(NamedTuple):
    """Of the other one: ``word`` is what the program is told."""

    word: str
    asking: str
    given_back: str


THREAD = Kind("thread", "2 threads that call {}", "2 threads have given back what {} gave")
PROCESS = Kind("process", "processes that ask", "processes have given back what {} gave")


def broken(player: Player, allocator: api.Function, kind: Kind) -> Iterator[Broken]:
    plan = planned(player, allocator, kind)
    line = [player.workshop.compiled(plan), *plan.arguments]
    more = {DEVICE_MEMORY: device_memory(player)}
    ran = player.workshop.run(line, more=more, patience=LONGEST)
    if ran.status in (-signal.SIGTRAP, NOT_BEGUN):  # it blocks all signals, past the C library
        return
    if ran.status:
        yield Broken(f"a program {ran.ending} whose {kind.word} calls {allocator.symbol} in the midst of a call",
                     last(ran), plan.shown)  # fmt: skip
        return
    granted = said(ran).get("together", 0)
    if player.limit and granted > player.limit:
        yield Broken(f"{kind.asking.format(allocator.symbol)} at the same instant are granted more than the limit",
                     f"{human(granted)}, and the limit is {human(player.limit)}", plan.shown)  # fmt: skip
    elif ran.output and (kept := drift(ran)):  # nothing is said where processes share nothing
        alone = drift(player.workshop.run(line, with_hook=False, more=more, patience=LONGEST))
        for name in [one for one in kept if one not in alone][:1]:
            yield Broken(f"{kind.given_back.format(allocator.symbol)}, and {name} does not return to the start",
                         human(kept[name]), plan.shown)  # fmt: skip


def planned(player: Player, allocator: api.Function, kind: Kind) -> ShowingProgram:
    large = player.limit * SHARE // 100 // GRANULE * GRANULE
    text = program(player, "interleaved.c", allocator, stepping=stepping.text(player.templates.parent))
    words = (player.workshop.hook, kind.word, str(large))
    more = {DEVICE_MEMORY: device_memory(player)}
    showing = player.workshop.showing(text, allocator.symbol, words, more)
    return showing._replace(flags=stepping.FLAGS, is_in_children=kind is PROCESS,
                            in_gdb=(UNSTEPPED, *words[1:]))  # fmt: skip

"""gdb lets a process go and tells of it only then: at its end before gdb 12 or while it runs, by MI's -target-detach.

Its own breakpoints have put the functions' bytes back as they went; through a link, where those are ours to put back,
they are there at each stop. What jumps led to gets its own bytes back here, past gdb, where at the last stop no thread
was nor may come back to. At the far end of a link nobody can by then: that is said.
(gdb's top.c: quit_force; mi-main.c: mi_cmd_target_detach.)
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress

import gdb

from gdbcuda.data_classes import dataclass, field
from gdbcuda.errors import Unreadable
from gdbcuda.live import process
from gdbcuda.live.host import console
from gdbcuda.live.host.inferiors import PerInferior
from gdbcuda.live.patching import agent, trampoline_space
from gdbcuda.live.patching.nearby_space import OUR_MEMORY, Leftover
from gdbcuda.live.placing import letting_go
from gdbcuda.live.prompt import user_hooks
from gdbcuda.live.threads import raw_stacks
from gdbcuda.machine.detour import Detour
from gdbcuda.machine.trampoline import Trampoline
from gdbcuda.text.sentences import counted

STAYS = """gdbcuda: code of {} stays in the program, where nothing leads to any more: gdb has told of
  it too late. The command 'detach', typed, takes it out (in VS Code: -exec detach)
"""


@dataclass
class SeenAtStop:
    """``entries``: by address, the own bytes of functions that have jumps while they run; ``free``: what these lead to
    and no thread is in; ``is_asked``: we were, before it goes; ``is_far``: nobody can write past gdb."""

    entries: dict[int, bytes] = field(default_factory=dict)
    free: dict[int, Leftover] = field(default_factory=dict)
    is_asked: bool = False
    is_far: bool = False


SEEN: PerInferior[SeenAtStop] = PerInferior(SeenAtStop)


def watch() -> None:
    """(The event about a process that is killed is the same as behind a detach.)"""
    for hook in ("hook-kill", "kill hook-inferiors") if letting_go.is_told_late() else ():
        user_hooks.add(hook, "patching.left_behind", "on_asked")


def on_continue() -> None:
    SEEN().free.clear()
    SEEN().is_asked = False


def on_asked() -> None:
    """It is about to be killed, or all that is possible has been taken out of it."""
    SEEN().is_asked = True


def on_stop(made: Iterable[tuple[Detour, Trampoline]]) -> None:
    """Where threads are nobody tells when gdb has let them go."""
    seen, ours = SEEN(), dict(OUR_MEMORY().left)
    seen.entries.clear()
    seen.free.clear()
    for detour, code in made:
        seen.entries[detour.function] = detour.original
        ours.update(trampoline_space.leftovers(detour.island, code))
    memory = process.raw_memory() if seen.entries else None
    seen.is_far = memory is None
    if memory is not None:
        seen.free.update(without_threads(memory, ours))


def without_threads(memory: process.RawMemory, ours: dict[int, Leftover]) -> dict[int, Leftover]:
    """Of what is in the program's own memory."""
    found = {at: one for at, one in ours.items() if not agent.is_inside(at)}
    where = raw_stacks.look(memory, {pc for at, one in found.items() for pc in range(at, at + len(one.own))})
    if where is None or where.is_one_stepped_aside():
        return {}
    busy = trampoline_space.needed(found, where.at | where.ahead)
    return {at: one for at, one in found.items() if at not in busy}


def on_exit(event: gdb.ExitedEvent) -> None:
    """(A process that has ended has no memory.)"""
    seen = SEEN.of(event.inferior)
    is_selected = gdb.selected_inferior().num == event.inferior.num
    memory = process.raw_memory() if is_selected and seen.free else None
    if memory is None:
        tell_what_stays(event, seen)
        return
    with suppress(Unreadable):
        if all(memory.read(at, len(own)) == own for at, own in seen.entries.items()):
            for at, one in seen.free.items():
                if memory.read(at, len(one.ours)) == one.ours:
                    memory.write(at, one.own)


def tell_what_stays(event: gdb.ExitedEvent, seen: SeenAtStop) -> None:
    """Of a process at the far end of a link that goes on. (gdb before 12 kills at its end what it has not attached
    to.)"""
    made = len(OUR_MEMORY.of(event.inferior).taken) if seen.entries and seen.is_far else 0
    goes_on = not hasattr(event, "exit_code") and not seen.is_asked
    if made and goes_on and (letting_go.IS_END_TOLD or event.inferior.was_attached):
        console.write(STAYS.format(counted(made, "guard")))

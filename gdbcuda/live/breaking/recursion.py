"""Hook functions that end up in themselves: the cycle shown, at a depth that the user sets or when the stack is full.

``set cuda-recursion-limit N`` counts how deep each exported function of the hook libraries is nested on its thread, by
breakpoints that never stop. One level before the limit an ordinary breakpoint is made there, for what stops must be
one. Without a limit a SIGSEGV is looked at: does the stack repeat itself?
(gdb manual: "Breakpoints In Python", "Frames In Python".)
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import NamedTuple

import gdb

from gdbcuda.errors import UserError
from gdbcuda.live import breakpoints, layers, process
from gdbcuda.live.host import console
from gdbcuda.live.host.inferiors import PerInferior
from gdbcuda.live.layers import frames, names, this_snapshot
from gdbcuda.live.placing import own_process, unloading
from gdbcuda.live.prompt import settings
from gdbcuda.live.stopping import stops
from gdbcuda.live.stopping.functions import function
from gdbcuda.live.threads import call_registers
from gdbcuda.text.printable import visible

LIMIT = "cuda-recursion-limit"
RESOLVERS = ("dlsym", "dlvsym")
MOST_FRAMES, LONGEST_CYCLE, FEWEST_TURNS = 120, 30, 3
DEEPEST_CALLEE = 25  # frames of what the cycle called when the stack was full: printf, a lock, the loader


class Level(NamedTuple):
    """A function that was entered and has not returned; ``depth`` counts it on this thread."""

    sp: int
    address: int
    depth: int


class Watched(NamedTuple):
    name: str
    file: str


@dataclass
class Depths:
    """Of one process; functions are meant by their addresses."""

    watched: dict[int, Watched] = field(default_factory=dict)
    counters: dict[int, DepthCounter] = field(default_factory=dict)
    levels: dict[int, list[Level]] = field(default_factory=dict)  # by thread, outermost first
    stopping: dict[int, gdb.Breakpoint] = field(default_factory=dict)  # by function; ordinary ones

    def end(self) -> None:
        for breakpoint in [*self.counters.values(), *self.stopping.values()]:
            if breakpoint.is_valid():
                breakpoint.delete()

    def forget(self, addresses: set[int]) -> None:
        unloading.drop(addresses, self.watched, self.counters, self.stopping)
        for thread, levels in self.levels.items():
            self.levels[thread] = [level for level in levels if level.address not in addresses]


DEPTHS: PerInferior[Depths] = PerInferior(Depths, Depths.end)


class DepthCounter(own_process.Internal):
    """At a hook function's first instruction. Internal, for it never stops."""

    def stop(self) -> bool:
        entered = enter(call_registers.thread_number(), call_registers.current_stack_pointer(), self.address)
        stopping = DEPTHS().stopping
        if entered.depth >= settings.value(LIMIT) and self.address not in stopping:
            line = f"break *{self.address:#x} if $_cuda_too_deep({self.address:#x})"
            stopping[self.address] = breakpoints.execute_break(line)
            own_process.confine(stopping[self.address], self.address)
        return False


def enter(thread: int, sp: int, address: int) -> Level:
    """The stack grows down: what was entered at this pointer or below it has returned, or has jumped on."""
    levels = DEPTHS().levels.setdefault(thread, [])
    while levels and levels[-1].sp <= sp:
        levels.pop()
    depth = next((level.depth for level in reversed(levels) if level.address == address), 0) + 1
    levels.append(Level(sp, address, depth))
    return levels[-1]


@function("_cuda_too_deep")
def cuda_too_deep(address: gdb.Value) -> bool:
    """$_cuda_too_deep(ADDRESS): is the function there nested deeper than cuda-recursion-limit, or again that much?"""
    levels, limit = DEPTHS().levels.get(gdb.selected_thread().num, []), settings.value(LIMIT)
    if not limit or not levels or levels[-1].address != int(address):
        return False
    return bool(levels[-1].depth > limit and levels[-1].depth % limit == 1 % limit)


# -- on and off -----------------------------------------------------------------------------------------------


def apply(event: object = None) -> None:
    """After the setting has changed, and whenever objects were loaded."""
    if not settings.value(LIMIT):
        for inferior in gdb.inferiors():
            DEPTHS.forget(inferior.num)
    elif process.is_alive() and process.connection() != "core":
        watch_hooks()


def forget_unloaded(addresses: set[int]) -> None:
    DEPTHS().forget(addresses)


unloading.ON_UNLOADED.append(forget_unloaded)


def watch_hooks() -> None:
    try:
        snapshot = this_snapshot.now()
    except UserError:  # the loader has not begun
        return
    wanted, depths = snapshot.api_names | frozenset(RESOLVERS), DEPTHS()
    for hook in snapshot.hooks:
        for name, definitions in hook.symbols.defined(wanted).items():
            for address in {d.address for d in definitions} - depths.counters.keys():
                depths.watched[address] = Watched(name, snapshot.file_of(hook))
                depths.counters[address] = DepthCounter(address)


# -- what a stop shows ----------------------------------------------------------------------------------------


def on_stop(event: gdb.StopEvent) -> None:
    text = ""
    if isinstance(event, gdb.BreakpointEvent):
        ours = {made.number for made in DEPTHS().stopping.values() if made.is_valid()}
        if any(hit.is_valid() and hit.number in ours for hit in event.breakpoints):
            text = counted_cycle()
    elif isinstance(event, gdb.SignalEvent) and event.stop_signal == "SIGSEGV":
        text = overflow()
    if text:
        console.write(text + "\n")


def counted_cycle() -> str:
    """From the levels: the functions between the two innermost entries of the same one."""
    watched, levels = DEPTHS().watched, DEPTHS().levels[gdb.selected_thread().num]
    last = levels[-1]
    before = next(i for i in range(len(levels) - 2, -1, -1) if levels[i].address == last.address)
    cycle = [watched[level.address].name for level in levels[before:]]
    file = watched[last.address].file
    head = (
        f"Recursion: {stops.where(frames.CodePlace(last.address, '', file, layers.layer_of_object(file)))} {cycle[-1]}"
    )
    return f"{head} is nested {last.depth} deep on thread {gdb.selected_thread().num}: {' -> '.join(cycle)}"


def overflow() -> str:
    """ "" unless the stack is the same few functions over and over, one of the API or of the hook's among them."""
    places = innermost()
    start, size = repeating([(place.function, place.file) for place in places])
    turn = list(reversed(places[start : start + size + 1]))
    if not size or not any(is_of_hooks(place) for place in turn):
        return ""
    cycle = " -> ".join(f"{stops.where(place)} {visible(place.function)}()" for place in turn)
    return f"Recursion: the stack is used up by one cycle, innermost last: {cycle}"


def is_of_hooks(place: frames.CodePlace) -> bool:
    """A library that the user preloads beside the one under debug defines API functions too."""
    return place.layer == "hook" or names.function_named(place.function) is not None or place.function in RESOLVERS


def innermost() -> list[frames.CodePlace]:
    found: list[frames.CodePlace] = []
    frame: gdb.Frame | None = gdb.newest_frame()
    while frame is not None and frame.pc() and len(found) < MOST_FRAMES:
        found.append(frames.place_of(frame, is_caller=bool(found)))
        frame = frame.older()
    return found


def repeating(stack: list[tuple[str, str]]) -> tuple[int, int]:
    """(where it begins, length) of the shortest cycle that the list goes on with to its end; (0, 0) if it has none."""
    if len(stack) < MOST_FRAMES or Counter(stack).most_common(1)[0][1] < FEWEST_TURNS:
        return 0, 0
    for start in range(DEEPEST_CALLEE):
        rest = stack[start:]
        for size in range(1, LONGEST_CYCLE):
            if all(rest[i] == rest[i + size] for i in range(len(rest) - size)):
                return start, size
    return 0, 0


def on_setting() -> None:
    try:
        process.require_stopped()
    except UserError as problem:
        raise gdb.GdbError(f"{LIMIT}: {problem}") from None
    unloading.watch()
    apply()


settings.ON_CHANGE[LIMIT] = on_setting

"""Hook functions that end up in themselves: the cycle shown, at a depth that the user sets or when the stack is full.

``set cuda-recursion-limit N`` counts how deep each exported function of the hook libraries is nested on its thread, by
breakpoints that never stop. One level before the limit an ordinary breakpoint is made there, for what stops must be
one. Without a limit a SIGSEGV is looked at: does the stack repeat itself?
(gdb manual: "Breakpoints In Python", "Frames In Python".)
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence, Set
from typing import Callable, NamedTuple

import gdb

from gdbcuda.errors import UserError
from gdbcuda.linkage import Linkage
from gdbcuda.live import breakpoints, layers, process
from gdbcuda.live.frames import frames
from gdbcuda.live.host import console
from gdbcuda.live.host.inferiors import PerInferior, selected_thread, thread_label
from gdbcuda.live.layers import library_files, names, this_snapshot
from gdbcuda.live.placing import own_process, unloading
from gdbcuda.live.prompt import settings
from gdbcuda.live.stopping import stack_cycles, stops
from gdbcuda.live.threads import call_registers
from gdbcuda.text.printable import visible

LIMIT = "cuda-recursion-limit"
RESOLVERS = ("dlsym", "dlvsym")
OVERRIDING = ("hook", "app", "runtime")  # who may have a dlsym of its own
MOST_FRAMES = 200
CAUSES: list[Callable[[Sequence[frames.CodePlace]], str]] = []


class Level(NamedTuple):
    """A function that was entered and has not returned; ``depth`` counts it on this thread."""

    sp: int
    address: int
    depth: int


class Watched(NamedTuple):
    name: str
    file: str


class Depths:
    """Of one process; functions are meant by their addresses."""

    def __init__(self) -> None:
        self.watched: dict[int, Watched] = {}
        self.counters: dict[int, DepthCounter] = {}
        self.levels: dict[int, list[Level]] = {}  # by thread, outermost first
        self.stopping: dict[int, gdb.Breakpoint] = {}  # by function; ordinary ones

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
        thread = call_registers.thread_number()
        entered = enter(thread, call_registers.current_stack_pointer(), self.address)
        if entered.depth >= settings.value(LIMIT) and DEPTHS().watched[self.address].name not in RESOLVERS:
            entered = forget_returned(thread)
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


def forget_returned(thread: int) -> Level:
    """A function that is called again from deeper in the stack may have returned meanwhile: the frames tell, where
    there are frames."""
    levels = DEPTHS().levels[thread]
    there = {sp: frame.pc() for frame in frames.innermost(MOST_FRAMES) if (sp := frames.entry_sp(frame)) is not None}
    seen, kept, outermost = Counter[int](), [], max(there, default=0)
    for level in levels:
        if level is levels[-1] or level.sp > outermost or is_in(there.get(level.sp), level.address):
            seen[level.address] += 1
            kept.append(level._replace(depth=seen[level.address]))
    levels[:] = kept
    return levels[-1]


def is_in(pc: int | None, function: int) -> bool:
    """Rarely executed parts of a function are elsewhere, under a name of their own."""
    return pc is not None and (process.function_start(pc) == function or ".cold" in process.symbol_of(pc)[0])


def is_too_deep(address: int) -> bool:
    thread, limit = selected_thread(), settings.value(LIMIT)
    levels = DEPTHS().levels.get(thread.num, []) if thread is not None else []
    if not limit or not levels or levels[-1].address != address:
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
    for hook in snapshot.hooks:
        watch(hook, snapshot.file_of(hook), snapshot.api_names)
    for one in snapshot.in_layer(*OVERRIDING):
        watch(one, snapshot.file_of(one), frozenset(RESOLVERS))


def watch(linkage: Linkage, file: str, wanted: Set[str]) -> None:
    depths = DEPTHS()
    for name, definitions in linkage.symbols.defined(wanted).items():
        for address in {d.address for d in definitions} - depths.counters.keys():
            depths.watched[address] = Watched(name, file)
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
    """From the stack; where that cannot be unwound from the levels."""
    watched, levels = DEPTHS().watched, DEPTHS().levels[gdb.selected_thread().num]
    last, thread = levels[-1], gdb.selected_thread().num
    file, name = watched[last.address].file, visible(watched[last.address].name)
    where = stops.where(frames.CodePlace(last.address, "", file, layers.layer_of_object(file)))
    itself = stack_cycles.back_to_itself()
    if not itself and name in RESOLVERS:
        return stack_cycles.ever_deeper(f"{where} {name}", last.depth, thread)
    way = itself_text(itself) if itself else " -> ".join(by_levels(levels, watched))
    nested = f"Recursion: {where} {name} is nested {last.depth} deep on thread {thread_label(thread)}: {way}"
    return with_cause(nested, itself)


def with_cause(text: str, cycle: list[frames.CodePlace]) -> str:
    """The code of a cycle may have been handed out to it: who knows of that says so."""
    return "\n".join(filter(None, [text, *(cause(cycle) for cause in CAUSES)]))


def itself_text(cycle: list[frames.CodePlace]) -> str:
    in_one_object = len({place.file for place in cycle}) == 1
    return " -> ".join(visible(place.function) for place in cycle) if in_one_object else stack_cycles.text(cycle)


def by_levels(levels: list[Level], watched: dict[int, Watched]) -> list[str]:
    """The functions between the two innermost entries of the same one."""
    before = next(i for i in range(len(levels) - 2, -1, -1) if levels[i].address == levels[-1].address)
    return [visible(watched[level.address].name) for level in levels[before:]]


def overflow() -> str:
    """ "" unless the stack is the same few functions over and over, one of the API or of the hook's among them; or any,
    where a hook's dlsym may have handed a function out to itself."""
    cycle = stack_cycles.full()
    if not cycle or not (any(map(is_of_hooks, cycle)) or is_dlsym_overridden()):
        return ""
    said = f"Recursion: the stack is used up by one cycle, innermost last: {stack_cycles.text(cycle)}"
    return with_cause(said, cycle)


def is_of_hooks(place: frames.CodePlace) -> bool:
    """A library that the user preloads beside the one under debug defines API functions too."""
    return place.layer == "hook" or names.function_named(place.function) is not None or place.function in RESOLVERS


def is_dlsym_overridden() -> bool:
    return any("dlsym" in library_files.exported(path) for path in layers.hooks())


def on_setting() -> None:
    process.require_stopped()
    unloading.watch()
    apply()


settings.ON_CHANGE[LIMIT] = on_setting

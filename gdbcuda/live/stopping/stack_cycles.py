"""Stacks that repeat themselves: which functions are the cycle. (gdb manual: "Frames In Python".)"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from gdbcuda.live.frames import frames
from gdbcuda.live.host import inferiors
from gdbcuda.live.stopping import stops
from gdbcuda.text import cplusplus
from gdbcuda.text.printable import visible

MOST_FRAMES, LONGEST_CYCLE, FEWEST_TURNS = 120, 30, 3
DEEPEST_CALLEE = 25  # frames of what the cycle called when the stack was full: printf, a lock, the loader


def innermost() -> list[frames.CodePlace]:
    """As far as a cycle can show; a frame without code ends some stacks."""
    found: list[frames.CodePlace] = []
    for frame in frames.innermost(MOST_FRAMES):
        if not frame.pc():
            break
        found.append(frames.place_of(frame, is_caller=bool(found)))
    return found


def full() -> list[frames.CodePlace]:
    """One turn, innermost last, of a stack that is one cycle as far as it is looked at; [] of another one."""
    places = innermost()
    if len(places) < MOST_FRAMES:
        return []
    start, size = repeating(functions(places))
    return turn(places, start, size)


def at_its_top() -> list[frames.CodePlace]:
    """The same of a stack whose innermost frames alone need repeat themselves."""
    places = innermost()
    keys = functions(places)
    for start in range(DEEPEST_CALLEE):
        for size in range(1, LONGEST_CYCLE):
            end = start + size * FEWEST_TURNS
            if end <= len(keys) and all(keys[i] == keys[i + size] for i in range(start, end - size)):
                return turn(places, start, size)
    return []


def back_to_itself() -> list[frames.CodePlace]:
    """One turn, from the innermost function to where it was entered before; [] if it was not."""
    places = innermost()
    keys = functions(places)
    size = keys.index(keys[0], 1) if keys and keys[0] in keys[1:] else 0
    return turn(places, 0, size)


def functions(places: Sequence[frames.CodePlace]) -> list[tuple[str, str]]:
    return [(place.function, place.file) for place in places]


def turn(places: Sequence[frames.CodePlace], start: int, size: int) -> list[frames.CodePlace]:
    return list(reversed(places[start : start + size + 1])) if size else []


def repeating(stack: list[tuple[str, str]]) -> tuple[int, int]:
    """(where it begins, length) of the shortest cycle that the list goes on with to its end; (0, 0) if it has none."""
    if Counter(stack).most_common(1)[0][1] < FEWEST_TURNS:
        return 0, 0
    for start in range(DEEPEST_CALLEE):
        rest = stack[start:]
        for size in range(1, LONGEST_CYCLE):
            if all(rest[i] == rest[i + size] for i in range(len(rest) - size)):
                return start, size
    return 0, 0


def text(cycle: Sequence[frames.CodePlace]) -> str:
    """ "hook libx.so dlsym() -> app liby.so dlsym() -> hook libx.so dlsym()"."""
    return " -> ".join(f"{stops.where(place)} {visible(cplusplus.called(place.function))}" for place in cycle)


def ever_deeper(asked: str, times: int, thread: int) -> str:
    """What a resolver answers may be a way back to its caller: it has returned, and the caller is in itself."""
    cycle = at_its_top()
    callers = f", by the cycle {text(cycle)}" if cycle else ""
    name = inferiors.thread_label(thread)
    return f"Recursion: {asked} was asked {times} times on thread {name}, each time deeper in the stack{callers}"

"""Who calls, as address ranges: for the caller filter of a guard, and for ``caller in`` in a condition.

The filter (`test`) leaves out the objects that we know and that do not match; whatever is loaded later passes, and
gdb's own condition decides. `ranges` are exact for the objects that are loaded now. (`surroundings.is_from` is the same
in the debugger.)
"""

from __future__ import annotations

from collections.abc import Sequence

from gdbcuda.condition.place import EVERYWHERE, Range, complement, union
from gdbcuda.linkage.image import Image
from gdbcuda.live import layers, process
from gdbcuda.live.frames import condition_words
from gdbcuda.live.layers import this_snapshot
from gdbcuda.machine import trampoline
from gdbcuda.machine.detour import NoDetour
from gdbcuda.memory import PAGE
from gdbcuda.text import cplusplus

FOREIGN = ("hook", "driver", "system")  # to --from app
MOST_INLINED = 16 << 10  # bytes that are asked one by one
ORDER = {"hook": 0, "driver": 1, "app": 2}  # likely callers first


def test(wanted: str) -> trampoline.Test:
    """For the text of --from, several words with commas."""
    words = cplusplus.listed(wanted)
    unwanted = [one for one in process.images() if one.segments and not may_call(one, words)]
    ranges = sorted(map(extent, unwanted))
    return trampoline.returns_into(sorted(joined(ranges), key=lambda r: rank(r, unwanted)), wanted=False)


def may_call(one: Image, words: Sequence[str]) -> bool:
    name = file_of(one)
    layer = "app" if not one.name else layers.layer_of_object(name)
    return any(
        is_meant(word, layer, name, is_program=not one.name) or has_function(one, word)
        or condition_words.may_be_script(word) for word in words
    )  # fmt: skip


def has_function(one: Image, word: str) -> bool:
    places = condition_words.function_ranges(word) + condition_words.inlined_blocks(word)
    return any(one.holds(start) for start, _ in places)


def file_of(one: Image) -> str:
    return one.name or process.strip_prefix(process.program())


def is_meant(word: str, layer: str, name: str, is_program: bool) -> bool:
    """The program may hold a static runtime."""
    if word == "any" or (word == "app" and layer not in FOREIGN):
        return True
    return layers.matches(word, layer, name) or (word == "runtime" and is_program)


def extent(one: Image) -> trampoline.Range:
    starts, ends = zip(*((start, end) for start, end, _ in one.segments))
    return min(starts) // PAGE * PAGE, (max(ends) + PAGE - 1) // PAGE * PAGE


def joined(ranges: list[trampoline.Range]) -> list[trampoline.Range]:
    """Ranges that touch as one; a gap may be filled by an object that is loaded later."""
    found: list[trampoline.Range] = []
    for low, high in ranges:
        if found and found[-1][1] >= low:
            found[-1] = (found[-1][0], max(high, found[-1][1]))
        else:
            found.append((low, high))
    return found


def rank(found: trampoline.Range, objects: list[Image]) -> int:
    inside = [one for one in objects if found[0] <= extent(one)[0] < found[1]]
    return min(ORDER.get(layers.layer_of_object(one.name) if one.name else "app", 3) for one in inside)


# -- exact


def ranges(words: Sequence[str]) -> list[Range]:
    """The return addresses of calls from these layers, objects or functions; `NoDetour` where no range says it."""
    return union(one for word in words for one in ranges_of(word))


def ranges_of(word: str) -> list[Range]:
    if word == "any":
        return [EVERYWHERE]
    objects = [one for one in process.images() if one.segments]
    if word == "app":
        return complement(extent(one) for one in objects if layers.layer_of_object(file_of(one)) in FOREIGN)
    if word == "runtime" and this_snapshot.static_runtime():
        raise NoDetour("the runtime is a part of the program, and its code is not in one piece")
    found = [extent(one) for one in objects if layers.matches(word, layers.layer_of_object(file_of(one)), file_of(one))]
    return found + condition_words.function_ranges(word) + inlined(word)


def inlined(word: str) -> list[Range]:
    """The pieces of other functions that the function's code was put into."""
    blocks = condition_words.inlined_blocks(word)
    if sum(end - start for start, end in blocks) > MOST_INLINED:
        raise NoDetour(f"the compiler has put {word} into others, and its code is not in one piece")
    addresses = (at for start, end in blocks for at in range(start, end) if condition_words.is_inlined(word, at))
    return union((at, at + 1) for at in addresses)

"""What the words of a condition mean in the process: who calls, from which thread, and whether a name is anybody's."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import gdb

from gdbcuda import condition as conditions
from gdbcuda.errors import UserError
from gdbcuda.live import frames, layers, names, target

MOST_SHOWN = 8
COUNTED_ELSEWHERE = 'calls are counted in the condition of a breakpoint, by $_cuda_count(BREAKPOINT, "nth == 3")'


def is_from(caller: frames.Place, wanted: str) -> bool:
    """Layer ``app`` means the program and its libraries, the runtime among them: everyone but hook, driver, system.
    Any other name may be an object's or a function's."""
    if wanted == "any":
        return True
    if wanted == "app":
        return caller.layer in ("app", "runtime", "")
    return layers.matches(wanted, caller.layer, caller.file) or is_function(wanted, caller.address)


def is_function(wanted: str, return_address: int) -> bool:
    """By the ELF symbol that the call is in: a function that the compiler put into another is that other one."""
    return may_be_function(wanted) and plain_name(target.symbol_of(return_address - 1)[0]) == wanted


def may_be_function(word: str) -> bool:
    return word not in layers.LAYERS and word.replace("::", "_").isidentifier()


def plain_name(symbol: str) -> str:
    """gdb shows the parameters of a C++ function."""
    return symbol.partition("(")[0]


class Call:
    """Of the call that the selected frame is."""

    def is_from(self, words: Sequence[str]) -> bool:
        caller = frames.caller_of(gdb.selected_frame())
        return caller is not None and any(is_from(caller, word) for word in words)

    def thread(self) -> int:
        return int(gdb.selected_thread().num)

    def count(self) -> int:
        raise UserError(COUNTED_ELSEWHERE)


class Entry(Call):
    """Of the call that the selected thread begins: ``caller`` made it, ``count`` gives it its number."""

    def __init__(self, caller: frames.Place, count: Callable[[], int]) -> None:
        self.caller, self.number = caller, count

    def is_from(self, words: Sequence[str]) -> bool:
        return any(is_from(self.caller, word) for word in words)

    def count(self) -> int:
        return self.number()


# -- names that are nobody's


def refuse_unknown(condition: conditions.Condition) -> None:
    """`UserError` for a name behind ``caller in`` that is no layer's, and no object's or function's of the process.

    Before the program runs nobody knows what it will load; later, a name in quotes may be of an object to come."""
    for node in condition.callers:
        for word in () if node.is_quoted else node.words:
            try:
                names.split_places(word)
            except UserError as problem:
                raise UserError(f"column {node.column}: {problem}") from None
            if target.is_alive() and not is_known(word):
                raise UserError(f"column {node.column}: {unknown(word)}")


def is_known(word: str) -> bool:
    if word == "any" or word in layers.LAYERS:
        return True
    if any(layers.matches(word, "", name) for name in objects()):
        return True
    return may_be_function(word) and bool(target.decoded(word))


def objects() -> list[str]:
    return [target.strip_prefix(target.program()), *target.shared_objects()]


def unknown(word: str) -> str:
    from difflib import get_close_matches  # slow to import

    files = [name.rpartition("/")[2] for name in objects() if name]
    near = get_close_matches(word, files, 1, 0.6)
    if near:
        hint = f"did you mean {near[0]}?"
    else:
        more = f" and {len(files) - MOST_SHOWN} more" if len(files) > MOST_SHOWN else ""
        hint = f"loaded are {', '.join(files[:MOST_SHOWN])}{more}"
    what = "loaded object or function" if may_be_function(word) else "loaded object"
    return f'no {what} is called {word}; {hint} (in quotes, "{word}", it may be loaded later)'

"""What the words of a condition mean in the process: who calls, from which thread, and whether a name is anybody's."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence

import gdb

from gdbcuda import api
from gdbcuda import condition as conditions
from gdbcuda.cpython import own_code
from gdbcuda.errors import Unreadable, UserError
from gdbcuda.live import layers, process
from gdbcuda.live.frames import frames
from gdbcuda.live.layers import misnamed, module_names, names, own_prototypes, table_version
from gdbcuda.live.pythons import thread_stacks
from gdbcuda.text import cplusplus
from gdbcuda.text.patterns import pattern

MOST_SHOWN = 8
PLT = "@plt"  # how gdb names what calls a function there
FIRST_SIZE, FAR = 64, 1 << 24  # bytes of a function, where nothing is known of its end
OPERATOR = r"(?:(?<=operator)|(?<=new)|(?<=delete))\s*(?:\(\)|\[\]|[-+*/%^&|~!=<>,]{1,3})"
FUNCTION = pattern(rf"[A-Za-z_~{{][\w:~<>, *&${{}}#]*(?:{OPERATOR})?(\([\w:<>, *&]*\))?")
ADDRESS = pattern(r"0[xX][0-9a-fA-F]*")
COUNTED_ELSEWHERE = 'calls are counted in the condition of a breakpoint, by $_cuda_count(BREAKPOINT, "nth == 3")'


def is_from(caller: frames.CodePlace, wanted: str) -> bool:
    """Layer ``app`` means the program and its libraries, the runtime among them: everyone but hook, driver, system.
    Any other name may be an object's or a function's."""
    if wanted == "any":
        return True
    if wanted == "app":
        return caller.layer in ("app", "runtime", "")
    return layers.matches(wanted, caller.layer, caller.file) or is_function(wanted, caller.address)


def is_function(wanted: str, return_address: int) -> bool:
    """By ELF symbols, and by the functions that the compiler has put into another one: the call is all of theirs."""
    if any(low < return_address <= high for low, high in function_ranges(wanted)):
        return True
    return is_inlined(wanted, return_address - 1)


def is_inlined(wanted: str, address: int) -> bool:
    return is_name(wanted) and any(cplusplus.is_called(one, wanted) for one in process.inlined_at(address))


def is_name(text: str) -> bool:
    """Of a function, and of no layer."""
    return text not in layers.LAYERS and FUNCTION.fullmatch(text.replace(f"{cplusplus.UNNAMED}::", "")) is not None


@process.until_objects_change
def function_ranges(name: str) -> list[tuple[int, int]]:
    """(start, end) of each function of that name; [] where the name is a layer's or a file's. As gdb has it, a C++
    function may be named without its namespace, its arguments and what its template was made for."""
    if not is_name(name):
        return []
    starts = {process.function_start(pc) or pc for pc in process.decoded(name)}
    named = {start for start in starts if is_named(start, name)}
    return [(start, end_of(start)) for start in sorted(named.union(module_names.called(name).values()))]


@process.until_objects_change
def inlined_blocks(name: str) -> list[tuple[int, int]]:
    """(start, end) of what reaches around the code of the function in each one that it was put into: other code of
    that one may lie between."""
    if not is_name(name):
        return []
    found = (process.inlined_block(pc, lambda one: cplusplus.is_called(one, name)) for pc in process.decoded(name))
    return sorted({block for block in found if block is not None})


def is_named(start: int, name: str) -> bool:
    """Not what calls it in the PLT, and not a function into which the compiler has put it; an alias is."""
    text = process.symbol_of(start)[0]
    if text.endswith(PLT):
        return False
    return cplusplus.is_called(text, name) or (name, start) in symbols_of(start)


def end_of(start: int) -> int:
    """Where the next symbol begins: all that gdb calls by the name of this one. It is searched by halves, for gdb shows
    a table of symbols only as a whole, and a framework's has 400,000."""
    ends = (end for one in process.images() for low, end, _ in one.segments if low <= start < end)
    limit = min(ends, default=start + FAR)
    inside, size = start, FIRST_SIZE
    while start + size < limit and process.function_start(start + size) == start:
        inside, size = start + size, 2 * size
    outside = min(start + size, limit)
    while outside - inside > 1:
        middle = (inside + outside) // 2
        inside, outside = (middle, outside) if process.function_start(middle) == start else (inside, middle)
    return outside


def symbols_of(address: int) -> list[tuple[str, int]]:
    from gdbcuda.live.layers import this_snapshot  # loaded when first used

    objfile = process.objfile_of(process.object_of(address))
    file = objfile.filename if objfile is not None else None
    return this_snapshot.symbol_table(file) if file else []


def is_from_script(words: Sequence[str]) -> bool:
    """A frame of Python that led to where the selected thread is has one of the names."""
    named = [word for word in words if may_be_script(word)]
    return bool(named) and any(own_code.is_meant(one, word) for one in thread_stacks.calling() for word in named)


@process.until_objects_change
def may_be_script(word: str) -> bool:
    """A function, module, file or line of Python: what is no layer and no object, where there is a Python to ask."""
    if not is_like_script(word) or not thread_stacks.interpreters():
        return False
    return not any(layers.matches(word, "", one.name) for one in process.images() if one.name)


def is_like_script(word: str) -> bool:
    """No layer, library or member of a C++ class. Before the program runs nobody knows more."""
    return word not in (*layers.LAYERS, "any") and ".so" not in word and "::" not in word


class FrameSurroundings:
    """Of the call that the selected frame is."""

    def is_from(self, words: Sequence[str]) -> bool:
        caller = frames.caller_of(gdb.selected_frame())
        return (caller is not None and any(is_from(caller, word) for word in words)) or is_from_script(words)

    def thread(self) -> int:
        return int(gdb.selected_thread().num)

    def count(self) -> int:
        raise UserError(COUNTED_ELSEWHERE)


class EntrySurroundings(FrameSurroundings):
    """Of the call that the selected thread begins: ``caller`` made it, ``count`` gives it its number."""

    def __init__(self, caller: frames.CodePlace, count: Callable[[], int]) -> None:
        self.caller, self.number = caller, count

    def is_from(self, words: Sequence[str]) -> bool:
        return any(is_from(self.caller, word) for word in words) or is_from_script(words)

    def count(self) -> int:
        return self.number()


def is_meant(
    wanted_callers: str, condition: conditions.Condition | None, count: Callable[[], int], call: frames.FrameCall
) -> bool:
    """What cuda-break asks of a call, answered here. ``count``: its number, where the condition counts."""
    if call.caller is None:
        return False
    around = EntrySurroundings(call.caller, count)
    if not around.is_from(cplusplus.listed(wanted_callers)):
        return False
    try:
        return condition is None or condition.holds(call.function, call.raws, process.InferiorMemory(), around)
    except Unreadable:
        return True  # better one stop too many than the one that was asked for


def complete(words: list[str], before: list[str], token: str) -> Iterable[str]:
    """For a condition on the functions that ``words`` name; ``before`` and ``token`` are its text so far."""
    if before[-2:] == ["caller", "in"]:
        return complete_callers(token)
    if before[-2:] in (["thread", "=="], ["thread", "!="]):
        return names.complete_threads(token)
    from gdbcuda.condition.completion import complete  # the conditions are loaded when first used

    functions = [found for word in words for found in functions_of(word.strip("'\""))]
    typed = re.search(r"[\w.\[\]]*(->\w*)?$", token)
    head = token[: typed.start()] if typed else ""
    return [head + name for name in complete(" ".join([*before, token]), functions, table_version.table())]


def complete_callers(token: str) -> Iterable[str]:
    """Layers and libraries, and the program's and the hook library's functions, of which there are many; several
    with commas."""
    last = cplusplus.listed(token)[-1]
    head = token[: len(token) - len(last)]
    return [f"{head}{name}" for name in [*names.complete_callers(last), *names.complete_own(last)]]


def functions_of(word: str) -> list[api.Function]:
    found = own_prototypes.prototype(word)
    return table_version.table().find(word) or ([found] if found is not None else [])


# -- names that are nobody's


def refuse_unknown(condition: conditions.Condition) -> None:
    """`UserError` for a name behind ``caller in`` that is no layer's, and no object's or function's of the process.

    Before the program runs nobody knows what it will load; later, a name in quotes may be of an object to come."""
    for node in condition.callers:
        for word in () if node.is_quoted else node.words:
            refuse_typo(word, f"column {node.column}: ")
            if process.is_alive() and not is_known(word):
                quoted = f'in quotes, "{word}", it may be loaded later'
                raise UserError(f"column {node.column}: {unknown(word)} ({quoted})")


def split_callers(text: str | None) -> tuple[str, ...]:
    """For --from: layers, "any", libraries and functions; they may come later."""
    words = tuple(word for part in cplusplus.listed(text or "") for word in cplusplus.joined(part.split()))
    for word in words:
        refuse_typo(word)
    return words


def refuse_typo(word: str, at: str = "") -> None:
    """What can be nobody's name."""
    if ADDRESS.fullmatch(word):
        raise UserError(f"{at}{word} is no name; info symbol {word} says which function and library it is in")
    near = misnamed.nearest_layer(word)
    if near and not is_known(word):
        raise UserError(f"{at}no layer {word!r}; did you mean {near}? (a library: {word}.so)")


def is_known(word: str) -> bool:
    if word == "any" or word in layers.LAYERS:
        return True
    if any(layers.matches(word, "", name) for name in names.objects()):
        return True
    if process.is_alive():
        return bool(function_ranges(word) or inlined_blocks(word))
    return bool(is_name(word) and process.decoded(word)) or names.is_own(word)


def unknown(word: str) -> str:
    from difflib import get_close_matches  # slow to import

    files = [name.rpartition("/")[2] for name in names.objects() if name]
    near = get_close_matches(word, [*files, *names.own_functions()], 1, 0.6)
    if near:
        hint = f"did you mean {near[0]}?"
    elif may_be_script(word):
        hint = "it may be a function, a module, a file or a line of Python's"
    else:
        more = f" and {len(files) - MOST_SHOWN} more" if len(files) > MOST_SHOWN else ""
        hint = f"loaded are {', '.join(files[:MOST_SHOWN])}{more}"
    return f"no loaded object or function is called {word}; {hint}"

"""From what a user types (a symbol, a base name, a glob) to the function symbols to break on."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable
from fnmatch import fnmatchcase
from typing import Callable, NoReturn

from gdbcuda import api
from gdbcuda.api.notes import ApiNotes
from gdbcuda.errors import UserError
from gdbcuda.files import places
from gdbcuda.live import layers, process
from gdbcuda.live.host import gdb_cli, inferiors
from gdbcuda.live.layers import library_files, misnamed, table_version
from gdbcuda.text import cplusplus
from gdbcuda.text.patterns import pattern
from gdbcuda.text.sentences import ranges

CALLED = pattern(r"[\w:~$]+")
BRACKETED = pattern(r"[<('\s]|\boperator")  # a name that is typed with more than its words
FEWEST = 2  # letters before functions are offered
EXTRA = {  # what hook libraries define beside the API: dlsym(3), dlopen(3), as the table's prototypes are written
    "dlsym": "void *;handle void *;symbol const char *",
    "dlvsym": "void *;handle void *;symbol const char *;version const char *",
    "dlopen": "void *;filename const char *;flags int",
}


def resolve(pattern: str) -> list[api.Function]:
    """The functions of the API meant by the pattern, all variants of a base name; [] for another function's name, or a
    glob of such names. UserError with the nearest names if there is none."""
    table = table_version.table()
    if not pattern:
        raise UserError("an empty name; a function is wanted, for example cuMemAlloc")
    found = table.find(pattern) or api.load_all().find(pattern)
    if not found and not (matching_own(pattern) if is_glob(pattern) else is_somewhere(pattern)):
        unknown(pattern, table)
    return found


def is_glob(pattern: str) -> bool:
    return any(c in pattern for c in "*?[")


def is_somewhere(name: str) -> bool:
    """Not in the table, but defined in a loaded object or in the hook library's file."""
    is_loaded = "@" not in name and not misnamed.LINE.fullmatch(name) and bool(process.decoded(name))
    is_known = is_loaded or name in EXTRA or any(defines(one, name) for one in layers.named_hooks())
    return is_known or bool(in_module(name))


def in_module(name: str) -> list[str]:
    """What gdb calls those functions that may be called so, of the program and the hook library."""
    from gdbcuda.live.layers import module_names  # loaded when first used

    return module_names.spelled(name, (one for path in layers.named_hooks() for one in library_files.defined(path)))


def defines(path: str, name: str) -> bool:
    """Has the hook library's file the function? A C++ one may be called as gdb's own break takes it; one of the API is
    C, and (anonymous namespace)::cudaMalloc another."""
    if name in library_files.defined(path):
        return True
    return prototype(name) is None and (look_for_cplusplus(path, library_files.version_of(path), name)
                                        or library_files.inlines(path, name))  # fmt: skip


@functools.lru_cache(maxsize=256)
def look_for_cplusplus(path: str, version: tuple[int, ...], name: str) -> bool:
    part = cplusplus.last_identifier(name)
    mangled = (one for one in library_files.read_defined(path, version) if one.startswith("_Z") and part in one)
    may_be = bool(part) or "operator" in name
    return may_be and any(cplusplus.is_called(process.demangled(one), name) for one in mangled)


def is_own(name: str) -> bool:
    """Has the program, or the hook library, a function of that name?"""
    part = cplusplus.last_identifier(name)
    return any(name == one or cplusplus.is_called(process.demangled(one), name) for one in own_symbols() if part in one)


def own_symbols() -> set[str]:
    """ELF symbols of the program and the hook library: whose functions people usually mean."""
    from gdbcuda.live.layers import this_snapshot  # loaded when first used

    files = (process.program(), *this_snapshot.hook_files())
    loaded = {name for file in files for name, _ in this_snapshot.symbol_table(file) if not name.endswith("@plt")}
    return loaded.union(*map(library_files.defined, layers.named_hooks()))


def own_functions(part: str = "") -> set[str]:
    """As people call them, of symbols that have the text in them."""
    return {cplusplus.plain(process.demangled(one)) for one in own_symbols() if part in one}


def matching_own(glob: str) -> list[str]:
    """What the program's and the hook library's own functions of such names are called. (clones: grow.part.0)"""
    return sorted(one for one in own_functions() if fnmatchcase(one, glob) and CALLED.fullmatch(one))


def unknown(pattern: str, table: api.Table) -> NoReturn:
    misnamed.refuse_what_is_no_name(pattern)
    if matching_own(pattern) if is_glob(pattern) else is_own(pattern):
        raise UserError(f"{pattern!r} is a function of the program or the hook library, and none of the API: calls of "
                        f"those alone are looked at; a stop there: cuda-break {pattern}")
    near = [] if is_glob(pattern) else table.nearest(pattern) or nearest_own(pattern)
    hint = f"; did you mean {', '.join(near)}?" if near else ""
    hint = "; all of them are '*'" if pattern in ("all", "any") else hint
    where = f"the API of CUDA {table.cuda} and NVML {table.nvml}"
    raise UserError(f"no function {pattern!r} in {where}, the program or the hook library{hint}")


def nearest_own(name: str) -> list[str]:
    from difflib import get_close_matches  # slow to import

    return get_close_matches(name, own_functions(), 1)


OF_AUTHORS: list[Callable[[], list[str]]] = []  # who knows functions that hook libraries' authors have named


def complete_functions(token: str) -> Iterable[str]:
    """Of the API, what authors have named, and once a few letters are there the program's and the hook's own."""
    if not token:
        return ("cu", "cuda", "nvml", *(name for ask in OF_AUTHORS for name in ask()))
    found = [f.symbol for f in table_version.table().find(token, prefix=True)]
    return [*found, *EXTRA, *complete_own(token)]


def complete_own(token: str) -> Iterable[str]:
    """Also without the namespaces in front, as gdb's own break does."""
    if len(token) < FEWEST:
        return ()
    if BRACKETED.search(token):
        return complete_whole(token)
    scope, colons, last = token.rpartition("::")
    is_operator = colons and "operator".startswith(last)  # which no mangled name has in it
    found = own_functions(cplusplus.last_identifier(scope if is_operator else token))
    return sorted({end for name in found for end in cplusplus.endings(name) if end.startswith(token)})


def complete_whole(token: str) -> Iterable[str]:
    """With the lists that are begun, of templates and arguments. (gdb ends a quoted one.)"""
    quote, typed = "'" * token.startswith("'"), token.lstrip("'")
    is_unnamed = typed.startswith("(")
    part = "_GLOBAL__N" if is_unnamed else cplusplus.last_identifier(re.split("[<(]", typed)[0]) or "_Z"
    found = {cplusplus.whole(process.demangled(one)) for one in own_symbols() if part in one}
    ends = (end for name in found if typed in name for end in cplusplus.endings(name))
    return sorted({f"{quote}{end}" for end in ends if end.startswith(typed)})


def complete_places(token: str) -> Iterable[str]:
    """Layers and the loaded libraries."""
    names = [n.rsplit("/", 1)[-1] for n in process.shared_objects()] if process.is_alive() else []
    return [*layers.LAYERS, *(name for name in names if name != places.AGENT)]


def complete_threads(token: str) -> Iterable[str]:
    return [str(thread.num) for thread in inferiors.threads()]


def complete_variables(token: str) -> Iterable[str]:
    """Environment variables of the next run, ready for a value."""
    shown = gdb_cli.execute("show environment")
    return [f"{name}=" for name in re.findall(r"^(\w+)=", shown, re.MULTILINE)]


def complete_callers(token: str) -> Iterable[str]:
    return ["any", *complete_places(token)]


def function_named(symbol: str) -> api.Function | None:
    return table_version.function(symbol)


def prototype(symbol: str) -> api.Function | None:
    """Of an API function, and of the loader's, for conditions on their parameters."""
    return function_named(symbol) or (loader_function(symbol) if symbol in EXTRA else None)


@functools.cache
def loader_function(symbol: str) -> api.Function:
    return api.Function(symbol, "driver", EXTRA[symbol], api.load().types, ApiNotes())


def breakpoint_numbers(numbers: list[int]) -> str:
    """ "Breakpoint 3" or "Breakpoints 3-17, 20"."""
    return f"Breakpoint{'s' if len(numbers) > 1 else ''} {ranges(numbers)}"


def split_places(text: str | None) -> tuple[str, ...]:
    """Layers, "any" and libraries. A library may come later, so every name will do, but a layer's with a typo."""
    words = tuple(word for word in re.split(r"[,\s]+", text or "") if word)
    for word in words:
        near = misnamed.nearest_layer(word)
        if near and not any(layers.matches(word, "", name) for name in objects()):
            raise UserError(f"no layer {word!r}; did you mean {near}? (a library: {word}.so)")
    return words


def objects() -> list[str]:
    """File names of the program and the loaded libraries."""
    return [process.strip_prefix(process.program()), *process.shared_objects()]

"""Who asks for a function by its name gets what the driver would give, or the hook library's function of that name."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from gdbcuda.contract.bench import Bench
from gdbcuda.contract.c_programs.showing_program import Shown
from gdbcuda.contract.program import LoadedPlace
from gdbcuda.contract.registry import Broken, Case, contract
from gdbcuda.contract.resolving import c_finding, proc_address
from gdbcuda.contract.resolving.resolved_names import AskedNames
from gdbcuda.contract.targets import LIBRARY_OF, HookTarget

# What is no API function, by who has it; a hook library that overrides dlsym sees these as well.
OTHERS = (("libc.so.6", "malloc"), ("libc.so.6", "dlsym"), ("libm.so.6", "cos"), ("default", "malloc"),
          ("default", "pthread_create"), ("next", "malloc"), ("next", "no_such_function"),
          ("default", "no_such_function"), ("libcuda.so.1", "no_such_function"),
          ("libcuda.so.1", "cuNoSuchFunction"))  # fmt: skip
PSEUDO = {"default": "RTLD_DEFAULT", "next": "RTLD_NEXT"}
NOTHING = "nothing"  # what dlerror says where all is well, in the words of shim/contract/finding.c
ELSEWHERE = ("libm.so.6", "libc.so.6")  # libraries that have no API function


@contract("resolving", means="a name leads to the driver's function of that name or the hook's own, by every way")
def resolving(bench: Bench) -> Iterator[Case]:
    names = AskedNames({one.symbol: one.api for one in bench.table.functions.values()})
    for symbol in names.apis:
        yield Case("resolving", symbol, partial(by_each_way, names, symbol))
    for base in sorted({one.base for one in bench.table.functions.values() if bench.table.proc_versions(one.base)}):
        yield Case("resolving", f"{base} by cuGetProcAddress", partial(proc_address.by_each_version, base))
    yield Case("resolving", "unknown names by cuGetProcAddress", proc_address.unknown)
    yield Case("resolving", "names of others", names_of_others)
    yield Case("resolving", "API names in other libraries", in_other_libraries)


def by_each_way(names: AskedNames, symbol: str, bench: Bench) -> Iterator[Broken]:
    for target, answer in names.answers(bench, symbol).items():
        yield from compared(bench, target, answer.expected, answer.found)
        if answer.found != answer.again:
            yield Broken(f"{target.way} gives another address each time", "", shown(target.command))


def compared(bench: Bench, target: HookTarget, expected: LoadedPlace, found: LoadedPlace) -> Iterator[Broken]:
    if is_loaders(bench, target, found):
        return
    if bool(expected.address) != bool(found.address):
        what = "finds nothing, and the driver has it" if expected.address else "finds what the driver does not have"
        yield Broken(f"{target.way} {what}", found.text(), shown(target.command))
    elif found.path == bench.hook:
        if found.symbol and found.symbol != target.symbol:
            yield Broken(f"{target.way} gives the hook library's function of another name", found.symbol,
                         shown(target.command))  # fmt: skip
    elif found.is_other_than(expected):
        yield Broken(f"{target.way} gives another function than the driver's",
                     f"{found.text()}, the driver gives {expected.text()}", shown(target.command))  # fmt: skip


def is_loaders(bench: Bench, target: HookTarget, found: LoadedPlace) -> bool:
    """A library without symbol versions has its functions in each version, says the loader, not a dlvsym of its own."""
    own = (found.path, found.symbol) == (bench.hook, target.symbol)
    return own and target.way.startswith("dlvsym") and "dlvsym" not in bench.exported


def shown(command: str) -> Shown:
    return partial(c_finding.by_command, command)


# -- what is none of the hook library's business -------------------------------------------------------------


def names_of_others(bench: Bench) -> Iterator[Broken]:
    yield from of_dlerror(bench)
    for library, name, found in as_without(bench, [f"dlsym {library} {name}" for library, name in OTHERS]):
        asked = f"dlsym({PSEUDO.get(library, library)}, {name})"
        yield found._replace(what=f"{asked} is another than without the hook library")


def of_dlerror(bench: Bench) -> Iterator[Broken]:
    """It is the program's, which asks it after a name that may not be there."""
    hooked = [(LIBRARY_OF[bench.table.functions[one.symbol].api], one.symbol) for one in bench.targets[:1]]
    asked = [*OTHERS, *hooked]
    commands = [f"dlerror {library} {name}" for library, name in asked]
    expected = bench.program(bench.bare).tell(*commands)
    with bench.copy() as program:
        found = program.tell(*commands)
    for (library, name), without, said in zip(asked, expected, found):
        called, show = f"dlsym({library}, {name})", shown(f"dlsym {library} {name}")
        if said == NOTHING != without:
            yield Broken("after a dlsym that finds nothing dlerror says nothing", called, show)
        elif without == NOTHING != said:
            yield Broken("after a dlsym that finds the name dlerror says something", f"{called}: {said}", show)


def in_other_libraries(bench: Bench) -> Iterator[Broken]:
    """Asked for in a library that has none, an API function is not there."""
    names = dict.fromkeys(one.symbol for one in bench.targets)
    commands = [f"dlsym {library} {name}" for name in names for library in ELSEWHERE]
    for library, _, found in as_without(bench, commands):
        yield found._replace(what=f"API functions are found in {library}")


def as_without(bench: Bench, commands: list[str]) -> Iterator[tuple[str, str, Broken]]:
    """Library, name and what is found of each command that is answered otherwise; what it is called is the caller's."""
    expected = bench.program(bench.bare).find(*commands)
    with bench.copy() as program:
        found = program.find(*commands)
    for command, ours, theirs in zip(commands, expected, found):
        _, library, name = command.split()
        if ours.is_other_than(theirs) and not is_own_dlsym(bench, name, theirs):
            yield library, name, Broken("", f"{name}: {theirs.text()}, not {ours.text()}", shown(command))


def is_own_dlsym(bench: Bench, name: str, found: LoadedPlace) -> bool:
    """A hook library that has a dlsym of its own may hand it out."""
    return found.path == bench.hook and found.symbol == name and name in ("dlsym", "dlvsym")

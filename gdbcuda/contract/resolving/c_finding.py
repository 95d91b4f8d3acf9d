"""The smallest C program that asks for a function by its name, and says whose it has got."""

from __future__ import annotations

from collections.abc import Sequence

from gdbcuda.contract.c_programs.c_program import over_standin
from gdbcuda.contract.c_programs.showing_program import HookSurroundings
from gdbcuda.contract.targets import LINKED

BEGIN = """\
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
"""
PLACE = """\
    Dl_info place = {0};
    dladdr(found, &place);
    printf("%p %s of %s", found, place.dli_sname ? place.dli_sname : "-", place.dli_fname ? place.dli_fname : "-");
"""
AGAIN = """\
}

int main(void)
{
    ask();
    ask();
    return 0;
}
"""


def by_command(command: str, title: str, around: HookSurroundings) -> str:
    """``command`` is one of the program's (shim/contract/finding.c). It asks twice, for the answer may be another."""
    way, *words = command.split()
    if way == LINKED:
        return of_linked(words[-1], title, around)
    arguments = ", ".join(["library", *map(quoted, words[1:])])
    lines = [
        f"{BEGIN}\nstatic void ask(void)\n{{", f"    void *library = {handle(words[0])};", "    dlerror();",
        f"    void *found = {way}({arguments});", "    const char *said = dlerror();",
        f'{PLACE}    printf(", dlerror: %s\\n", said ? said : "nothing");',
    ]  # fmt: skip
    return over_standin("\n".join([*lines, AGAIN]), way, title, around)


def of_linked(symbol: str, title: str, around: HookSurroundings) -> str:
    """Nobody asks while the program runs: the loader has bound it."""
    lines = [
        f"{BEGIN}extern char {symbol}[] __attribute__((weak));\n\nint main(void)\n{{", f"    void *found = {symbol};",
        f'{PLACE}    puts("");\n    return 0;\n}}\n',
    ]  # fmt: skip
    return over_standin("\n".join(lines), symbol, title, around, is_bound=True)


def by_resolver(
    resolver: str, library: str, way: str, arguments: Sequence[str], title: str, around: HookSurroundings
) -> str:
    """``arguments`` in C, of which &found is the place for the function and &how for how it was found."""
    lines = [
        f"{BEGIN}int {resolver}();\n" if way == LINKED else BEGIN, "static void ask(void)\n{",
        "    void *found = NULL;", "    int how = -1;",
        *([] if way == LINKED else [f"    int (*{resolver})() = dlsym({handle(library)}, {quoted(resolver)});"]),
        f"    int status = {resolver}({', '.join(arguments)});",
        '    printf("status %d, how %d: ", status, how);', f'{PLACE}    puts("");',
    ]  # fmt: skip
    return over_standin("\n".join([*lines, AGAIN]), resolver, title, around)


def handle(library: str) -> str:
    pseudo = {"default": "RTLD_DEFAULT", "next": "RTLD_NEXT"}
    return pseudo.get(library, f"dlopen({quoted(library)}, RTLD_LAZY)")


def quoted(text: str) -> str:
    return f'"{text}"'

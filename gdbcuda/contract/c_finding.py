"""The smallest C program that asks for a function by its name, and says whose it has got."""

from __future__ import annotations

from collections.abc import Sequence

from gdbcuda.contract.c_program import over_standin
from gdbcuda.contract.showing_program import HookSurroundings
from gdbcuda.contract.targets import LINKED

BEGIN = """\
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
"""
END = """\
    Dl_info place = {0};
    dladdr(found, &place);
    printf("%p %s of %s\\n", found, place.dli_sname ? place.dli_sname : "-", place.dli_fname ? place.dli_fname : "-");
    return 0;
}
"""


def by_command(command: str, title: str, around: HookSurroundings) -> str:
    """``command`` is one of the program's (shim/contract/finding.c)."""
    way, *words = command.split()
    symbol = words[-1] if way == LINKED else words[1]
    before = f"extern char {symbol}[] __attribute__((weak));\n" if way == LINKED else ""
    found = symbol if way == LINKED else f"{way}({', '.join([handle(words[0]), *map(quoted, words[1:])])})"
    body = [f"{BEGIN}{before}", "int main(void)\n{", f"    void *found = {found};"]
    return over_standin("\n".join([*body, END]), symbol, title, around)


def by_resolver(
    resolver: str, library: str, way: str, arguments: Sequence[str], title: str, around: HookSurroundings
) -> str:
    """``arguments`` in C, of which &found is the place for the function and &how for how it was found."""
    lines = [
        f"{BEGIN}int {resolver}();\n" if way == LINKED else BEGIN, "int main(void)\n{",
        "    void *found = NULL;", "    int how = -1;",
        *([] if way == LINKED else [f"    int (*{resolver})() = dlsym({handle(library)}, {quoted(resolver)});"]),
        f"    int status = {resolver}({', '.join(arguments)});",
        '    printf("status %d, how %d: ", status, how);',
    ]  # fmt: skip
    return over_standin("\n".join([*lines, END]), resolver, title, around)


def handle(library: str) -> str:
    pseudo = {"default": "RTLD_DEFAULT", "next": "RTLD_NEXT"}
    return pseudo.get(library, f"dlopen({quoted(library)}, RTLD_LAZY)")


def quoted(text: str) -> str:
    return f'"{text}"'

"""C declarations of a few API functions, small enough to read: what a printed program begins with."""

from __future__ import annotations

import re

from gdbcuda import api
from gdbcuda.api.header import TypeWriter
from gdbcuda.api.table import Table


class FewTypes(TypeWriter):
    """Declares what it is asked for and no more; an enum is an int, for that is what it is to a call."""

    def __init__(self, table: Table) -> None:
        super().__init__(table, {**table.section("types", "cuda"), **table.section("types", "nvml")})

    def write_typedef(self, name: str, spelling: str) -> None:
        if spelling.startswith("enum "):
            self.output.append(f"typedef int {name};")
        else:
            super().write_typedef(name, spelling)

    def write_whole(self, record: api.Type) -> None:
        """A struct with its members, for a variable of it."""
        self.write_names(record.spelling)
        self.write(self.tag_of(record))

    def write_function(self, function: api.Function) -> None:
        for spelling in (function.result.spelling, *(p.type.spelling for p in function.parameters)):
            self.write_names(spelling)


WORD = re.compile(r"\b[A-Za-z_]\w+")


def declarations(table: Table, text: str) -> str:
    """Of all that a C text uses of the API: constants, types, structs with their members, functions."""
    words = dict.fromkeys(WORD.findall(text))
    writer = FewTypes(table)
    functions = [table.functions[word] for word in words if word in table.functions]
    for word in words:
        record = table.struct(word)
        if record is not None and not record.incomplete:
            writer.write_whole(record)
        elif word not in table.functions:
            writer.write_names(word)
    for function in functions:
        writer.write_function(function)
    values = ", ".join(f"{word} = {table.constants[word]}" for word in words if word in table.constants)
    numbers = [f"enum {{ {values} }};"] if values else []
    return "\n".join([*numbers, *writer.output, *(f"{function};" for function in functions)])


ASKED = """

#include <dlfcn.h>

static void *function_by_name(const char *name)
{
    void *library = dlopen(name[0] == 'n' ? "libnvidia-ml.so.1" : "libcuda.so.1", RTLD_LAZY);
    return dlsym(library, name);
}
"""


def by_dlsym(table: Table, text: str) -> str:
    """Puts what dlsym answers in the place of each function's name."""
    used = dict.fromkeys(word for word in WORD.findall(text) if word in table.functions)
    return ASKED + "".join(f'#define {name} (*(__typeof__(&{name}))function_by_name("{name}"))\n' for name in used)

"""The smallest C program that takes from a call the memory that it was given, and makes another one."""

from __future__ import annotations

from collections.abc import Iterator

from gdbcuda.contract.c_programs import c_program
from gdbcuda.contract.c_programs.c_program import ShownCall
from gdbcuda.contract.c_programs.showing_program import HookSurroundings
from gdbcuda.contract.targets import LIBRARY_OF, LINKED

BEGIN = "#include <sys/mman.h>\n#include <unistd.h>\n\nenum { SIZE = 1 << 18 };\n"


def program(call: ShownCall, kept: int, then: ShownCall | None, title: str, around: HookSurroundings) -> str:
    """``kept``: which argument of the call leads to that memory."""
    lines = [c_program.BEGIN, BEGIN, "int main(void)\n{", *(f"    {line}" for line in c_program.ready(call)),
             *block(call, kept), *(block(then) if then else ()), "    usleep(100000);", "    return 0;\n}"]  # fmt: skip
    return c_program.over_standin("\n".join(lines) + "\n", call.function.symbol, title, around)


def block(call: ShownCall, kept: int | None = None) -> Iterator[str]:
    """The call, with what is declared for it alone."""
    yield "    {"
    yield from (f"        {line.rstrip()}" for line in inside(call, kept))
    yield "    }"


def inside(call: ShownCall, kept: int | None) -> Iterator[str]:
    function = call.function
    yield from c_program.declared(call)
    if call.way != LINKED:
        yield f'{function.symbol} = dlsym(dlopen("{LIBRARY_OF[function.api]}", RTLD_LAZY), "{function.symbol}");'
    yield from c_program.pointers(call)
    values = [c_program.argument(call, at) for at in range(len(function.parameters))]
    if kept is not None:
        name = values[kept]
        yield "void *kept = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);"
        yield f"memcpy(kept, {name}, sizeof {name});"
        values[kept] = "kept"
    yield f'setenv("GDBCUDA_STANDIN_ANSWER", {c_program.quoted(call.answers[0])}, 1);'
    yield f"{function.symbol}({', '.join(values)});"
    if kept is not None:
        yield "mprotect(kept, SIZE, PROT_NONE);"

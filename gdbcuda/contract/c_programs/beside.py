"""The smallest C program in which another thread makes a call in the midst of a call."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from gdbcuda.contract.arguments import Arguments
from gdbcuda.contract.c_programs import c_program, stepping
from gdbcuda.contract.c_programs.c_program import ShownCall
from gdbcuda.contract.c_programs.showing_program import HookSurroundings
from gdbcuda.contract.targets import LIBRARY_OF, LINKED

OTHER = "other_"  # before the names of its arguments
THREAD = "%d"  # in what the driver answers to it


def program(call: ShownCall, other: Arguments, answer: str, title: str, around: HookSurroundings) -> str:
    """``other`` are the arguments of the other thread, ``answer`` what the driver says to it and then to the first."""
    source = stepping.text(Path(around.standin).parents[1] / "contract", "between.c")
    lines = [c_program.BEGIN, source, *c_program.declared(call), *of_other(call, other, answer),
             *main(call, other, around)]  # fmt: skip
    return c_program.over_standin("\n".join(lines) + "\n", call.function.symbol, title, around)


def of_other(call: ShownCall, given: Arguments, answer: str) -> Iterator[str]:
    other, name = call._replace(given=given), call.function.symbol
    yield from c_program.memory(other, OTHER)
    yield "static void *context, *library;\n"
    yield "static void first(void)\n{"
    if call.function.api == "driver":
        yield '    ((int (*)())dlsym(library, "cuCtxSetCurrent"))(context);'
    yield f"    static const char told[] = {c_program.quoted(answer)};"
    yield "    static char answer[sizeof told + 16];"
    yield "    snprintf(answer, sizeof answer, told, (int)gettid());"
    yield '    setenv("GDBCUDA_STANDIN_ANSWER", answer, 1);\n}\n'
    yield f"static void other(void)\n{{\n    {name}({values(other, OTHER)});\n}}\n"


def main(call: ShownCall, other: Arguments, around: HookSurroundings) -> Iterator[str]:
    function = call.function
    yield "int main(void)\n{"
    if call.way != LINKED:
        yield f'    {function.symbol} = dlsym(dlopen("{LIBRARY_OF[function.api]}", RTLD_LAZY), "{function.symbol}");'
    yield from (f"    {line.replace(DECLARING, '')}" for line in c_program.ready(call))
    for arguments, prefix in ((call, ""), (call._replace(given=other), OTHER)):
        yield from (f"    {line}" for line in c_program.pointers(arguments, prefix))
    yield f'    if (!between_begin("{around.hook}", first, other))\n        return 1;'
    yield f"    errno = {call.errno};\n    between_step((void *){function.symbol});"
    yield f"    long result = (long){function.symbol}({values(call)});"
    yield '    between_end();\n    printf("result %ld, errno %d\\n", result, errno);'
    for parameter, pointee in zip(function.parameters, call.given.pointees):
        if pointee is not None and pointee.is_known:
            yield f'    show("{parameter.name}", {parameter.name}_, sizeof {parameter.name}_);'
    yield "    return 0;\n}"


DECLARING = "void *context, *"


def values(call: ShownCall, prefix: str = "") -> str:
    return ", ".join(c_program.argument(call, at, prefix) for at in range(len(call.function.parameters)))

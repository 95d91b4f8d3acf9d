"""The smallest C program that makes one call of a case: compiled on its own, run over the stand-in."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from gdbcuda import api
from gdbcuda.contract.arguments import TEXT, TEXT_AT, WORD, Arguments
from gdbcuda.contract.c_programs.showing_program import NEEDED, HookSurroundings, ShowingProgram
from gdbcuda.contract.program import DEVICES, DEVICES_OF_STANDIN, SEEN
from gdbcuda.contract.targets import LIBRARY_OF, LINKED
from gdbcuda.machine import abi

INTEGERS = {1: "char", 2: "short", 4: "int", 8: "long"}
A_LINE = 16  # bytes
BEGIN = """\
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void show(const char *name, const unsigned char *bytes, size_t size)
{
    printf("%s:", name);
    for (size_t i = 0; i < size; i++)
        printf(" %02x", bytes[i]);
    puts("");
}
"""
READY = {  # what a case's program has called before, by API
    "driver": ("cuInit(0)", "cuDevicePrimaryCtxRetain(&context, 0)", "cuCtxSetCurrent(context)"),
    "nvml": ("nvmlInit_v2()",),
    "runtime": (),
}


class ShownCall(NamedTuple):
    """``answers``: what the stand-in is told to answer to the call, and to the one that another thread makes then if
    there are two; ``arena``: where `Arguments` have their memory; ``has_machine``: the program says what the call has
    done to its registers."""

    function: api.Function
    way: str
    given: Arguments
    answers: list[str]
    errno: int
    arena: int
    has_machine: bool = False
    times: int = 1  # that the first call is made
    before: tuple[int, bytes] | None = None  # an argument, and the value that it has in a call before that


def program(call: ShownCall, title: str, around: HookSurroundings) -> str:
    text = "\n".join([BEGIN, *machine(call, around), *declared(call), *main(call)]) + "\n"
    return over_standin(text, call.function.symbol, title, around)


def over_standin(text: str, symbol: str, title: str, around: HookSurroundings, is_bound: bool = False) -> str:
    """The stand-in says on the standard error which calls have reached it, and the bytes of the arguments of one whose
    answer is prescribed. It is linked against the driver, as is the program of the case: RTLD_NEXT finds nothing else.
    """
    seen = [] if around.is_real else [f"{DEVICES_OF_STANDIN}={DEVICES}", f"{SEEN}=/dev/stderr"]
    runtime = [] if around.is_real else [f"-l:{LIBRARY_OF['runtime']}"]
    flags, environment = (*NEEDED, "-w", *runtime), (*around.settings, *seen)
    shown = ShowingProgram(text, symbol, (), environment, (around.hook,), flags, is_bound=is_bound)
    return shown.shown(title, around)


def machine(call: ShownCall, around: HookSurroundings) -> Iterator[str]:
    """What the program of the cases has between the caller and the function."""
    if call.has_machine:
        source = (Path(around.standin).parents[1] / "contract" / "machine.c").read_text()
        yield "#include <signal.h>\n#define answer printf"
        yield "".join(line for line in source.splitlines(keepends=True) if not line.startswith("#include"))
        yield "#undef answer\n"


def declared(call: ShownCall) -> Iterator[str]:
    """The function, and the memory that its pointers lead to."""
    function = call.function
    yield from (by_value(one) for one in function.parameters if one.type.kind in ("struct", "union"))
    yield from memory(call)
    yield f'static char text[] = "{TEXT[:-1].decode()}";'
    types = ", ".join(c_type(parameter) for parameter in function.parameters) or "void"
    result = "void *" if function.result.kind == "pointer" else integer(function.result)
    called = f"{result} (*{function.symbol})({types})" if call.way != LINKED else f"{result} {function.symbol}({types})"
    yield f"{called};\n"


def memory(call: ShownCall, prefix: str = "") -> Iterator[str]:
    """Of its arguments, where that has a name."""
    for parameter, pointee, value in zip(call.function.parameters, call.given.pointees, call.given.values):
        if pointee is not None or parameter.type.kind in ("struct", "union", "float"):
            there = braces(pointee.before if pointee else value)
            yield f"static _Alignas(16) unsigned char {prefix}{parameter.name}_[] = {there};"


def main(call: ShownCall) -> Iterator[str]:
    function = call.function
    if len(call.answers) > 1:
        yield "static void *context, *library;\n"
    if call.before:
        yield f"static unsigned long given = {number(call.before[1])};\n"
    yield from of_call(call)
    yield "int main(void)\n{"
    if call.way != LINKED:
        yield f'    {function.symbol} = dlsym(dlopen("{LIBRARY_OF[function.api]}", RTLD_LAZY), "{function.symbol}");'
    yield from (f"    {line}" for line in ready(call))
    yield from (f"    {line}" for line in pointers(call))
    if call.before:
        yield f"    called({quoted(call.answers[0])});"
        yield f"    given = {number(call.given.values[call.before[0]])};"
    if call.times > 1:
        yield f"    for (int i = 0; i < {call.times}; i++)"
    yield f'    {"    " * (call.times > 1)}called({quoted(call.answers[0])});'
    for answer in call.answers[1:]:
        yield from ("    pthread_t thread;", f"    pthread_create(&thread, NULL, called, {quoted(answer)});",
                    "    pthread_join(thread, NULL);")  # fmt: skip
    yield "    return 0;\n}"


def of_call(call: ShownCall) -> Iterator[str]:
    """The function that makes it, for any thread."""
    function, names = call.function, [f"{one.name}_" for one in call.function.parameters]
    yield "static void *called(void *answer)\n{"
    if len(call.answers) > 1:
        yield '    if (context)\n        ((int (*)())dlsym(library, "cuCtxSetCurrent"))(context);'
    yield '    setenv("GDBCUDA_STANDIN_ANSWER", answer, 1);'
    yield f"    errno = {call.errno};"
    values = ", ".join(argument(call, index) for index in range(len(names)))
    name = function.symbol
    called = f"((__typeof__(&*{name}))machine_checked({name}))" if call.has_machine else name
    yield f"    long result = (long){called}({values});"
    if call.has_machine:
        yield from ('    printf("not as before: ");', "    machine_tell_changes();", '    puts("");')
    yield '    printf("result %ld, errno %d\\n", result, errno);'
    for name, parameter, pointee in zip(names, function.parameters, call.given.pointees):
        if pointee is not None and pointee.is_known:
            yield f'    show("{parameter.name}", {name}, sizeof {name});'
    yield "    return NULL;\n}\n"


def ready(call: ShownCall) -> Iterator[str]:
    """A context, or NVML; found by name, so that nothing has to be declared."""
    lines = READY[call.function.api]
    if lines:
        declared = "" if len(call.answers) > 1 else "void *context, *"
        yield f'{declared}library = dlopen("{LIBRARY_OF[call.function.api]}", RTLD_LAZY);'
    for line in lines:
        name, _, words = line.partition("(")
        yield f'((int (*)())dlsym(library, "{name}"))({words};'


def pointers(call: ShownCall, prefix: str = "") -> Iterator[str]:
    """Inside what is pointed to."""
    to_text = (call.arena + TEXT_AT).to_bytes(WORD, "little")
    for parameter, pointee in zip(call.function.parameters, call.given.pointees):
        for at in range(0, len(pointee.before) if pointee else 0, WORD):
            if pointee is not None and pointee.before[at : at + WORD] == to_text:
                yield f"memcpy({prefix}{parameter.name}_ + {at}, &(char *){{text}}, sizeof(char *));"


def argument(call: ShownCall, index: int, prefix: str = "") -> str:
    parameter, pointee = call.function.parameters[index], call.given.pointees[index]
    if pointee is not None:
        return f"{prefix}{parameter.name}_"
    if parameter.type.kind in ("struct", "union", "float"):
        return f"*({c_type(parameter)} *){prefix}{parameter.name}_"
    if call.before and call.before[0] == index:
        return f"({c_type(parameter)})given"
    return f"({c_type(parameter)}){number(call.given.values[index])}"


def number(value: bytes) -> str:
    return f"{hex(int.from_bytes(value, 'little'))}ul"


def c_type(parameter: api.Parameter) -> str:
    """One that is passed as the API's, spelled without its declarations."""
    kind = parameter.type
    if kind.kind in ("pointer", "array", "function"):
        return "void *"
    if kind.kind == "float":
        return "float" if kind.size == 4 else "double"
    return f"struct {parameter.name}_" if kind.kind in ("struct", "union") else integer(kind)


def integer(kind: api.Type) -> str:
    unsigned = "" if kind.kind in ("int", "enum") else "unsigned "
    return f"{unsigned}{INTEGERS.get(kind.size, 'long')}"


def by_value(parameter: api.Parameter) -> str:
    """A struct of that name which goes through the same registers, or by the stack."""
    shape = abi.shape(parameter.type)
    classes = shape.eightbytes() or []
    members = [f"{'double' if one == 'float' else 'long'} member_{at};" for at, one in enumerate(classes)]
    text = " ".join(members) or f"_Alignas({shape.align}) unsigned char bytes[{shape.size}];"
    return f"struct {parameter.name}_ {{ {text} }};"


def braces(raw: bytes) -> str:
    rows = [", ".join(map(hex, raw[at : at + A_LINE])) for at in range(0, len(raw), A_LINE)]
    return "{" + ",\n    ".join(rows) + "}"


def quoted(text: str) -> str:
    rows = [text[at : at + 100].replace("\n", "\\n") for at in range(0, len(text), 100)]
    return "\n        ".join(f'"{row}"' for row in rows)

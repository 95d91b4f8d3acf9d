"""The exported functions of a stand-in library in C: a wrapper where there is a body, else a stub that says so."""

from __future__ import annotations

from collections.abc import Iterator

from library import STREAM_SUFFIX, TOP, Body, Library

from gdbcuda import api
from gdbcuda.api.functions import declare
from gdbcuda.api.table import STATUS_TYPES

CHECKS = {
    "DRIVER": "need_context()",
    "DRIVER_INIT": "need_init()",
    "RUNTIME": "need_device()",
    "RUNTIME_INIT": "need_driver()",
    "NVML": "need_init()",
}
STREAM = "hStream"
NODE_TYPES = {"copy": "MEMCPY", "set": "MEMSET"}  # by role
CAPTURING = """\
bool is_captured(CUstream stream);
CUresult capture_call(CUstream stream, CUgraphNodeType type, CUresult (*replay)(const void *), const void *kept,
                      size_t size);"""
SUCCESS = {"driver": "CUDA_SUCCESS", "runtime": "cudaSuccess", "nvml": "NVML_SUCCESS"}
UNSUPPORTED = {
    "driver": "CUDA_ERROR_NOT_SUPPORTED",
    "runtime": "cudaErrorNotSupported",
    "nvml": "NVML_ERROR_NOT_SUPPORTED",
}


def prototypes(library: Library) -> Iterator[str]:
    yield TOP
    for function in library.functions:
        if function.symbol in library.bodies:
            yield str(function).replace(f"{function.symbol}(", f"do_{function.symbol}(", 1) + ";"


def wrappers(library: Library) -> Iterator[str]:
    yield TOP + f'#include "standin_{library.name}.h"\n#include "common/standin.h"\n'
    if library.name == "runtime":
        yield "cudaError_t note_error(cudaError_t error);\nbool use_per_thread_stream(bool use);"
    yield "const char *error_name(int code);"
    if library.name == "driver":
        yield CAPTURING
    for check in sorted({check for marker, check in CHECKS.items() if marker.lower().startswith(library.name)}):
        yield f"{STATUS_TYPES[library.name]} {check.replace('()', '(void)')};"
    for function in library.functions:
        body = library.body_of(function)
        yield from replaying(function, body)
        lines = wrapper(library, function, body) if body else stub(library, function)
        lines = (*prescribed(library, function), *lines)
        yield "\n".join([f"EXPORT {function}", "{", *(f"    {line}" for line in lines), "}"])


def prescribed(library: Library, function: api.Function) -> Iterator[str]:
    """The answer of a tool, see common/answering.c; a parameter of an array type is a pointer."""
    if function.result.kind == "void":
        return
    given = [f"{{&{p.name}, {'sizeof(void *)' if p.type.kind == 'array' else f'sizeof {p.name}'}}}"
             for p in function.parameters]  # fmt: skip
    array = f"(const struct given[]){{{', '.join([*given, '{0, 0}'])}}}"
    yield f"{declare(function.result.spelling, 'prescribed')};"
    yield f'if (answering && answered("{function.symbol}", {array}, &prescribed, sizeof prescribed))'
    is_status = function.result.spelling == STATUS_TYPES[library.name]
    is_noted = is_status and notes_error(library, library.body_of(function))
    yield f"    return {'note_error(prescribed)' if is_noted else 'prescribed'};"


def wrapper(library: Library, function: api.Function, body: Body) -> Iterator[str]:
    call = f"do_{body.symbol}({', '.join(p.name for p in function.parameters)})"
    if function.result.spelling != STATUS_TYPES[library.name]:
        yield trace_call(function)
        yield f"{'' if function.result.kind == 'void' else 'return '}{call};"
        return
    check = CHECKS.get(body.marker)
    kept = captured_arguments(function, body) if library.name == "driver" else ""
    per_thread = library.name == "runtime" and STREAM_SUFFIX.search(function.symbol)
    if per_thread:
        yield "bool before = use_per_thread_stream(true);"
    if kept:
        call = f"is_captured({STREAM}) ? {kept} : {call}"
    yield f"{STATUS_TYPES[library.name]} result = {check or call};"
    if check:
        yield f"if (result == {SUCCESS[library.name]})"
        yield f"    result = {call};"
    if per_thread:
        yield "use_per_thread_stream(before);"
    yield trace_call(function, "result")
    yield f'if (answering) linger("{function.symbol}");'
    yield f"return {'note_error(result)' if notes_error(library, body) else 'result'};"


def is_capturable(function: api.Function, body: Body | None) -> bool:
    """Work whose arguments are what they are also later: where it is put into a stream that is captured, it becomes a
    node of a graph. What has structs for arguments does that by hand."""
    stream = [p.name for p in function.parameters if p.type.name == "CUstream"]
    by_value = not any(p.type.target is not None and p.type.target.kind == "struct" and p.name != STREAM
                       and not p.type.opaque for p in function.parameters)  # fmt: skip
    return body is not None and stream == [STREAM] and by_value and function.role in NODE_TYPES


def replaying(function: api.Function, body: Body | None) -> Iterator[str]:
    """The function that makes a captured call when its graph is launched."""
    if body is None or not is_capturable(function, body):
        return
    kept = [p for p in function.parameters if p.name != STREAM]
    members = " ".join(f"{declare(p.type.spelling, p.name)};" for p in kept)
    arguments = ", ".join("NULL" if p.name == STREAM else f"given->{p.name}" for p in function.parameters)
    yield f"struct kept_{function.symbol} {{ {members} }};"
    yield f"static CUresult replay_{function.symbol}(const void *kept)\n{{"
    yield f"    const struct kept_{function.symbol} *given = kept;\n    return do_{body.symbol}({arguments});\n}}"


def captured_arguments(function: api.Function, body: Body) -> str:
    if not is_capturable(function, body):
        return ""
    values = ", ".join(p.name for p in function.parameters if p.name != STREAM)
    kept = f"struct kept_{function.symbol}"
    return (f"capture_call({STREAM}, CU_GRAPH_NODE_TYPE_{NODE_TYPES[function.role]}, replay_{function.symbol}, "
            f"&({kept}){{{values}}}, sizeof({kept}))")  # fmt: skip


def notes_error(library: Library, body: Body | None) -> bool:
    return library.name == "runtime" and (body is None or body.marker != "RUNTIME_ERROR")


def stub(library: Library, function: api.Function) -> Iterator[str]:
    yield from (f"(void){p.name};" for p in function.parameters)
    yield trace_call(function, UNSUPPORTED[library.name])
    error = UNSUPPORTED[library.name]
    yield f"return {f'note_error({error})' if library.name == 'runtime' else error};"


def trace_call(function: api.Function, result: str = "") -> str:
    formats, values = [], []
    for parameter in function.parameters:
        text, value = formatted(parameter)
        formats.append(f"{parameter.name}={text}")
        values += [value] if value else []
    if result:
        values.append(f"error_name({result})")
    shape = f"{function.symbol}({', '.join(formats)}){' = %s' if result else ''}"
    return f"if (tracing) trace({', '.join([chr(34) + shape + chr(34), *values])});"


def formatted(parameter: api.Parameter) -> tuple[str, str]:
    """printf's conversion and its argument; nothing is read through a pointer but strings handed in."""
    name, kind = parameter.name, parameter.type.kind
    if parameter.string and parameter.direction == "in":
        return r"\"%s\"", f'{name} ? {name} : "(null)"'
    if kind in ("pointer", "array", "function"):
        return "%p", f"(const void *){name}"
    if parameter.type.name == "CUdeviceptr":
        return "%#llx", f"(unsigned long long){name}"
    if kind == "float":
        return "%g", f"(double){name}"
    if kind in ("struct", "union"):
        return "{...}", ""
    return ("%llu", f"(unsigned long long){name}") if kind == "uint" else ("%lld", f"(long long){name}")

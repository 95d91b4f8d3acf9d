#!/usr/bin/env python3
"""Writes what is the same for every function of a stand-in library: exported wrappers, stubs, tables.

Usage: python3 generate.py {driver,runtime,nvml} CUDA NVML DIRECTORY SOURCE...

The SOURCEs are the hand-written bodies, found by their markers (common/standin.h). Into DIRECTORY go
    standin_LIBRARY.h           prototypes of the bodies
    standin_LIBRARY.c           every exported function of the table: a wrapper of its body, or a stub
    standin_LIBRARY_tables.h    names of errors; the version map of cuGetProcAddress (driver)
    standin_driver_functions.h  the driver functions that the runtime calls (runtime)
    standin_driver_requests.h   and how it asks for them (runtime)
    runtime.map                 the linker's version script (runtime)
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from gdbcuda import api

MARKER = re.compile(r"^(DRIVER|RUNTIME|NVML|PLAIN)(?:_(INIT|ANY|ERROR))?\((?:[^(),]+, )?(\w+)\)\(", re.MULTILINE)
STREAM_SUFFIX = re.compile(r"_pt[sd][sz]$")
DRIVER_USE = re.compile(r"\bdriver\.(cu\w+)\(")

CHECKS = {
    "DRIVER": "need_context()",
    "DRIVER_INIT": "need_init()",
    "RUNTIME": "need_device()",
    "RUNTIME_INIT": "need_driver()",
    "NVML": "need_init()",
}
STATUS = {"driver": "CUresult", "runtime": "cudaError_t", "nvml": "nvmlReturn_t"}
SUCCESS = {"driver": "CUDA_SUCCESS", "runtime": "cudaSuccess", "nvml": "NVML_SUCCESS"}
UNSUPPORTED = {
    "driver": "CUDA_ERROR_NOT_SUPPORTED",
    "runtime": "cudaErrorNotSupported",
    "nvml": "NVML_ERROR_NOT_SUPPORTED",
}
ERRORS = {"driver": "CUresult", "runtime": "cudaError_t", "nvml": "nvmlReturn_t"}
TOP = '/* Written by generate.py. Do not edit. */\n#include "gdbcuda_api.h"\n#include <stdbool.h>\n'


class Body(NamedTuple):
    """A hand-written function: its symbol, and the marker that it is written with."""

    symbol: str
    marker: str


def find_bodies(sources: Iterable[Path]) -> dict[str, Body]:
    found = {}
    for source in sources:
        for kind, need, symbol in MARKER.findall(source.read_text()):
            found[symbol] = Body(symbol, f"{kind}_{need}" if need else kind)
    return found


def exported(table: api.Table, library: str) -> list[api.Function]:
    functions = [*table.functions.values(), *table.extras.values()]
    return sorted((f for f in functions if f.api == library), key=lambda f: f.symbol)


def signature(function: api.Function) -> tuple[str, ...]:
    return (function.result.spelling, *(p.type.spelling for p in function.parameters))


class Library:
    def __init__(self, name: str, table: api.Table, sources: Iterable[Path]) -> None:
        self.name = name
        self.table = table
        self.sources = list(sources)
        self.bodies = find_bodies(self.sources)
        # what returns no status and has no body could only pretend to have worked: it is not there
        self.functions = [
            f for f in exported(table, name) if f.result.spelling == STATUS[name] or f.symbol in self.bodies
        ]
        self.variants: dict[str, list[api.Function]] = {}
        for function in self.functions:
            self.variants.setdefault(function.base, []).append(function)

    def check(self) -> None:
        """A body of no known function would never be called."""
        known = {f.symbol for v in api.CUDA_VERSIONS for f in exported(api.load(cuda=v), self.name)}
        strangers = sorted(set(self.bodies) - known)
        if strangers:
            sys.exit(f"generate.py: not in the API table: {', '.join(strangers)}")

    def body_of(self, function: api.Function) -> Body | None:
        """Its own body, or that of the same function for another default stream, or of a newer version
        that has the same parameters."""
        for symbol in (function.symbol, STREAM_SUFFIX.sub("", function.symbol)):
            if symbol in self.bodies:
                return self.bodies[symbol]
        for variant in reversed(self.variants[function.base]):
            if variant.symbol in self.bodies and signature(variant) == signature(function):
                return self.bodies[variant.symbol]
        return None

    # -- exported functions --------------------------------------------------------------------------------

    def prototypes(self) -> Iterator[str]:
        yield TOP
        for function in self.functions:
            if function.symbol in self.bodies:
                yield str(function).replace(f"{function.symbol}(", f"do_{function.symbol}(", 1) + ";"

    def wrappers(self) -> Iterator[str]:
        yield TOP + f'#include "standin_{self.name}.h"\n#include "common/standin.h"\n'
        if self.name == "runtime":
            yield "cudaError_t note_error(cudaError_t error);\nbool use_per_thread_stream(bool use);"
        yield "const char *error_name(int code);"
        for check in sorted({check for marker, check in CHECKS.items() if marker.lower().startswith(self.name)}):
            yield f"{STATUS[self.name]} {check.replace('()', '(void)')};"
        for function in self.functions:
            body = self.body_of(function)
            lines = self.wrapper(function, body) if body else self.stub(function)
            yield "\n".join([f"EXPORT {function}", "{", *(f"    {line}" for line in lines), "}"])

    def wrapper(self, function: api.Function, body: Body) -> Iterator[str]:
        call = f"do_{body.symbol}({', '.join(p.name for p in function.parameters)})"
        if function.result.spelling != STATUS[self.name]:
            yield trace_call(function)
            yield f"{'' if function.result.kind == 'void' else 'return '}{call};"
            return
        check = CHECKS.get(body.marker)
        per_thread = self.name == "runtime" and STREAM_SUFFIX.search(function.symbol)
        if per_thread:
            yield "bool before = use_per_thread_stream(true);"
        yield f"{STATUS[self.name]} result = {check or call};"
        if check:
            yield f"if (result == {SUCCESS[self.name]})"
            yield f"    result = {call};"
        if per_thread:
            yield "use_per_thread_stream(before);"
        yield trace_call(function, "result")
        yield f"return {'note_error(result)' if self.notes_error(body) else 'result'};"

    def notes_error(self, body: Body) -> bool:
        return self.name == "runtime" and body.marker != "RUNTIME_ERROR"

    def stub(self, function: api.Function) -> Iterator[str]:
        yield from (f"(void){p.name};" for p in function.parameters)
        yield trace_call(function, UNSUPPORTED[self.name])
        error = UNSUPPORTED[self.name]
        yield f"return {f'note_error({error})' if self.name == 'runtime' else error};"

    # -- tables --------------------------------------------------------------------------------------------

    def tables(self) -> Iterator[str]:
        yield TOP
        yield "static const struct error { int code; const char *name, *text; } errors[] = {"
        for name, code in self.errors().items():
            yield f'    {{{code}, "{name}", "{self.error_text(name, code)}"}},'
        yield "};"
        if self.name == "driver":
            yield from self.proc_versions()

    def errors(self) -> Mapping[str, int]:
        """Without the second names of a code that has several."""
        enum = self.table.enum(ERRORS[self.name])
        assert enum
        return {name: value for name, value in enum.values.items() if enum.name_of(value) == name}

    def error_text(self, name: str, code: int) -> str:
        if code == 0:
            return "no error"
        driver = self.table.error_name("driver", code) if self.name == "runtime" else None
        return words(driver or name)

    def proc_versions(self) -> Iterator[str]:
        yield "static const struct proc_version"
        yield "{ const char *name; unsigned version; bool per_thread; void *address; } proc_versions[] = {"
        for base in sorted({f.base for f in self.functions}):
            for version, stream, symbol in self.table.proc_versions(base):
                per_thread = "true" if stream else "false"
                yield f'    {{"{base}", {version}, {per_thread}, (void *){symbol}}},'
        yield "};"

    # -- the runtime's view of the driver ------------------------------------------------------------------

    def driver_functions(self) -> Iterator[str]:
        """One member for each driver function that the sources call."""
        yield TOP + "struct driver_functions {"
        yield from (f"    __typeof__({symbol}) *{symbol};" for symbol in self.driver_symbols())
        yield "};"

    def driver_requests(self) -> Iterator[str]:
        """In the order of the members. The version is that of the symbol, so that the hook or the driver
        below must answer with exactly this one."""
        yield TOP + "static const struct request"
        yield "{ const char *name; int version, per_thread_version; } requests[] = {"
        yield from (f"    {self.request(symbol)}," for symbol in self.driver_symbols())
        yield "};"

    def driver_symbols(self) -> list[str]:
        return sorted({s for source in self.sources for s in DRIVER_USE.findall(source.read_text())})

    def request(self, symbol: str) -> str:
        base = api.base_name(symbol)
        versions = {v.symbol: v.version for v in self.table.proc_versions(base)}
        per_thread = next((versions[symbol + s] for s in ("_ptsz", "_ptds") if symbol + s in versions), 0)
        return f'{{"{base}", {versions[symbol]}, {per_thread}}}'

    def version_script(self) -> Iterator[str]:
        yield f"libcudart.so.{self.table.cuda.partition('.')[0]} {{"
        yield "global:"
        yield from (f"    {function.symbol};" for function in self.functions)
        yield "local:\n    *;\n};"


def words(error: str) -> str:
    """ "CUDA_ERROR_OUT_OF_MEMORY" -> "out of memory", "cudaErrorNoDevice" -> "no device"."""
    bare = re.sub(r"^(CUDA_ERROR_|NVML_ERROR_|cudaError)", "", error)
    if "_" not in bare and not bare.isupper():
        bare = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", bare)
    return bare.replace("_", " ").lower()


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


def write(path: Path, lines: Iterable[str]) -> None:
    """A file that would not change keeps its date, so that make does not compile all that includes it."""
    text = "\n".join(lines) + "\n"
    if not path.exists() or path.read_text() != text:
        path.write_text(text)


def main() -> None:
    name, cuda, nvml, directory, *sources = sys.argv[1:]
    library = Library(name, api.load(cuda=cuda, nvml=nvml), map(Path, sources))
    out = Path(directory)
    library.check()
    write(out / f"standin_{name}.h", library.prototypes())
    write(out / f"standin_{name}.c", library.wrappers())
    write(out / f"standin_{name}_tables.h", library.tables())
    if name == "runtime":
        write(out / "standin_driver_functions.h", library.driver_functions())
        write(out / "standin_driver_requests.h", library.driver_requests())
        write(out / "runtime.map", library.version_script())


if __name__ == "__main__":
    main()

"""The tables of a stand-in library in C: errors, what cuGetProcAddress answers, what the runtime asks for."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from library import TOP, Library

from gdbcuda import api
from gdbcuda.api.table import STATUS_TYPES

ERROR_OF = """
static const struct error *error_of(int code)
{
    for (unsigned i = 0; i < sizeof errors / sizeof errors[0]; i++)
        if (errors[i].code == code)
            return &errors[i];
    return NULL;
}
"""
DRIVER_USE = re.compile(r"\bdriver\.(cu\w+)\(")


def tables(library: Library) -> Iterator[str]:
    yield TOP
    yield "static const struct error { int code; const char *name, *text; } errors[] = {"
    for name, code in errors(library).items():
        yield f'    {{{code}, "{name}", "{error_text(library, name, code)}"}},'
    yield "};"
    yield ERROR_OF
    if library.name == "driver":
        yield from proc_versions(library)


def errors(library: Library) -> Mapping[str, int]:
    """Without the second names of a code that has several."""
    enum = library.table.enum(STATUS_TYPES[library.name])
    assert enum
    return {name: value for name, value in enum.values.items() if enum.name_of(value) == name}


def error_text(library: Library, name: str, code: int) -> str:
    if code == 0:
        return "no error"
    driver = library.table.error_name("driver", code) if library.name == "runtime" else None
    return words(driver or name)


def proc_versions(library: Library) -> Iterator[str]:
    yield "static const struct proc_version"
    yield "{ const char *name; unsigned version; bool per_thread; void *address; } proc_versions[] = {"
    for base in sorted({f.base for f in library.functions}):
        for version, stream, symbol in library.table.proc_versions(base):
            per_thread = "true" if stream else "false"
            yield f'    {{"{base}", {version}, {per_thread}, (void *){symbol}}},'
    yield "};"


# -- the runtime's view of the driver ------------------------------------------------------------------


def driver_functions(library: Library) -> Iterator[str]:
    """One member for each driver function that the sources call."""
    yield TOP + "struct driver_functions {"
    yield from (f"    __typeof__({symbol}) *{symbol};" for symbol in driver_symbols(library))
    yield "};"


def driver_requests(library: Library) -> Iterator[str]:
    """In the order of the members. The version is that of the symbol, so that the hook or the driver
    below must answer with exactly this one."""
    yield TOP + "static const struct request"
    yield "{ const char *name; int version, per_thread_version; } requests[] = {"
    yield from (f"    {request(library, symbol)}," for symbol in driver_symbols(library))
    yield "};"


def driver_symbols(library: Library) -> list[str]:
    return sorted({s for source in library.sources for s in DRIVER_USE.findall(source.read_text())})


def request(library: Library, symbol: str) -> str:
    base = api.base_name(symbol)
    versions = {v.symbol: v.version for v in library.table.proc_versions(base)}
    per_thread = next((versions[symbol + s] for s in ("_ptsz", "_ptds") if symbol + s in versions), 0)
    return f'{{"{base}", {versions[symbol]}, {per_thread}}}'


def version_script(library: Library) -> Iterator[str]:
    yield f"libcudart.so.{library.table.cuda.partition('.')[0]} {{"
    yield "global:"
    yield from (f"    {function.symbol};" for function in library.functions)
    yield "local:\n    *;\n};"


def words(error: str) -> str:
    """ "CUDA_ERROR_OUT_OF_MEMORY" -> "out of memory", "cudaErrorNoDevice" -> "no device"."""
    bare = re.sub(r"^(CUDA_ERROR_|NVML_ERROR_|cudaError)", "", error)
    if "_" not in bare and not bare.isupper():
        bare = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", bare)
    return bare.replace("_", " ").lower()

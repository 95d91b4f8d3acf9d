"""What the vendor's headers declare, read through libclang: facts as plain dictionaries of strings.

Development time only; `generate_api.py` is what a person runs. The text forms are described in
gdbcuda/api/table.py, which reads them back.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from clang.cindex import Cursor, CursorKind, Index, SourceLocation, TranslationUnit, Type, TypeKind
from read_types import TAGGED, Entries, TypeReader

# What the interop headers need of OpenGL, EGL and VDPAU; the real headers are not on every machine.
STUBS = {
    "GL/gl.h": "typedef unsigned int GLuint; typedef unsigned int GLenum; typedef int GLint;\n",
    "EGL/egl.h": "typedef int EGLint; typedef void *EGLImageKHR; typedef void *EGLStreamKHR;"
    " typedef void *EGLSyncKHR;\n",
    "EGL/eglext.h": "",
    # the interop headers ask for the C++ one, and use nothing of it
    "cuda_runtime.h": "#include <cuda_runtime_api.h>\n",
    "vdpau/vdpau.h": "typedef unsigned int VdpDevice; typedef unsigned int VdpFuncId;"
    " typedef unsigned int VdpVideoSurface; typedef unsigned int VdpOutputSurface;"
    " typedef int VdpStatus;\n"
    "typedef VdpStatus VdpGetProcAddress(VdpDevice device, VdpFuncId function_id,"
    " void **function_pointer);\n",
}
API_NAME = re.compile(r"(cu|cuda|nvml|__cuda)[A-Z]\w*(?<!_helper)(?<!__NV_MODULE_ID)$")
# the map of cuGetProcAddress is in the names of these typedefs
PROC_TYPE = re.compile(r"PFN_(\w+?)_v(\d+)(?:_(ptsz|ptds))?$")
MACRO_NAME = re.compile(r"(CU|CUDA|CUDART|NVML|cuda|cu|nvml)[A-Z_]\w*$")


def clang_include() -> str:
    """libclang from PyPI brings no stddef.h of its own; gcc's serves."""
    return subprocess.run(
        ["gcc", "-print-file-name=include"], check=True, capture_output=True, text=True
    ).stdout.strip()


class Headers:
    """One translation unit over the given headers, all of whose top-level declarations are facts to keep."""

    def __init__(
        self,
        includes: Sequence[Path],
        headers: Iterable[str],
        defines: Sequence[str],
        *,
        device_code: bool = False,
    ) -> None:
        self.includes = [str(path.resolve()) for path in includes]
        self.source = "".join(f"#include <{name}>\n" for name in headers)
        self.options = [
            *(["-x", "c++"] if device_code else ["-x", "c", "-std=c11"]),
            "--target=x86_64-linux-gnu", "-isystem", clang_include(), "-Wno-everything", "-ferror-limit=0",
            *(f"-I{path}" for path in self.includes), *(f"-D{name}" for name in defines),
        ]  # fmt: skip
        # a host compiler cannot make sense of everything in device code, but of the declarations it can
        self.unit = self.parse(self.source, strict=not device_code)

    def parse(self, source: str, *, strict: bool = True) -> TranslationUnit:
        options = TranslationUnit.PARSE_DETAILED_PROCESSING_RECORD | TranslationUnit.PARSE_SKIP_FUNCTION_BODIES
        unit = Index.create().parse("api.c", self.options, [("api.c", source)], options)
        errors = [str(d) for d in unit.diagnostics if d.severity >= d.Error]
        if strict and errors:
            raise SystemExit("\n".join(errors[:10]))
        return unit

    def is_vendors(self, cursor: Cursor) -> bool:
        file = cursor.location.file
        return file is not None and any(str(Path(file.name).resolve()).startswith(path) for path in self.includes)

    def declarations(self, *kinds: CursorKind) -> Iterator[Cursor]:
        def walk(parent: Cursor) -> Iterator[Cursor]:
            for cursor in parent.get_children():
                if cursor.kind in (CursorKind.LINKAGE_SPEC, CursorKind.UNEXPOSED_DECL):
                    yield from walk(cursor)
                elif cursor.kind in kinds and self.is_vendors(cursor):
                    yield cursor

        return walk(self.unit.cursor)

    # -- functions -----------------------------------------------------------------------------------------

    def functions(self, *files: str) -> Entries:
        """{ELF symbol: "RESULT;NAME TYPE;NAME TYPE"} of what the named headers declare."""
        reader = TypeReader()
        found: Entries = {}
        for cursor in self.declarations(CursorKind.FUNCTION_DECL):
            if is_exported(cursor) and Path(cursor.location.file.name).name in files:
                parameters = [
                    f"{parameter.spelling or f'unnamed{index}'} {reader.spell_parameter(parameter.type)}"
                    for index, parameter in enumerate(cursor.get_arguments())
                ]
                found[cursor.spelling] = ";".join([reader.spell(cursor.result_type), *parameters])
        return with_public_names(found)

    def proc_types(self) -> dict[tuple[str, str], dict[int, str]]:
        """{(name, stream kind): {version: canonical C type}} of the PFN_ typedefs."""
        found: dict[tuple[str, str], dict[int, str]] = {}
        for cursor in self.declarations(CursorKind.TYPEDEF_DECL):
            match = PROC_TYPE.match(cursor.spelling)
            if match:
                name, version, stream = match.groups()
                canonical = cursor.underlying_typedef_type.get_canonical().get_pointee()
                found.setdefault((name, stream or ""), {})[int(version)] = canonical.spelling
        return found

    def canonical_functions(self) -> Entries:
        return {
            cursor.spelling: cursor.type.get_canonical().spelling
            for cursor in self.declarations(CursorKind.FUNCTION_DECL)
        }

    def aliases(self) -> Entries:
        """{name in source code: ELF symbol it becomes} of the macros that pick the newest version."""
        symbols = set(re.findall(r"\w+", " ".join(self.canonical_functions())))
        found: Entries = {}
        for cursor in self.unit.cursor.get_children():
            if cursor.kind == CursorKind.MACRO_DEFINITION and self.is_vendors(cursor):
                name, *body = [token.spelling for token in cursor.get_tokens()]
                if len(body) == 4 and body[0].startswith("__CUDA_API_PT"):
                    body = body[2:3]  # the default stream is the legacy one unless the program asks otherwise
                if len(body) == 1 and API_NAME.match(name) and body[0] in symbols - {name}:
                    found[name] = body[0]
        return found

    # -- types ---------------------------------------------------------------------------------------------

    def types(self) -> Entries:
        """{"struct TAG" | "union TAG" | "enum TAG" | TYPEDEF: what it is}, nested records included."""
        reader = TypeReader()
        for cursor in self.declarations(*TAGGED, CursorKind.TYPEDEF_DECL):
            reader.add(cursor)
        return reader.found

    # -- constants -----------------------------------------------------------------------------------------

    def macros(self) -> list[str]:
        names = {
            cursor.spelling
            for cursor in self.unit.cursor.get_children()
            if cursor.kind == CursorKind.MACRO_DEFINITION
            and self.is_vendors(cursor)
            and MACRO_NAME.match(cursor.spelling)
            and len(list(cursor.get_tokens())) > 1
        }
        return sorted(names)

    def constants(self) -> Entries:
        """{macro: value} of the macros that are integers, "TYPE value" of those that are special handles."""
        names = self.macros()
        probes = "".join(f"enum {{ probe_{name} =\n (unsigned long long)({name}) }};\n" for name in names)
        probes += "".join(f"__typeof__({name}) *type_{name};\n" for name in names)
        unit = self.parse(self.source + probes, strict=False)
        first = self.source.count("\n") + 1
        bad = {d.location.line for d in unit.diagnostics if d.severity >= d.Error and is_probe(d.location)}
        good = {name for i, name in enumerate(names) if not bad & {first + 2 * i, first + 2 * i + 1}}
        values, types = {}, {}
        for cursor in unit.cursor.get_children():
            if cursor.kind == CursorKind.ENUM_DECL:
                for value in cursor.get_children():
                    if value.spelling.startswith("probe_"):
                        values[value.spelling[6:]] = value.enum_value
            elif cursor.kind == CursorKind.VAR_DECL and cursor.spelling.startswith("type_"):
                types[cursor.spelling[5:]] = cursor.type.get_pointee()
        return {name: constant(values[name], types[name]) for name in sorted(good & set(types))}


def is_exported(cursor: Cursor) -> bool:
    inline = cursor.storage_class.name == "STATIC" or cursor.is_definition()
    return not inline and API_NAME.match(cursor.spelling) is not None


def is_probe(location: SourceLocation) -> bool:
    return location.file is not None and location.file.name == "api.c"


def constant(value: int, ctype: Type) -> str:
    canonical = ctype.get_canonical()
    if canonical.kind == TypeKind.POINTER:
        return f"{value & (1 << 64) - 1} {TypeReader().spell(canonical)}"
    bits = 8 * canonical.get_size()
    value &= (1 << bits) - 1
    signed = canonical.kind in (TypeKind.INT, TypeKind.LONG, TypeKind.LONGLONG)
    return str(value - (1 << bits) if signed and value >> (bits - 1) else value)


def with_public_names(functions: Entries) -> Entries:
    """The public declaration has become the per-thread symbol's here; the other one's, in the part of the header that
    nobody reads, has other parameter names now and then."""
    found = dict(functions)
    for symbol, prototype in functions.items():
        base = re.sub("_pt[sd][zs]$", "", symbol)
        if base != symbol and only_types(functions.get(base, "")) == only_types(prototype):
            found[base] = prototype
    return found


def only_types(prototype: str) -> list[str]:
    """Of "RESULT;NAME TYPE;NAME TYPE"."""
    result, *parameters = prototype.split(";")
    return [result, *(parameter.partition(" ")[2] for parameter in parameters)]

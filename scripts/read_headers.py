"""What the vendor's headers declare, read through libclang: facts as plain dictionaries of strings.

Development time only; `generate_api.py` is what a person runs. The text forms are described in
gdbcuda/api/table.py, which reads them back.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from clang.cindex import Cursor, CursorKind, Index, SourceLocation, TranslationUnit, Type, TypeKind, conf

Entries = dict[str, str]

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
MACRO_NAME = re.compile(r"(CU|CUDA|CUDART|NVML|cuda|cu|nvml)[A-Z_]\w*$")
PROC_TYPE = re.compile(r"PFN_(\w+?)_v(\d+)(?:_(ptsz|ptds))?$")


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
        options = (
            TranslationUnit.PARSE_DETAILED_PROCESSING_RECORD | TranslationUnit.PARSE_SKIP_FUNCTION_BODIES
        )
        unit = Index.create().parse("api.c", self.options, [("api.c", source)], options)
        errors = [str(d) for d in unit.diagnostics if d.severity >= d.Error]
        if strict and errors:
            raise SystemExit("\n".join(errors[:10]))
        return unit

    def is_vendors(self, cursor: Cursor) -> bool:
        file = cursor.location.file
        return file is not None and any(
            str(Path(file.name).resolve()).startswith(path) for path in self.includes
        )

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
        """{ELF symbol: "RESULT;NAME TYPE;NAME TYPE"} of what the named headers declare, or all of them."""
        found: Entries = {}
        for cursor in self.declarations(CursorKind.FUNCTION_DECL):
            name = cursor.spelling
            external = cursor.storage_class.name != "STATIC" and not cursor.is_definition()
            if (
                external
                and API_NAME.match(name)
                and (not files or Path(cursor.location.file.name).name in files)
            ):
                parts = [spell(cursor.result_type)]
                parts += [
                    f"{a.spelling or f'unnamed{i}'} {spell(a.type)}"
                    for i, a in enumerate(cursor.get_arguments())
                ]
                found[name] = ";".join(parts)
        return found

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
        found: Entries = {}
        for cursor in self.declarations(
            CursorKind.STRUCT_DECL, CursorKind.UNION_DECL, CursorKind.ENUM_DECL, CursorKind.TYPEDEF_DECL
        ):
            if cursor.kind == CursorKind.TYPEDEF_DECL:
                add_typedef(found, cursor)
            elif cursor.kind == CursorKind.ENUM_DECL:
                add_enum(found, cursor)
            elif not is_unnamed(cursor):
                add_record(found, cursor.type, tag_of(cursor.type))
        return found

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


def is_probe(location: SourceLocation) -> bool:
    return location.file is not None and location.file.name == "api.c"


def constant(value: int, ctype: Type) -> str:
    canonical = ctype.get_canonical()
    if canonical.kind == TypeKind.POINTER:
        return f"{value & (1 << 64) - 1} {spell(canonical)}"
    bits = 8 * canonical.get_size()
    value &= (1 << bits) - 1
    signed = canonical.kind in (TypeKind.INT, TypeKind.LONG, TypeKind.LONGLONG)
    return str(value - (1 << bits) if signed and value >> (bits - 1) else value)


def is_unnamed(cursor: Cursor) -> bool:
    return not cursor.spelling or "(unnamed" in cursor.spelling or "(anonymous" in cursor.spelling


# Records without a tag: the typedef or the member that holds them names them.
_given_names: dict[str, str] = {}


def tag_of(ctype: Type) -> str:
    cursor = ctype.get_declaration()
    keyword = {"STRUCT_DECL": "struct", "UNION_DECL": "union", "ENUM_DECL": "enum"}[cursor.kind.name]
    name = _given_names.get(cursor.get_usr()) or cursor.spelling
    return f"{keyword} {name}"


def spell(ctype: Type) -> str:
    """The C spelling, a function pointer as "R (*)(A, B)", an unnamed record by the name given to it."""
    const = "const " if ctype.is_const_qualified() else ""
    if ctype.kind == TypeKind.POINTER:
        target = ctype.get_pointee()
        if target.get_canonical().kind == TypeKind.FUNCTIONPROTO and target.kind != TypeKind.TYPEDEF:
            return f"{spell(target.get_result())} (*)({arguments(target)})"
        spelled = spell(target)
        return f"{spelled}{'' if spelled.endswith('*') else ' '}*{const.strip()}"
    if ctype.kind in (TypeKind.INCOMPLETEARRAY, TypeKind.VARIABLEARRAY):
        return spell(ctype.get_array_element_type()) + " *"
    if ctype.kind == TypeKind.CONSTANTARRAY:
        base, dims = spell(ctype.get_array_element_type()), f"[{ctype.get_array_size()}]"
        head, bracket, rest = base.partition("[")
        return head + dims + bracket + rest
    if ctype.kind == TypeKind.ELABORATED:
        ctype = ctype.get_named_type()
    if ctype.kind in (TypeKind.RECORD, TypeKind.ENUM):
        return const + tag_of(ctype)
    return const + ctype.spelling.replace("const ", "")


def arguments(function: Type) -> str:
    # Type.argument_types refuses a function type in parentheses, and the canonical one has lost its typedefs
    count = conf.lib.clang_getNumArgTypes(function)
    return ", ".join(spell(conf.lib.clang_getArgType(function, i)) for i in range(count)) or "void"


def add_typedef(found: Entries, cursor: Cursor) -> None:
    name, target = cursor.spelling, cursor.underlying_typedef_type
    declaration = target.get_declaration()
    if PROC_TYPE.match(name) or name.startswith("PFN_"):
        return
    if (
        is_unnamed(declaration)
        and declaration.kind.name.endswith("_DECL")
        and declaration.kind.name != "NO_DECL_FOUND"
    ) or (declaration.spelling == name and target.kind == TypeKind.ELABORATED):
        _given_names[declaration.get_usr()] = name
    found[name] = f"typedef {spell(target)}"
    canonical = target.get_canonical()
    if canonical.kind == TypeKind.FUNCTIONPROTO:
        found[name] = f"typedef {spell(target.get_result())} ({arguments(target)})"
    elif target.kind == TypeKind.ELABORATED and declaration.kind == CursorKind.ENUM_DECL:
        add_enum(found, declaration)
    elif target.kind == TypeKind.ELABORATED and declaration.kind in (
        CursorKind.STRUCT_DECL,
        CursorKind.UNION_DECL,
    ):
        add_record(found, declaration.type, tag_of(declaration.type))


def add_enum(found: Entries, cursor: Cursor) -> None:
    if is_unnamed(cursor) and cursor.get_usr() not in _given_names:
        return
    values = [
        f"{c.spelling} {c.enum_value}"
        for c in cursor.get_children()
        if c.kind == CursorKind.ENUM_CONSTANT_DECL
    ]
    found[tag_of(cursor.type)] = ";".join([spell(cursor.enum_type), *values])


def add_record(found: Entries, ctype: Type, tag: str) -> None:
    """ "SIZE ALIGN;OFFSET NAME TYPE;OFFSET.BIT.WIDTH NAME TYPE", or "" for an opaque one."""
    if ctype.get_size() < 0:
        found.setdefault(tag, "")
        return
    parts = [f"{ctype.get_size()} {ctype.get_align()}"]
    for index, field in enumerate(ctype.get_fields()):
        anonymous = is_unnamed(field)
        record = innermost(field.type)
        declaration = record.get_declaration()
        if (
            record.get_canonical().kind == TypeKind.RECORD
            and declaration.lexical_parent == ctype.get_declaration()
        ):
            if is_unnamed(declaration):
                place_name = f"{tag.partition(' ')[2]}.{index if anonymous else field.spelling}"
                _given_names.setdefault(declaration.get_usr(), place_name)
            add_record(found, declaration.type, tag_of(declaration.type))
        parts.append(f"{place(field)} {'' if anonymous else field.spelling} {spell(field.type)}")
    found[tag] = ";".join(parts)


def innermost(ctype: Type) -> Type:
    while ctype.kind == TypeKind.CONSTANTARRAY:
        ctype = ctype.get_array_element_type()
    return ctype


def place(field: Cursor) -> str:
    """Byte offset; a bit field's is that of the unit of its declared type that holds it."""
    offset = field.get_field_offsetof()
    if not field.is_bitfield():
        return str(offset // 8)
    unit = 8 * field.type.get_size()
    return f"{offset // unit * unit // 8}.{offset % unit}.{field.get_bitfield_width()}"

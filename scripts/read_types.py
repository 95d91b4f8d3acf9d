"""The C types that headers declare, as the strings of the table's "types" section.

Development time only. The forms are described in gdbcuda/api/table.py.
"""

from __future__ import annotations

from clang.cindex import Cursor, CursorKind, Type, TypeKind, conf

Entries = dict[str, str]


TAGGED = {CursorKind.STRUCT_DECL: "struct", CursorKind.UNION_DECL: "union", CursorKind.ENUM_DECL: "enum"}


class TypeReader:
    """Gathers types into `found`. A record without a tag is called after the typedef or the member that
    holds it; `names` remembers that by clang's identifier."""

    def __init__(self) -> None:
        self.found: Entries = {}
        self.names: dict[str, str] = {}

    def add(self, cursor: Cursor) -> None:
        """One top-level declaration, with what is nested in it."""
        if cursor.kind == CursorKind.TYPEDEF_DECL:
            self.add_typedef(cursor)
        elif not is_unnamed(cursor):
            self.add_tagged(cursor)

    def add_tagged(self, cursor: Cursor) -> None:
        if cursor.kind == CursorKind.ENUM_DECL:
            self.add_enum(cursor)
        else:
            self.add_record(cursor.type)

    def add_typedef(self, cursor: Cursor) -> None:
        name, target = cursor.spelling, cursor.underlying_typedef_type
        if name.startswith("PFN_"):
            return
        declaration = target.get_declaration()
        if target.kind == TypeKind.ELABORATED and declaration.kind in TAGGED:
            if is_unnamed(declaration) or declaration.spelling == name:
                self.names[declaration.get_usr()] = name
            self.add_tagged(declaration)
        self.found[name] = f"typedef {self.spell(target)}"

    def add_enum(self, cursor: Cursor) -> None:
        constants = [c for c in cursor.get_children() if c.kind == CursorKind.ENUM_CONSTANT_DECL]
        values = [f"{constant.spelling} {constant.enum_value}" for constant in constants]
        self.found[self.tag_of(cursor)] = ";".join([self.spell(cursor.enum_type), *values])

    def add_record(self, ctype: Type) -> None:
        """Writes "SIZE ALIGN;OFFSET NAME TYPE;OFFSET.BIT.WIDTH NAME TYPE", or "" for an opaque one."""
        tag = self.tag_of(ctype.get_declaration())
        if ctype.get_size() < 0:
            self.found.setdefault(tag, "")
            return
        members = [self.member(ctype, index, field) for index, field in enumerate(ctype.get_fields())]
        self.found[tag] = ";".join([f"{ctype.get_size()} {ctype.get_align()}", *members])

    def member(self, holder: Type, index: int, field: Cursor) -> str:
        name = "" if is_unnamed(field) else field.spelling
        declaration = innermost(field.type).get_declaration()
        if declaration.kind in TAGGED and declaration.lexical_parent == holder.get_declaration():
            if is_unnamed(declaration):
                holder_name = self.tag_of(holder.get_declaration()).partition(" ")[2]
                self.names[declaration.get_usr()] = f"{holder_name}.{name or index}"
            self.add_tagged(declaration)
        return f"{place(field)} {name} {self.spell(field.type)}"

    def tag_of(self, declaration: Cursor) -> str:
        name = self.names.get(declaration.get_usr()) or declaration.spelling
        return f"{TAGGED[declaration.kind]} {name}"

    def spell(self, ctype: Type) -> str:
        """The C spelling, a function pointer as "R (*)(A, B)", an unnamed record by the name given to it."""
        const = "const " if ctype.is_const_qualified() else ""
        if ctype.kind == TypeKind.POINTER:
            return self.spell_pointer(ctype.get_pointee()) + const.strip()
        if ctype.kind in (TypeKind.INCOMPLETEARRAY, TypeKind.VARIABLEARRAY):
            return self.spell_pointer(ctype.get_array_element_type())
        if ctype.kind == TypeKind.CONSTANTARRAY:
            head, bracket, rest = self.spell(ctype.get_array_element_type()).partition("[")
            return f"{head}[{ctype.get_array_size()}]{bracket}{rest}"
        if ctype.kind == TypeKind.ELABORATED:
            ctype = ctype.get_named_type()
        if ctype.kind in (TypeKind.RECORD, TypeKind.ENUM):
            return const + self.tag_of(ctype.get_declaration())
        if ctype.kind == TypeKind.FUNCTIONPROTO:
            return f"{self.spell(ctype.get_result())} ({self.spell_arguments(ctype)})"
        return const + str(ctype.spelling).replace("const ", "")

    def spell_parameter(self, ctype: Type) -> str:
        """As the function sees it: arrays are pointers."""
        is_array = ctype.get_canonical().kind == TypeKind.CONSTANTARRAY
        return self.spell_pointer(ctype.get_array_element_type()) if is_array else self.spell(ctype)

    def spell_pointer(self, target: Type) -> str:
        if target.get_canonical().kind == TypeKind.FUNCTIONPROTO and target.kind != TypeKind.TYPEDEF:
            return f"{self.spell(target.get_result())} (*)({self.spell_arguments(target)})"
        spelling = self.spell(target)
        return spelling + ("*" if spelling.endswith("*") else " *")

    def spell_arguments(self, function: Type) -> str:
        # Type.argument_types refuses a function type in parentheses; the canonical one has lost its typedefs
        count = conf.lib.clang_getNumArgTypes(function)
        return ", ".join(self.spell(conf.lib.clang_getArgType(function, i)) for i in range(count)) or "void"


def is_unnamed(cursor: Cursor) -> bool:
    return not cursor.spelling or "(unnamed" in cursor.spelling or "(anonymous" in cursor.spelling


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

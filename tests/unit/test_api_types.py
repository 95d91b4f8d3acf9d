"""C spellings to types: sizes, fields, enums."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from gdbcuda import api
from gdbcuda.api.spelling import Types
from gdbcuda.errors import UserError

TABLES = [api.load("11.8", "12.9"), api.load("12.9", "12.9"), api.load("13.0", "13.5")]


@pytest.mark.parametrize(
    ("spelling", "kind", "size"),
    [
        ("CUdeviceptr", "uint", 8),
        ("CUdevice", "int", 4),
        ("size_t", "uint", 8),
        ("float", "float", 4),
        ("char", "char", 1),
        ("void", "void", 0),
        ("unsigned long long", "uint", 8),
        ("cudaError_t", "enum", 4),
        ("enum cudaMemcpyKind", "enum", 4),
        ("CUstream", "pointer", 8),
        ("dim3", "struct", 12),
        ("CUmemLocation", "struct", 8),
        ("struct cudaExtent", "struct", 24),
        ("cudaPitchedPtr", "struct", 32),
        ("CUipcMemHandle", "struct", 64),
        ("cudaIpcMemHandle_t", "struct", 64),
        ("struct cudaChannelFormatDesc", "struct", 20),
        ("union CUlaunchAttributeValue_union", "union", 64),
        ("CUhostFn", "pointer", 8),
        ("char[256]", "array", 256),
        ("unsigned int[4][2]", "array", 32),
        ("void **", "pointer", 8),
        ("nvmlMemory_t", "struct", 24),
    ],
)
def test_kind_and_size(spelling: str, kind: str, size: int) -> None:
    ctype = api.load().type(spelling)
    assert (ctype.kind, ctype.size) == (kind, size)


def test_a_spelling_is_read_however_it_is_spaced() -> None:
    table = api.load()
    pointer = table.type("const CUdeviceptr *")
    assert pointer.kind == "pointer" and not pointer.const
    assert pointer.name == "const CUdeviceptr *"
    assert pointer.target is not None
    assert (pointer.target.name, pointer.target.const) == ("CUdeviceptr", True)
    for spelling in ("const CUdeviceptr*", " const  CUdeviceptr  * ", "CUdeviceptr const *"):
        assert table.type(spelling) is pointer
    assert table.type("void*const*") is table.type("void *const *")


def test_the_name_is_the_apis_and_the_tag_is_optional() -> None:
    table = api.load()
    assert table.type("struct cudaDeviceProp").name == "cudaDeviceProp"
    assert table.type("cudaDeviceProp").fields == table.type("struct cudaDeviceProp").fields
    assert table.type("CUdeviceptr").name == "CUdeviceptr"
    assert table.type("struct cudaDeviceProp *").name == "cudaDeviceProp *"


def test_arrays_count_from_the_outside() -> None:
    outer = api.load().type("unsigned int[4][2]")
    assert outer.count == 4
    assert outer.target is not None
    assert (outer.target.count, outer.target.name) == (2, "unsigned int[2]")


def test_opaque_handles() -> None:
    stream = api.load().type("CUstream")
    assert stream.opaque
    assert stream.target is not None
    assert (stream.target.kind, stream.target.size, stream.target.fields) == ("struct", 0, ())
    assert stream.target.incomplete
    assert not api.load().type("dim3 *").opaque


def test_functions_behind_pointers() -> None:
    callback = api.load().type("CUstreamCallback")
    assert callback.target is not None
    assert callback.target.kind == "function"
    assert callback.target.parameters == ("CUstream", "CUresult", "void *")
    assert api.load().type("void (*)(void *)").kind == "pointer"


def test_fields_of_a_struct() -> None:
    fields = {field.name: field for field in api.load().type("cudaPointerAttributes").fields}
    assert [(name, field.offset) for name, field in fields.items()] == [
        ("type", 0), ("device", 4), ("devicePointer", 8), ("hostPointer", 16), ("reserved", 24),
    ]  # fmt: skip
    assert fields["type"].type.enum is not None
    assert fields["type"].type.enum.name_of(2) == "cudaMemoryTypeDevice"


def test_unions_and_members_without_a_name() -> None:
    node = api.load().type("CUgraphNodeParams")
    anonymous = node.fields[2]
    assert (anonymous.name, anonymous.type.kind, anonymous.offset) == ("", "union", 16)
    assert "kernel" in [field.name for field in anonymous.type.fields]
    resource = api.load().type("CUDA_RESOURCE_DESC").fields[1].type
    assert {field.offset for field in resource.fields} == {0}


def test_bit_fields() -> None:
    types = Types({"struct bits": "8 4;0.0.3 low unsigned int;0.3.5 mid unsigned int;4.1.2 high unsigned int"})
    low, mid, high = types["struct bits"].fields
    assert (low.offset, low.bit_offset, low.bit_width) == (0, 0, 3)
    assert (mid.offset, mid.bit_offset, mid.bit_width) == (0, 3, 5)
    assert (high.offset, high.bit_offset, high.bit_width) == (4, 1, 2)


@pytest.mark.parametrize("spelling", ["CUnothing", "struct CUnothing *", "int[x]", "", "*", "int (", "[3]", "const"])
def test_what_is_no_type_is_a_users_mistake(spelling: str) -> None:
    with pytest.raises(UserError, match="is no type of the CUDA or NVML API"):
        api.load().type(spelling)


def test_enum_values_and_flags() -> None:
    table = api.load()
    kind = table.enum("cudaMemcpyKind")
    assert kind is not None and kind.name_of(2) == "cudaMemcpyDeviceToHost" and kind.name_of(77) is None
    flags = table.enum("CUstream_flags")
    assert flags is not None and flags.names_of_flags(1) == ["CU_STREAM_NON_BLOCKING"]
    register = table.flags("CU_MEMHOSTREGISTER_")
    assert register is not None
    assert register.names_of_flags(3) == ["CU_MEMHOSTREGISTER_PORTABLE", "CU_MEMHOSTREGISTER_DEVICEMAP"]
    assert register.names_of_flags(0) == []
    assert register.names_of_flags(0x100) is None
    assert flags.names_of_flags(0) == ["CU_STREAM_DEFAULT"]
    assert table.enum("CUdeviceptr") is None and table.enum("nothing") is None


def test_negative_enum_constants_read_either_way() -> None:
    enum = api.load().enum("CUmemLocationType")
    assert enum is not None
    for values in [enum.values]:
        for name, value in values.items():
            assert enum.name_of(value & 0xFFFFFFFF) in {n for n, v in values.items() if v == values[name]}


@pytest.mark.parametrize("table", TABLES, ids=lambda table: str(table.cuda))
def test_every_type_resolves_and_every_field_fits(table: api.Table) -> None:
    for spelling in table.types.texts:
        ctype = table.type(spelling)
        assert ctype.size > 0 or ctype.incomplete or ctype.kind in ("void", "function"), spelling
        for field in ctype.fields:
            assert field.offset % field.type.align == 0, (spelling, field)
            assert field.offset + field.type.size <= ctype.size, (spelling, field)


def test_reading_a_header(tmp_path: Path) -> None:
    """What the vendor's headers do not have today, the generator still understands."""
    pytest.importorskip("clang.cindex", reason="libclang is for regenerating the table only")
    sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "scripts"))
    from read_headers import Headers

    (tmp_path / "x.h").write_text(
        "typedef struct { unsigned a : 3; unsigned b : 30; union { int i; float f; };"
        " struct in { char c; } in; } x_t;\n"
        "typedef void (*hook)(x_t *x, const char *name);\n"
        '#define CU_ANSWER (40 + 2)\n#define CU_SELF ((x_t *)7)\n#define CU_TEXT "text"\n'
        "int cuOne(hook h, x_t *const *p, int a[3]);\n"
    )
    headers = Headers([tmp_path], ["x.h"], [])
    assert headers.types() == {
        "x_t": "typedef struct x_t",
        "struct x_t": "16 4;0.0.3 a unsigned int;4.0.30 b unsigned int;8  union x_t.2;12 in struct in",
        "union x_t.2": "4 4;0 i int;0 f float",
        "struct in": "1 1;0 c char",
        "hook": "typedef void (*)(x_t *, const char *)",
    }
    assert headers.constants() == {"CU_ANSWER": "42", "CU_SELF": "7 struct x_t *"}
    assert headers.functions("x.h") == {"cuOne": "int;h hook;p x_t *const *;a int *"}

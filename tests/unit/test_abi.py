import struct

import pytest

from gdbcuda import api
from gdbcuda.errors import Unreadable, UserError
from gdbcuda.machine import abi
from gdbcuda.memory import DictMemory

TABLE = api.load()
NOWHERE = DictMemory({})


def places(symbol: str, machine: str = "x86-64") -> "list[str]":
    found = abi.locate(TABLE.functions[symbol], machine)
    return ["+".join(f"{p.register or p.stack}:{p.size}" + "*" * p.indirect for p in x.pieces) for x in found]


@pytest.mark.parametrize(
    "symbol, machine, expected",
    [
        ("cuMemAlloc_v2", "x86-64", "rdi:8 rsi:8"),
        ("cuMemAlloc_v2", "aarch64", "x0:8 x1:8"),
        ("cudaLaunchKernel", "x86-64", "rdi:8 rsi:8+rdx:4 rcx:8+r8:4 r9:8 8:8 16:8"),
        ("cudaLaunchKernel", "aarch64", "x0:8 x1:8+x2:4 x3:8+x4:4 x5:8 x6:8 x7:8"),
        ("cudaMalloc3D", "x86-64", "rdi:8 8:24"),
        ("cudaMalloc3D", "aarch64", "x0:8 x1:24*"),
        ("cuIpcOpenMemHandle_v2", "x86-64", "rdi:8 8:64 rsi:4"),
        ("cuIpcOpenMemHandle_v2", "aarch64", "x0:8 x1:64* x2:4"),
        ("cudaCreateChannelDesc", "x86-64", "rsi:4 rdx:4 rcx:4 r8:4 r9:4"),
        ("cudaCreateChannelDesc", "aarch64", "x0:4 x1:4 x2:4 x3:4 x4:4"),
        ("cuTexRefSetMipmapLevelClamp", "x86-64", "rdi:8 xmm0:4 xmm1:4"),
        ("cuTexRefSetMipmapLevelClamp", "aarch64", "x0:8 v0:4 v1:4"),
    ],
)
def test_where_the_arguments_are(symbol: str, machine: str, expected: str) -> None:
    assert " ".join(places(symbol, machine)) == expected


def test_results() -> None:
    def where(symbol: str, machine: str = "x86-64") -> object:
        found = abi.result(TABLE.functions[symbol], machine)
        return found and found.pieces

    assert where("cuInit") == (abi.Piece("rax", None, 4),)
    assert where("cuInit", "aarch64") == (abi.Piece("x0", None, 4),)
    assert where("cudaGetErrorString") == (abi.Piece("rax", None, 8),)
    assert where("cudaCreateChannelDesc") == (abi.Piece("rax", None, 20, indirect=True),)
    assert where("cudaCreateChannelDesc", "aarch64") == (abi.Piece("x8", None, 20, indirect=True),)
    nothing = TABLE.function("__cudaUnregisterFatBinary")
    assert nothing is not None and abi.result(nothing) is None


def test_upper_bits_of_a_register_are_not_part_of_a_narrow_argument() -> None:
    location = abi.locate(TABLE.functions["cuDeviceGet"])[1]
    registers = {"rsi": 0xDEADBEEF_FFFFFFFE}
    raw = location.read(registers.__getitem__, None, NOWHERE)
    assert raw == b"\xfe\xff\xff\xff" and location.size == 4
    assert abi.number(TABLE.type("int"), raw) == -2
    assert location.read({"rsi": -2}.__getitem__, None, NOWHERE) == raw  # gdb's registers are signed


def test_stack_arguments_need_the_stack() -> None:
    extent = abi.locate(TABLE.functions["cudaMalloc3D"])[1]
    memory = DictMemory({0x7000: struct.pack("<4Q", 0x401000, 1, 2, 3)})
    assert extent.read(lambda name: 0, 0x7000, memory) == struct.pack("<3Q", 1, 2, 3)
    for stack_pointer in (None, 0x9000):
        with pytest.raises(Unreadable):
            extent.read(lambda name: 0, stack_pointer, memory)


def test_indirect_arguments_are_followed() -> None:
    extent = abi.locate(TABLE.functions["cudaMalloc3D"], "aarch64")[1]
    memory = DictMemory({0x5000: struct.pack("<3Q", 1, 2, 3)})
    assert extent.read({"x1": 0x5000}.__getitem__, None, memory) == struct.pack("<3Q", 1, 2, 3)


@pytest.mark.parametrize(
    "spelling, raw, value",
    [
        ("int", "ffffffff", -1),
        ("unsigned int", "ffffffff", 0xFFFFFFFF),
        ("size_t", "ffffffffffffffff", (1 << 64) - 1),
        ("CUdeviceptr", "0000000000000080", 1 << 63),
        ("void *", "0010000000000080", 0x8000000000001000),
        ("float", "0000803f", 1.0),
        ("double", "000000000000f0bf", -1.0),
        ("char", "80", -128),
        ("unsigned char", "80", 128),
        ("cudaMemcpyKind", "ffffffff", 0xFFFFFFFF),
        ("CUgraphInstantiate_flags", "01000000", 1),
    ],
)
def test_numbers(spelling: str, raw: str, value: float) -> None:
    assert abi.number(TABLE.type(spelling), bytes.fromhex(raw)) == value


def test_an_enum_with_negative_values_is_signed() -> None:
    enums = [kind for kind in map(TABLE.type, TABLE.types.texts) if kind.enum is not None]
    assert len(enums) > 200
    for kind in enums:
        assert kind.enum is not None
        assert abi.is_signed(kind) == (min(kind.enum.values.values(), default=0) < 0), kind


def test_unknown_machine() -> None:
    with pytest.raises(UserError, match="riscv64"):
        abi.locate(TABLE.functions["cuInit"], "riscv64")
    with pytest.raises(UserError, match="riscv64"):
        abi.result(TABLE.functions["cuInit"], "riscv64")

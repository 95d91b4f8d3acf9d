"""Structs and unions as they are shown."""

from __future__ import annotations

import itertools
import struct

from decode_calls import HERE, TABLE, THERE, call, texts

from gdbcuda.decode import values


def test_structs_by_value() -> None:
    found = call("cudaLaunchKernel", 0x401000, struct.pack("<3I", 1, 2, 3), bytes(12), HERE, 0, 0)
    assert found["gridDim"][2:] == ("{x=1, y=2, z=3}", {"x": 1, "y": 2, "z": 3}, None)
    assert found["args"].text == "0x7ffe0c58"  # how many there are only the kernel knows
    extent = call("cudaMalloc3D", HERE, struct.pack("<3Q", 4096, 2, 3))["extent"]
    assert extent.text == "{width=4096, height=2, depth=3}"


def test_structs_behind_pointers() -> None:
    memory = {HERE: struct.pack("<4Q", THERE, 4096, 512, 2)}
    found = call("cudaMalloc3D", HERE, bytes(24), memory=memory, phase="return")["pitchedDevPtr"]
    assert found.text == "0x7ffe0c58 -> {ptr=0x7f000000, pitch=4096 [4.00 KiB], xsize=512, ysize=2}"
    assert found.data["value"] == {"ptr": "0x7f000000", "pitch": 4096, "xsize": 512, "ysize": 2}
    memory = {HERE: struct.pack("<QQQ", 16 << 30, 5 << 30, 1)}
    assert texts("nvmlDeviceGetMemoryInfo", 1, HERE, memory=memory, phase="return")[1] == (
        "0x7ffe0c58 -> {total=17179869184 [16.00 GiB], free=5368709120 [5.00 GiB], used=1}"
    )


def test_a_struct_that_is_read_before_it_is_written() -> None:
    """NVML's structs begin with the version that the caller speaks."""
    memory = {HERE: struct.pack("<IIQQQQ", 0x2000028, 0, 0, 0, 0, 0)}
    assert texts("nvmlDeviceGetMemoryInfo_v2", 1, HERE, memory=memory)[1].startswith("0x7ffe0c58 -> {version=33554472")


def test_a_large_struct_by_its_members() -> None:
    kind = TABLE.struct("cudaDeviceProp")
    assert kind is not None
    raw = bytearray(kind.size)
    fields = {field.name: field for field in kind.fields}
    raw[:5] = b"H200\0"
    raw[fields["uuid"].offset : fields["uuid"].offset + 16] = bytes(range(16))
    struct.pack_into("<Q", raw, fields["totalGlobalMem"].offset, 141 << 30)
    struct.pack_into("<3i", raw, fields["maxThreadsDim"].offset, 1024, 1024, 64)
    found = call("cudaGetDeviceProperties", HERE, 0, memory={HERE: bytes(raw)}, phase="return")["prop"]
    assert '{name="H200", uuid=00010203-0405-0607-0809-0a0b0c0d0e0f, ' in found.text
    assert "totalGlobalMem=151397597184 [141.00 GiB]" in found.text
    assert "maxThreadsDim=[1024, 1024, 64]" in found.text
    assert set(found.data["value"]) == set(fields) - {"reserved"}


def test_nested_structs_end_somewhere() -> None:
    kind = TABLE.type("cudaMemcpy3DParms")
    text = values.shower(kind, TABLE)(bytes(kind.size)).text
    assert text.startswith("{srcArray=NULL, srcPos={x=0, y=0, z=0}, srcPtr={ptr=NULL, pitch=0, xsize=0, ysize=0}")
    structs = [kind for kind in map(TABLE.type, TABLE.types.texts) if kind.kind == "struct"]
    shown = [values.shower(kind, TABLE)(bytes(kind.size)).text for kind in structs]
    assert any("{…}" in text for text in shown)
    assert max(map(nesting, shown)) <= 7  # three structs, a union between each two


def nesting(text: str) -> int:
    depths = itertools.accumulate(1 if c == "{" else -1 if c == "}" else 0 for c in text)
    return max(depths)


def test_unions_say_that_they_are() -> None:
    def show(name: str, raw: bytes) -> str:
        return values.shower(TABLE.type(name), TABLE)(raw).text

    assert show("nvmlValue_t", struct.pack("<q", 5)) == (
        "union {dVal=2.5e-323, siVal=5, uiVal=5, ulVal=5, ullVal=5, sllVal=5, usVal=5}"
    )
    assert show("CUDA_RESOURCE_DESC", struct.pack("<IIQ", 0, 0, THERE) + bytes(128)).startswith(
        "{resType=CU_RESOURCE_TYPE_ARRAY (0), res=union {array={hArray=0x7f000000}, …}"
    )


def test_handles_for_other_processes_are_hex() -> None:
    found = call("cudaIpcOpenMemHandle", HERE, bytes(range(64)), 1)["handle"]
    assert found.text == "0x000102030405060708090a0b0c0d0e0f… (64 bytes)"
    assert found.data == bytes(range(64)).hex()


def test_enums_in_structs_are_named_and_what_has_no_name_is_a_number() -> None:
    """Each enum in each struct; of an enum of bits several together."""
    structs = [kind for kind in map(TABLE.type, TABLE.types.texts) if kind.kind == "struct"]
    members = [(kind, one) for kind in structs for one in kind.fields if one.type.enum and one.bit_offset is None]
    assert len(members) > 200
    for kind, one in members:
        named = next(iter(one.type.enum.values.items()))
        for value, shown in ((named[1], f"{named[0]} ({named[1]})"), (777777, "777777 (not in ")):
            raw = bytearray(kind.size)
            struct.pack_into("<I", raw, one.offset, value & 0xFFFFFFFF)
            text = values.shower(kind, TABLE)(bytes(raw)).text
            assert f"{one.name}={shown}" in text or one.type.enum.name_of(value) in text, (kind.name, one.name, text)
    raw = struct.pack("<III", 1, 5, 0) + bytes(TABLE.type("CUmemAllocationProp").size - 12)
    text = values.shower(TABLE.type("CUmemAllocationProp"), TABLE)(raw).text
    both = "CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR|CU_MEM_HANDLE_TYPE_WIN32_KMT"
    assert text.startswith(f"{{type=CU_MEM_ALLOCATION_TYPE_PINNED (1), requestedHandleTypes={both} (5), ")

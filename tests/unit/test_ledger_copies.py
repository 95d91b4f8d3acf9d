"""Which bytes copies and fills touch, by the arithmetic of their boxes; whose memory is imported, and how much."""

from __future__ import annotations

import struct
from typing import Any

import pytest
from ledger_calls import TABLE, alloc, at, kinds, ledger_of
from log_files import call

from gdbcuda import decode
from gdbcuda.calls.reader import BEGIN, END
from gdbcuda.calls.record import Call
from gdbcuda.calls.references import References
from gdbcuda.ledger.effects.accesses import Touch, accesses
from gdbcuda.log.views.summary import Summary
from gdbcuda.memory import DictMemory


def behind(**members: Any) -> dict[str, Any]:
    return {"address": "0x7ffe0", "value": members}


def touched(one: Call, element: int = 0) -> list[Touch]:
    return list(accesses(TABLE.functions[one.name], one, lambda array: element))


BOX = {"srcMemoryType": "CU_MEMORYTYPE_DEVICE", "srcDevice": "0x1000", "srcXInBytes": 1, "srcY": 2, "srcZ": 3,
       "srcPitch": 100, "srcHeight": 10, "dstMemoryType": "CU_MEMORYTYPE_ARRAY", "dstArray": "0x77",
       "WidthInBytes": 50, "Height": 4, "Depth": 2}  # fmt: skip
PITCHED = {"ptr": "0x1000", "pitch": 100, "xsize": 50, "ysize": 10}
POSITION = {"x": 1, "y": 2, "z": 3}
FROM = 0x1000 + (3 * 10 + 2) * 100 + 1


@pytest.mark.parametrize(
    ("one", "element", "expected"),
    [
        (call(0, "cuMemcpy3D_v2", {"pCopy": behind(**BOX)}), 0,
         [Touch("srcDevice", FROM, (10 + 3) * 100 + 50), Touch("dstArray", 0x77, 0, True)]),
        (call(0, "cudaMemcpy3D", {"p": behind(srcArray=None, srcPos=POSITION, srcPtr=PITCHED, dstArray="0x77",
                                              dstPos=POSITION, dstPtr={"ptr": None},
                                              extent={"width": 5, "height": 4, "depth": 2})}), 8,
         [Touch("srcPtr", FROM, (10 + 3) * 100 + 40), Touch("dstArray", 0x77, 0, True)]),
        (call(0, "cudaMemset3D", {"pitchedDevPtr": PITCHED, "value": 0,
                                  "extent": {"width": 50, "height": 10, "depth": 2}}), 0,
         [Touch("pitchedDevPtr", 0x1000, 19 * 100 + 50)]),
        (call(0, "cudaMemcpy2DToArray", {"dst": "0x77", "wOffset": 0, "hOffset": 0, "src": "0x1000", "spitch": 64,
                                         "width": 32, "height": 3, "kind": "cudaMemcpyHostToDevice"}), 0,
         [Touch("dst", 0x77, 0, True), Touch("src", 0x1000, 160, is_host=True)]),
        (call(0, "cudaMemcpyBatchAsync", {"dsts": {"address": "0x1", "value": ["0x10", "0x20"]}, "count": 2,
                                          "srcs": {"address": "0x2", "value": ["0x30", "0x40"]},
                                          "sizes": {"address": "0x3", "value": [5, 6]}}), 0,
         [Touch(name, at, size, is_either=True) for name, at, size in
          (("dsts[0]", 0x10, 5), ("srcs[0]", 0x30, 5), ("dsts[1]", 0x20, 6), ("srcs[1]", 0x40, 6))]),
        (call(0, "cuMemcpy3D_v2", {"pCopy": {"address": "0x1"}}), 0, []),  # the struct could not be read
    ],
    ids=["driver 3D", "runtime 3D", "fill 3D", "to an array", "batch", "unreadable"],
)  # fmt: skip
def test_touches(one: Call, element: int, expected: list[Touch]) -> None:
    assert touched(one, element) == expected


def array(number: int) -> Call:
    shape = behind(Width=8, Height=8, Format="CU_AD_FORMAT_FLOAT", NumChannels=1)
    return call(number, "cuArrayCreate_v2", {"pAllocateArray": shape}, out={"pHandle": at(0x77)})


def test_a_destroyed_array_is_used() -> None:
    copy = call(2, "cuMemcpyHtoA_v2", {"dstArray": "0x77", "dstOffset": 0, "srcHost": "0x9", "ByteCount": 4})
    assert not ledger_of(array(0), copy).problems
    assert kinds(ledger_of(array(0), call(1, "cuArrayDestroy", {"hArray": "0x77"}), copy)) == ["use after free"]


@pytest.mark.parametrize(
    ("allocator", "release"),
    [
        (call(0, "cuMemAllocManaged", {"bytesize": 64}, out={"dptr": at(0x1000)}), "cudaFreeAsync"),
        (array(0), "cudaFreeMipmappedArray"),
    ],
)  # fmt: skip
def test_of_the_same_memory_but_by_the_wrong_call(allocator: Call, release: str) -> None:
    (block,) = ledger_of(allocator).blocks.live()
    taken = next(p.name for p in TABLE.functions[release].parameters if p.block)
    assert kinds(ledger_of(allocator, call(1, release, {taken: f"{block.address:#x}"}))) == ["wrong family"]


IMPORTS = [
    (call(0, "cudaExternalMemoryGetMappedBuffer", {"extMem": "0x5", "bufferDesc": behind(offset=0, size=4096)},
          out={"devPtr": at(0x1000)}), 4096),
    (call(0, "cudaExternalMemoryGetMappedMipmappedArray", {"mipmapDesc": behind(
        formatDesc={"x": 32, "y": 0, "z": 0, "w": 0}, extent={"width": 8, "height": 8, "depth": 0}, numLevels=2)},
          out={"mipmap": at(0x1000)}), 4 * 64 + 4 * 16),
    (call(0, "cuIpcOpenMemHandle_v2", {"Flags": 1}, out={"pdptr": at(0x1000)}), 0),
    (call(0, "cuMemImportFromShareableHandle", {"osHandle": "0x3"}, out={"handle": at(0x1000)}), 0),
]  # fmt: skip


@pytest.mark.parametrize(("one", "size"), IMPORTS, ids=[one.name for one, _ in IMPORTS])
def test_what_is_imported_takes_no_memory_of_ours(one: Call, size: int) -> None:
    ledger = ledger_of(one)
    (block,) = ledger.blocks.live()
    assert (block.size, block.counted_as, ledger.usage.on_device) == (size, "imported", 0)


def test_the_size_of_imported_memory_may_be_told_later() -> None:
    opened, imported = IMPORTS[2][0], IMPORTS[3][0]
    asked = call(1, "cuMemGetAddressRange_v2", {"dptr": "0x1010"},
                 out={"pbase": at(0x1000), "psize": {"address": "0x1", "value": 8192}})  # fmt: skip
    assert [b.size for b in ledger_of(opened, asked).blocks.live()] == [8192]
    mapped = call(1, "cuMemMap", {"ptr": "0x9000", "size": 4096, "offset": 4096, "handle": "0x1000", "flags": 0})
    assert sorted(b.size for b in ledger_of(imported, mapped).blocks.live()) == [4096, 8192]


@pytest.mark.parametrize("name", ["cuGraphAddNode", "cudaGraphAddNode"])
def test_a_general_graph_node(name: str) -> None:
    """Decoded from bytes: the type says which member of the union holds."""
    alloc, kernel = 10, 0
    raw = bytearray(256)
    raw[16 + 104 : 16 + 120] = struct.pack("<QQ", 64, 0x7F000)  # bytesize and dptr
    found = {}
    for kind in (alloc, kernel):
        raw[:4] = struct.pack("<I", kind)
        function = TABLE.functions[name]
        raws = [bytes(8)] * (len(function.parameters) - 1) + [struct.pack("<Q", 0x1000)]
        shown = decode.arguments(function, raws, DictMemory({0x1000: bytes(raw)}), TABLE, phase="return")
        found[kind] = ledger_of(call(0, name, out={"nodeParams": shown[-1].data})).blocks.live()
    assert [(b.address, b.size, b.on_device) for b in found[alloc]] == [(0x7F000, 64, True)] and not found[kernel]


def test_physical_memory_of_the_host() -> None:
    prop = behind(location={"type": "CU_MEM_LOCATION_TYPE_HOST", "id": 0})
    assert not ledger_of(call(0, "cuMemCreate", {"size": 64, "prop": prop}, out={"handle": at(0x7)})).usage.on_device


def test_physical_memory_has_a_handle_again() -> None:
    calls = [call(0, "cuMemCreate", {"size": 64}, out={"handle": at(0x7)}),
             call(1, "cuMemMap", {"ptr": "0x9000", "size": 64, "offset": 0, "handle": "0x7"}),
             call(2, "cuMemRelease", {"handle": "0x7"}),
             call(3, "cuMemRetainAllocationHandle", {"addr": "0x9010"}, out={"handle": at(0x8)}),
             call(4, "cuMemUnmap", {"ptr": "0x9000", "size": 64})]  # fmt: skip
    ledger = ledger_of(*calls)
    assert ledger.usage.on_device == 64 and [b.address for b in ledger.blocks.live()] == [8]
    assert not ledger_of(*calls, call(5, "cuMemRelease", {"handle": "0x8"})).blocks.live() and not ledger.problems


def test_a_block_within_bounds() -> None:
    assert not ledger_of(alloc(0, 0x1000, 4096), call(1, "cuMemcpy3D_v2", {"pCopy": behind(
        **{**BOX, "srcXInBytes": 0, "srcY": 0, "srcZ": 0, "srcPitch": 64, "srcHeight": 8, "WidthInBytes": 64,
           "Height": 8, "Depth": 8})})).problems  # fmt: skip


def to(kind: str) -> dict[str, Any]:
    return {"kind": f"cudaMemcpy{kind}"}


BOX, EXTENT = {"WidthInBytes": 10, "Height": 3}, {"width": 4, "height": 3, "depth": 2}
MOVED = [
    ("cudaMemcpy", {"count": 64, **to("HostToDevice")}, ("host to device", 64)),
    ("cuMemcpyDtoHAsync_v2", {"ByteCount": 64}, ("device to host", 64)),
    ("cuMemcpyHtoA_v2", {"ByteCount": 64}, ("host to array", 64)),
    ("cudaMemcpyPeer", {"count": 64}, ("device to device", 64)),
    ("cuMemcpy", {"ByteCount": 64}, ("direction not given", 64)),
    ("cudaMemcpy2D", {"width": 10, "height": 3, "dpitch": 16, "spitch": 16, **to("DeviceToHost")},
     ("device to host", 30)),
    ("cuMemcpy2D_v2", {"pCopy": behind(**BOX, srcMemoryType="CU_MEMORYTYPE_HOST", dstMemoryType="CU_MEMORYTYPE_ARRAY")},
     ("host to array", 30)),
    ("cuMemcpy3D_v2", {"pCopy": behind(**BOX, Depth=2, srcMemoryType="CU_MEMORYTYPE_DEVICE",
                                       dstMemoryType="CU_MEMORYTYPE_UNIFIED")}, ("direction not given", 60)),
    ("cudaMemcpy3D", {"p": behind(extent=EXTENT, dstArray="0x99", **to("HostToDevice"))}, ("host to device", 192)),
    ("cudaMemcpy3D", {"p": behind(extent=EXTENT, dstArray=None, **to("HostToDevice"))}, ("host to device", 24)),
    ("cuMemcpyBatchAsync", {"count": 2, "sizes": {"address": "0x1", "value": [100, 28]}}, ("direction not given", 128)),
]  # fmt: skip


@pytest.mark.parametrize(("name", "arguments", "found"), MOVED)
def test_a_summary_knows_what_every_copy_moves(name: str, arguments: dict[str, Any], found: tuple[str, int]) -> None:
    """Widths of cudaMemcpy3D are elements of the array, which the call that made it tells."""
    two_floats = behind(x=32, y=32, z=0, w=0)
    array = call(0, "cudaMalloc3DArray", {"desc": two_floats, "extent": EXTENT}, out={"array": at(0x99)})
    summary = Summary(TABLE, References())
    for one in (array, call(1, name, arguments)):
        summary.feed(((BEGIN, one), (END, one)))
    assert dict(summary.moved) == dict([found])


def copied_after_free(**arguments: Any) -> list[str]:
    """A block that is freed, and a copy from or to its address."""
    name = "cuMemcpyHtoD_v2" if "srcHost" in arguments else "cudaMemcpy"
    copy = call(3, name, {"count": 8, "ByteCount": 8, **arguments})
    freed = call(1, "cuMemFree_v2", {"dptr": "0x1000"})
    return kinds(ledger_of(alloc(0, 0x1000, 64), freed, alloc(2, 0x2000, 64), copy))


def test_the_hosts_side_of_a_copy_is_not_the_device_block_that_was_there() -> None:
    """The program's malloc hands out a freed block's address."""
    assert copied_after_free(srcHost="0x1000", dstDevice="0x2000") == []
    assert copied_after_free(src="0x1000", dst="0x2000", kind="cudaMemcpyHostToDevice") == []
    assert copied_after_free(src="0x2000", dst="0x1000", kind="cudaMemcpyDeviceToHost") == []
    assert copied_after_free(src="0x1000", dst="0x2000", kind="cudaMemcpyDeviceToHost") == ["use after free"]
    assert copied_after_free(src="0x2000", dst="0x1000", kind="cudaMemcpyDefault") == ["use after free"]

"""Every function that hands out memory, and what gives it back."""

from __future__ import annotations

from typing import Any

import pytest
from ledger_calls import TABLE, at, ledger_of
from log_files import call

from gdbcuda.ledger import matters, releases_of
from gdbcuda.ledger.effects import roles

FAMILIES = [
    ("cuMemAllocManaged", {"bytesize": 64}, "dptr", 64, "managed"),
    ("cuMemAllocPitch_v2", {"WidthInBytes": 100, "Height": 4, "ElementSizeBytes": 4}, "dptr", 2048, "device"),
    ("cudaMallocPitch", {"width": 100, "height": 4}, "devPtr", 2048, "device"),
    ("cudaMallocHost", {"size": 64}, "ptr", 64, "host"),
    ("cuMemHostAlloc", {"bytesize": 64, "Flags": 0}, "pp", 64, "host"),
    ("cudaMallocAsync", {"size": 64, "hStream": "0x5"}, "devPtr", 64, "device"),
    ("cuMemAllocFromPoolAsync", {"bytesize": 64, "hStream": None}, "dptr", 64, "device"),
    ("cuMemCreate", {"size": 64, "flags": 0}, "handle", 64, "physical"),
    ("cuMemAddressReserve", {"size": 64, "alignment": 0, "addr": None, "flags": 0}, "ptr", 64, "addresses"),
    ("cuIpcOpenMemHandle_v2", {"Flags": 1}, "pdptr", 0, "imported"),
    ("cuArrayCreate_v2", {"pAllocateArray": {"address": "0x1", "value": {
        "Width": 8, "Height": 4, "Format": "CU_AD_FORMAT_UNSIGNED_INT16", "NumChannels": 2}}}, "pHandle", 128, "array"),
    ("cudaMallocArray", {"desc": {"address": "0x1", "value": {"x": 32, "y": 0, "z": 0, "w": 0, "f": "x"}},
                         "width": 8, "height": 0, "flags": 0}, "array", 32, "array"),
    ("cuMipmappedArrayCreate", {"numMipmapLevels": 2, "pMipmappedArrayDesc": {"address": "0x1", "value": {
        "Width": 8, "Height": 8, "Depth": 0, "Format": "CU_AD_FORMAT_FLOAT", "NumChannels": 1}}},
     "pHandle", 4 * 64 + 4 * 16, "mipmap"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "arguments", "block", "size", "kind"), FAMILIES, ids=[f[0] for f in FAMILIES])
def test_families(name: str, arguments: dict[str, Any], block: str, size: int, kind: str) -> None:
    out = {block: at(0x1000)}
    pitch = next((p for p in ("pPitch", "pitch") if TABLE.functions[name].parameter(p)), None)
    if pitch:
        out[pitch] = {"address": "0x2", "value": 512}
    ledger = ledger_of(call(0, name, arguments, out=out))
    (found,) = ledger.blocks.live()
    assert (found.address, found.size, found.kind) == (0x1000, size, kind)
    release = TABLE.functions[name].released_by[0]
    releasing = next(f for f in TABLE.find(release) if f.role == "free")
    taken = next(p.name for p in releasing.parameters if p.block)
    after = ledger_of(call(0, name, arguments, out=out), call(1, releasing.symbol, {taken: "0x1000"}))
    assert not after.blocks.live() and not after.problems and sum(after.usage.bytes.values()) == 0


def test_registered_memory_is_the_programs_own() -> None:
    registered = call(0, "cuMemHostRegister_v2", {"p": "0x1000", "bytesize": 64, "Flags": 0})
    ledger = ledger_of(registered)
    assert [b.kind for b in ledger.blocks.live()] == ["registered"] and ledger.usage.on_device == 0
    assert not ledger_of(registered, call(1, "cuMemHostUnregister", {"p": "0x1000"})).blocks.live()


def test_graph_nodes() -> None:
    node = {"address": "0x1", "value": {"bytesize": 64, "dptr": "0x1000"}}
    made = call(0, "cuGraphAddMemAllocNode", {"nodeParams": node}, out={"nodeParams": node})
    assert ledger_of(made).usage.on_device == 64
    assert not ledger_of(made, call(1, "cuGraphAddMemFreeNode", {"dptr": "0x1000"})).blocks.live()


def test_every_allocator_of_the_notes_is_known() -> None:
    allocators = [f for f in TABLE.functions.values() if f.role in ("alloc", "free")]
    assert len(allocators) > 60 and all(matters(f) for f in allocators)
    assert {roles.kind_of(f) for f in allocators} == {
        "device", "managed", "host", "registered", "addresses", "imported", "array", "mipmap", "physical"}  # fmt: skip


@pytest.mark.parametrize(("allocator", "release", "is_same"), [
    ("cudaMalloc", "cudaFree", True), ("cudaMalloc", "cuMemFree_v2", True), ("cudaMallocManaged", "cuMemFree_v2", True),
    ("cuMemAlloc_v2", "cudaFree", True), ("cuMemAllocHost_v2", "cudaFree", False),
    ("cudaMalloc", "cudaFreeHost", False), ("cuMemAlloc_v2", "cuMemFreeHost", False),
    ("cudaMallocAsync", "cuMemFreeAsync", True),
    ("cuMemAllocHost_v2", "cudaFreeAsync", False), ("cuGraphAddMemAllocNode", "cuMemFreeAsync", True),
])
def test_which_releases_take_which_blocks(allocator: str, release: str, is_same: bool) -> None:
    functions = [TABLE.functions[name] for name in (allocator, release)]
    assert roles.is_same_family(*functions) is is_same


def test_the_releases_of_what_is_recorded() -> None:
    assert releases_of(["cudaMallocManaged"], TABLE) == {"cudaFree"}
    assert releases_of(["cuMemAlloc_v2"], TABLE) >= {"cuMemFree", "cuMemFree_v2", "cuMemFreeAsync_ptsz"}
    assert not releases_of(["cuMemFree_v2", "cuMemGetInfo_v2"], TABLE)

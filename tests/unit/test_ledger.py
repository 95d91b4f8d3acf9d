"""The ledger over recorded calls: blocks of every family, and what is wrong with how they are used."""

from __future__ import annotations

import re
from typing import Any

import pytest
from log_files import call, failed

from gdbcuda import api
from gdbcuda.calls.reader import BEGIN, END
from gdbcuda.calls.record import Call
from gdbcuda.calls.references import References
from gdbcuda.calls.sinks import in_order
from gdbcuda.calls.text import CallWriter
from gdbcuda.ledger import Ledger, Ledgers, left_out, matters, releases_of, roles, views
from gdbcuda.ledger.blocks import KEPT, MEMORY

TABLE = api.load()
NOTES = References()
NOTES.add("place", {"address": 0x400, "function": "load_model", "source": "model.c:7", "layer": "app"})


def at(address: int) -> dict[str, Any]:
    return {"address": "0x7ffe0", "value": f"{address:#x}"}


def alloc(number: int, address: int, size: int, **fields: Any) -> Call:
    return call(number, "cuMemAlloc_v2", {"dptr": {"address": "0x7ffe0"}, "bytesize": size},
                **{"out": {"dptr": at(address)}, "caller": 0x400, **fields})  # fmt: skip


def free(number: int, address: int, name: str = "cuMemFree_v2", **fields: Any) -> Call:
    return call(number, name, {"dptr": f"{address:#x}" if address else None}, **fields)


def ledger_of(*calls: Call) -> Ledger:
    ledger = Ledger(TABLE, NOTES)
    for is_end, one in in_order(calls):
        (ledger.exit if is_end else ledger.entry)(one)
    return ledger


def kinds(ledger: Ledger) -> list[str]:
    return [problem.kind for problem in ledger.problems]


WRITER = CallWriter(TABLE, NOTES)


def test_what_is_not_freed_is_a_leak_of_its_site() -> None:
    ledger = ledger_of(alloc(0, 0x1000, 4096), alloc(1, 0x3000, 8192), free(2, 0x1000))
    assert ledger.usage.on_device == 8192 and [b.address for b in ledger.blocks.live()] == [0x3000]
    text = views.leaks(ledger, WRITER)
    assert "8192 [8.00 KiB]" in text and "load_model at model.c:7" in text and "4096" not in text
    assert not ledger.problems


def test_of_nested_calls_the_outermost_counts() -> None:
    runtime = call(0, "cudaMalloc", {"devPtr": {"address": "0x1"}, "size": 64}, out={"devPtr": at(0x1000)}, end=0.01)
    inner = alloc(1, 0x1000, 64, parent=0, depth=1, end=0.005)
    innermost = alloc(2, 0x1000, 64, parent=1, depth=2, end=0.004, layer="driver")
    ledger = ledger_of(runtime, inner, innermost)
    assert [b.call.name for b in ledger.blocks.live()] == ["cudaMalloc"] and ledger.usage.on_device == 64
    after = call(20, "cudaFree", {"devPtr": "0x1000"}, end=0.03)
    within = free(21, 0x1000, parent=20, depth=1, end=0.025)
    assert not ledger_of(runtime, inner, innermost, after, within).problems


@pytest.mark.parametrize(
    ("calls", "kind", "text"),
    [
        ([alloc(0, 0x1000, 64), free(1, 0x1000), free(2, 0x1000)], "double free", "was freed by #1 cuMemFree_v2"),
        ([free(0, 0x1000)], "unknown pointer", "no recorded call"),
        ([alloc(0, 0x1000, 64), free(1, 0x1010)], "interior pointer", "16 bytes into the 64 B of #0"),
        ([alloc(0, 0x1000, 64), call(1, "cuMemFreeHost", {"p": "0x1000"})], "wrong family", "is for cuMemFree"),
        ([alloc(0, 0x1000, 64), free(1, 0x1000),
          call(2, "cuMemsetD8_v2", {"dstDevice": "0x1008", "uc": 0, "N": 8})], "use after free", "dstDevice lies in"),
        ([alloc(0, 0x1000, 64), call(1, "cuMemsetD32_v2", {"dstDevice": "0x1000", "ui": 0, "N": 17})],
         "out of range", "68 bytes from dstDevice on go 4 beyond"),
        ([alloc(0, 0x1000, 64), call(1, "cuMemcpyDtoH_v2", {"dstHost": "0x9", "srcDevice": "0x1020", "ByteCount": 33})],
         "out of range", "33 bytes from srcDevice on go 1 beyond"),
        ([alloc(0, 0x1000, 64), call(1, "cudaMemcpy2D", {"dst": "0x1000", "dpitch": 32, "src": "0x9", "spitch": 32,
                                                       "width": 16, "height": 3})],
         "out of range", "80 bytes from dst on go 16 beyond"),
    ],
)  # fmt: skip
def test_problems(calls: list[Call], kind: str, text: str) -> None:
    ledger = ledger_of(*calls)
    assert kinds(ledger) == [kind] and text in ledger.problems[0].text
    assert kind in views.overview(ledger, WRITER)


@pytest.mark.parametrize(
    "calls",
    [
        [free(0, 0)],  # NULL may be freed
        [alloc(0, 0x1000, 64), call(1, "cuMemsetD32_v2", {"dstDevice": "0x1000", "ui": 0, "N": 16})],
        [alloc(0, 0x1000, 64), call(1, "cuMemcpyDtoH_v2", {"dstHost": "0x9", "srcDevice": "0x1020", "ByteCount": 32})],
        [alloc(0, 0x1000, 64), call(1, "cudaFree", {"devPtr": "0x1000"})],  # the runtime may free the driver's
        [alloc(0, 0x1000, 64), free(1, 0x1000), alloc(2, 0x1000, 64),
         call(3, "cuMemsetD8_v2", {"dstDevice": "0x1000", "uc": 0, "N": 64})],
        [alloc(0, 0x1000, 64), failed(1, "cuMemFree_v2", 700, "CUDA_ERROR_ILLEGAL_ADDRESS",
                                      arguments={"dptr": "0x1000"}), free(2, 0x1000)],
    ],
)  # fmt: skip
def test_no_problem(calls: list[Call]) -> None:
    assert not ledger_of(*calls).problems


def test_a_block_that_is_handed_out_before_its_free_is_seen_to_end() -> None:
    """Thread 2 gets thread 1's block anew; the end of thread 1's free arrives later."""
    ledger = ledger_of(alloc(0, 0x1000, 64), free(1, 0x1000, end=0.009), alloc(3, 0x1000, 128, thread=2))
    assert not ledger.problems
    (block,) = ledger.blocks.live()
    assert block.size == 128 and ledger.usage.on_device == 128


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


def test_peak_is_what_was_live_then() -> None:
    ledger = ledger_of(
        alloc(0, 0x1000, 100), alloc(1, 0x2000, 50), free(2, 0x1000), alloc(3, 0x3000, 60), free(4, 0x2000)
    )
    top = ledger.usage.at_peak()
    assert top is not None and top.bytes == 150 and sorted(b.size for b in top.blocks) == [50, 100]
    assert "150 in 2 blocks" in views.peak(ledger, WRITER)


def test_the_first_refusal_keeps_what_was_live() -> None:
    refused = failed(1, "cuMemAlloc_v2", 2, "CUDA_ERROR_OUT_OF_MEMORY", arguments={"bytesize": 1 << 40})
    ledger = ledger_of(alloc(0, 0x1000, 64), refused, free(2, 0x1000))
    assert ledger.out_of_memory is not None and ledger.out_of_memory.bytes == 64
    assert "CUDA_ERROR_OUT_OF_MEMORY" in views.overview(ledger, WRITER)


def test_history_and_at() -> None:
    ledger = ledger_of(alloc(0, 0x1000, 64), free(1, 0x1000), alloc(2, 0x1000, 32))
    lines = views.history(ledger, WRITER, 0x1008).splitlines()
    assert [line.split()[0] for line in lines] == ["#0", "#1", "#2"]
    assert "8 bytes into the 32 B of #2 cuMemAlloc_v2 at 0x1000; device, by load_model" in views.at(
        ledger, WRITER, 0x1008)  # fmt: skip
    assert "freed by #1" in views.at(ledger, WRITER, 0x1030)
    assert "224 bytes behind the end of the 32 B of #2" in views.at(ledger, WRITER, 0x1100)


def test_what_was_reported_beside_our_count() -> None:
    answer = {"free": {"address": "0x1", "value": 900}, "total": {"address": "0x2", "value": 1000}}
    asked = call(1, "cuMemGetInfo_v2", out=answer)
    ledger = ledger_of(alloc(0, 0x1000, 64), asked)
    (row,) = ledger.reported.values()
    assert (row.used, row.total, row.ours) == (100, 1000, 64)
    assert "36" in views.reported(ledger, WRITER)


def test_processes_do_not_mix() -> None:
    calls = [alloc(0, 0x1000, 64, pid=1), alloc(1, 0x1000, 32, pid=2, inferior=2), free(2, 0x1000, pid=1),
             alloc(3, 0x1000, 16, pid=1)]  # fmt: skip
    ledgers = Ledgers(TABLE, NOTES)
    for is_end, one in in_order(calls):
        (ledgers.exit if is_end else ledgers.entry)(one)
    assert [(one.usage.on_device, one.problems) for one in ledgers.all()] == [(16, []), (32, [])]
    assert ledgers.latest(2) is ledgers.all()[1]


def test_after_an_exec_nothing_is_left() -> None:
    notes = References()
    ledgers = Ledgers(TABLE, notes, keep_all=False)
    for number in range(2):
        notes.add("process", {"inferior": 0, "pid": 7, "program": "a"})
        ledgers.entry(alloc(number, 0x1000, 64, pid=7))
        ledgers.exit(alloc(number, 0x1000, 64, pid=7))
    (ledger,) = ledgers.all()
    assert ledger.usage.on_device == 64 and not ledger.problems


def test_the_site_is_the_nearest_caller_in_the_program() -> None:
    ledger = ledger_of(alloc(0, 0x1000, 64, caller=0x99, stack=[0x99, 0x400]))
    assert [b.site for b in ledger.blocks.live()] == [0x400]


def test_of_very_many_freed_blocks_the_last_are_remembered() -> None:
    ledger = Ledger(TABLE)
    for number in range(0, 2 * KEPT + 20, 2):
        for is_end, one in in_order([alloc(number, 4096 * (number + 1), 64), free(number + 1, 4096 * (number + 1))]):
            (ledger.exit if is_end else ledger.entry)(one)
    assert len(ledger.blocks.freed) == KEPT and not ledger.problems
    assert ledger.blocks.memory.was_holding(4096) is None
    last = ledger.blocks.memory.was_holding(4096 * (2 * KEPT + 1) + 8)
    assert last is not None and last.call.number == 2 * KEPT


def made(number: int, name: str, context: str, device: int, **fields: Any) -> Call:
    return call(number, name, {"dev": device}, out={"pctx": {"address": "0x1", "value": context}}, **fields)


def current(number: int, name: str, context: str | None, **fields: Any) -> Call:
    return call(number, name, {"ctx": context} if name != "cuCtxPopCurrent_v2" else {}, **fields)


@pytest.mark.parametrize(
    ("before", "device"),
    [
        ([], None),
        ([call(0, "cudaSetDevice", {"device": 3})], 3),
        ([made(0, "cuDevicePrimaryCtxRetain", "0xa", 2)], None),
        ([made(0, "cuDevicePrimaryCtxRetain", "0xa", 2), current(1, "cuCtxSetCurrent", "0xa")], 2),
        ([made(0, "cuCtxCreate_v2", "0xa", 1), made(1, "cuCtxCreate_v4", "0xb", 2)], 2),
        ([made(0, "cuCtxCreate_v2", "0xa", 1), made(1, "cuCtxCreate_v4", "0xb", 2),
          current(2, "cuCtxPopCurrent_v2", None)], 1),
        ([made(0, "cuCtxCreate_v2", "0xa", 1), current(1, "cuCtxSetCurrent", None)], None),
        ([made(0, "cuDevicePrimaryCtxRetain", "0xa", 2, thread=2), current(1, "cuCtxPushCurrent_v2", "0xa", end=0.9),
          current(2, "cuCtxPushCurrent_v2", "0xa", parent=1, depth=1, layer="driver"),
          current(950, "cuCtxPopCurrent_v2", None)], None),
    ],
)  # fmt: skip
def test_the_device_is_the_threads(before: list[Call], device: int | None) -> None:
    """The driver's by its current context; what a hook passes on counts once."""
    ledger = ledger_of(*before, alloc(1000, 0x1000, 64), alloc(1001, 0x2000, 64, thread=7))
    assert [block.device for block in ledger.blocks.live()] == [device, None]


def test_the_runtimes_device_is_0_until_another_is_set() -> None:
    ledger = ledger_of(call(0, "cudaMalloc", {"size": 64}, out={"devPtr": at(0x1000)}))
    assert [block.device for block in ledger.blocks.live()] == [0]


def test_physical_memory_says_itself_where_it_is() -> None:
    where = {"address": "0x1", "value": {"location": {"type": "CU_MEM_LOCATION_TYPE_DEVICE", "id": 5}}}
    ledger = ledger_of(call(0, "cuMemCreate", {"size": 64, "prop": where}, out={"handle": at(0x1000)}))
    assert [block.device for block in ledger.blocks.live()] == [5]


def test_a_history_has_the_backtraces_that_were_recorded() -> None:
    ledger = ledger_of(alloc(0, 0x1000, 64, stack=[0x400, 0x500]), free(1, 0x1000))
    assert "\n         from 0x500\n#1" in views.history(ledger, CallWriter(TABLE, NOTES), 0x1000)


def test_another_recorder_finds_the_process_as_it_was() -> None:
    """An exec does not, though it runs the same program again."""
    notes = References()
    ledgers = Ledgers(TABLE, notes)
    for number, image in enumerate([1, 1, 2]):
        notes.add("process", {"program": "a", "image": image})
        ledgers.feed(((BEGIN, alloc(number, 0x1000 * (number + 1), 64)),))
        ledgers.feed(((END, alloc(number, 0x1000 * (number + 1), 64)),))
    assert [one.usage.on_device for one in ledgers.all()] == [128, 64]


def test_a_double_free_names_the_first_one_and_an_overrun_not_the_free_that_came_later() -> None:
    fill = call(1, "cuMemsetD8_v2", {"dstDevice": "0x1000", "uc": 0, "N": 65})
    beyond, twice = ledger_of(alloc(0, 0x1000, 64), fill, free(2, 0x1000), free(3, 0x1000)).problems
    assert re.findall(r"^  #(\d+)", views.problem_text(beyond, WRITER), re.MULTILINE) == ["1", "0"]
    assert re.findall(r"^  #(\d+)", views.problem_text(twice, WRITER), re.MULTILINE) == ["3", "0", "2"]


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


def test_blocks_that_begin_in_a_range() -> None:
    space = ledger_of(*(alloc(n, address, 8) for n, address in enumerate((98, 99, 100, 109, 110, 111), 1))).blocks
    assert [block.address for block in space.spaces[MEMORY].within(100, 10)] == [100, 109]


def told_unseen(*names: str) -> References:
    notes = References()
    for name in names:
        notes.add("unseen", {"name": name})
    return notes


def fed(notes: References, *calls: Call) -> Ledger:
    ledger = Ledger(TABLE, notes)
    for is_end, one in in_order(calls):
        (ledger.exit if is_end else ledger.entry)(one)
    return ledger


def test_without_the_frees_nobody_knows_what_is_live() -> None:
    ledger = fed(told_unseen("cuMemFree", "cuMemFreeAsync"), alloc(0, 0x1000, 4096))
    assert views.leaked(ledger) == []
    for text in (views.leaks(ledger, WRITER), views.live(ledger, WRITER), views.overview(ledger, WRITER)):
        assert "Unknown whether freed: 1 block: device 4096 [4.00 KiB] in 1; not every call of cuMemFree" in text
        assert "Not freed" not in text


def test_of_each_family_for_itself() -> None:
    handle = call(1, "cuMemAllocHost_v2", {"pp": {"address": "0x7ffe0"}, "bytesize": 64}, out={"pp": at(0x9000)})
    ledger = fed(told_unseen("cuMemFree"), alloc(0, 0x1000, 4096), handle)
    assert [block.address for block in views.leaked(ledger)] == [0x9000]
    text = views.leaks(ledger, WRITER)
    assert "Not freed: 1 block: host 64 in 1\nUnknown whether freed: 1 block: device 4096" in text


def test_a_block_from_before_the_log_is_no_bad_free() -> None:
    late = fed(told_unseen("before"), free(0, 0x1000), alloc(1, 0x2000, 64), free(2, 0x2000), free(3, 0x2000))
    assert kinds(late) == ["double free"]  # this one the log knows all about
    assert "freed by 1 call, the first #0 cuMemFree_v2: the recording began later." in views.problems(late, WRITER)
    assert kinds(ledger_of(free(0, 0x1000))) == ["unknown pointer"]


def test_what_an_unrecorded_allocator_may_have_handed_out_is_no_bad_free() -> None:
    ledger = fed(told_unseen("cuMemAllocManaged"), alloc(0, 0x1000, 64), free(1, 0x1000), free(2, 0x1000))
    assert not ledger.problems
    assert "not every cuMemAllocManaged was recorded" in views.problems(ledger, WRITER)
    arrays = fed(told_unseen("cuMemAllocManaged"), call(0, "cuArrayDestroy", {"hArray": "0x77"}))
    assert kinds(arrays) == ["unknown pointer"]


def test_another_program_of_the_process_begins_at_its_beginning() -> None:
    notes = told_unseen("before")
    notes.add("process", {"program": "a", "image": 1})
    assert not notes.unseen


@pytest.mark.parametrize(
    ("named", "is_some", "left"),
    [
        (["cuMemAlloc_v2"], False, {"cuMemFree", "cuMemFreeAsync"}),
        (["cuMemAlloc_v2", "cuMemFree_v2", "cuMemFreeAsync"], True, {"cuMemAlloc", "cuMemFree", "cuMemFreeAsync"}),
        (["cuMemHostRegister_v2", "cuMemHostUnregister"], False, set()),
        (["cuMemGetInfo_v2"], True, set()),
        (list(TABLE.functions), False, set()),
    ],
)
def test_which_functions_a_recorder_leaves_out(named: list[str], is_some: bool, left: set[str]) -> None:
    assert left <= left_out(named, TABLE, is_some)
    assert bool(left) == bool(left_out(named, TABLE, is_some))


def test_the_releases_of_what_is_recorded() -> None:
    assert releases_of(["cudaMallocManaged"], TABLE) == {"cudaFree"}
    assert releases_of(["cuMemAlloc_v2"], TABLE) >= {"cuMemFree", "cuMemFree_v2", "cuMemFreeAsync_ptsz"}
    assert not releases_of(["cuMemFree_v2", "cuMemGetInfo_v2"], TABLE)

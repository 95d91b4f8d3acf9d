"""The ledger, where a hook library keeps memory of its own below the blocks that it hands out."""

from __future__ import annotations

from copy import copy
from typing import Any

import pytest
from ledger_calls import WRITER, alloc, at, fed, kinds
from ledger_calls import free as free_call
from log_files import call as hook_call
from log_files import failed

from gdbcuda.calls.record import Call
from gdbcuda.calls.references import References
from gdbcuda.ledger import Ledger, below, ledger_data, views

VA, SIZE = 0x9000, 4096
MAPPED = {"ptr": f"{VA:#x}", "size": SIZE}


def call(number: int, name: str, *arguments: Any, **fields: Any) -> Call:
    return hook_call(number, name, *arguments, **{"layer": "driver", **fields})


def free(number: int, address: int, layer: str = "driver", **fields: Any) -> Call:
    return free_call(number, address, layer=layer, **fields)


def create(number: int, handle: int, **fields: Any) -> Call:
    return call(number, "cuMemCreate", {"size": SIZE}, out={"handle": at(handle)}, **fields)


def map_(number: int, handle: int, **fields: Any) -> Call:
    return call(number, "cuMemMap", {**MAPPED, "offset": 0, "handle": f"{handle:#x}", "flags": 0}, **fields)


def unmap(number: int, **fields: Any) -> Call:
    return call(number, "cuMemUnmap", MAPPED, **fields)


def release(number: int, handle: int, **fields: Any) -> Call:
    return call(number, "cuMemRelease", {"handle": f"{handle:#x}"}, **fields)


def within(parent: int, end: float) -> dict[str, Any]:
    return {"parent": parent, "depth": 1, "layer": "driver", "end": end}


def handed_out() -> list[Call]:
    """cudaMalloc of a hook library that maps memory which it can give back."""
    reserve = call(1, "cuMemAddressReserve", {"size": SIZE}, out={"ptr": at(VA)}, **within(0, 0.0015))
    outer = call(0, "cudaMalloc", {"devPtr": {"address": "0x7ffe0"}, "size": SIZE}, out={"devPtr": at(VA)},
                 layer="hook", end=0.009)  # fmt: skip
    return [outer, reserve, create(2, 0x77, **within(0, 0.0025)), map_(3, 0x77, **within(0, 0.0035))]


def given_back() -> list[Call]:
    inner = [unmap(31, **within(30, 0.0315)), release(32, 0x78, **within(30, 0.0325))]
    address = call(33, "cuMemAddressFree", MAPPED, **within(30, 0.0335))
    return [call(30, "cudaFree", {"devPtr": f"{VA:#x}"}, layer="hook", end=0.039), *inner, address]


PAUSE = [unmap(10), release(11, 0x77)]
RESUME = [create(20, 0x78), map_(21, 0x78)]


def test_memory_that_is_given_back_below_a_block() -> None:
    paused = fed(References(), *handed_out(), *PAUSE)
    assert not paused.problems and paused.usage.on_device == 0 and paused.usage.peak == SIZE
    text = views.live(paused, WRITER)
    assert "4096 [4.00 KiB], 4.00 KiB of it given back by the hook library" in text
    assert "1 block: device 0 in 1" in text
    assert ledger_data.ledger(paused, WRITER)["live"][0]["given_back"] == SIZE


def test_memory_that_is_behind_two_blocks_is_given_back_below_both() -> None:
    second = {"ptr": f"{VA + SIZE:#x}", "size": SIZE}
    outer = call(4, "cudaMalloc", {"devPtr": {"address": "0x7ffe0"}, "size": SIZE}, out={"devPtr": at(VA + SIZE)},
                 layer="hook", end=0.009)  # fmt: skip
    reserve = call(5, "cuMemAddressReserve", {"size": SIZE}, out={"ptr": at(VA + SIZE)}, **within(4, 0.0055))
    behind = call(6, "cuMemMap", {**second, "offset": 0, "handle": "0x77", "flags": 0}, **within(4, 0.0065))
    calls = [*handed_out(), outer, reserve, behind, unmap(10), call(11, "cuMemUnmap", second)]
    assert fed(References(), *calls).usage.on_device == 2 * SIZE
    paused = fed(References(), *calls, release(12, 0x77))
    assert not paused.problems and paused.usage.on_device == 0


def test_and_gotten_anew() -> None:
    resumed = fed(References(), *handed_out(), *PAUSE, *RESUME)
    assert not resumed.problems and views.total(resumed.blocks.live()) == "1 block: device 4096 [4.00 KiB] in 1"
    assert resumed.usage.on_device == resumed.usage.peak == SIZE
    freed = fed(References(), *handed_out(), *PAUSE, *RESUME, *given_back())
    assert not freed.problems and not freed.blocks.live() and freed.usage.on_device == 0


def test_memory_that_is_only_moved_stays() -> None:
    moved = fed(References(), *handed_out(), create(10, 0x78), unmap(11), map_(12, 0x78), release(13, 0x77))
    assert not moved.problems and moved.usage.on_device == SIZE
    kept = fed(References(), *handed_out(), unmap(10))
    assert kept.usage.on_device == SIZE, "its handle is there still"


def test_who_frees_later_frees_once() -> None:
    """The hook library's own thread gives back what the program has freed before; the program may not free it again."""
    outer = alloc(0, 0x1000, SIZE, layer="hook", end=0.009)
    inner = alloc(1, 0x1000, SIZE, **within(0, 0.0015))
    late = free(12, 0x1000, thread=2)
    calls = [outer, inner, free(10, 0x1000, layer="hook"), late]
    assert not fed(References(), *calls).problems
    assert kinds(fed(References(), *calls[:3], free(11, 0x1000, layer="hook"), late)) == ["double free"]
    assert kinds(fed(References(), *calls, free(13, 0x1000))) == ["double free"]


def test_memory_that_blocks_are_cut_from() -> None:
    pool = alloc(1, 0x1000, 64 * SIZE, **within(0, 0.0015))
    cut = alloc(0, 0x2000, SIZE, layer="hook", end=0.009)
    assert not fed(References(), cut, pool, free(10, 0x2000, layer="hook"), free(11, 0x1000)).problems
    assert kinds(fed(References(), cut, pool, free(11, 0x1000), free(12, 0x1000))) == ["unknown pointer"]


def test_a_block_of_the_runtimes_that_the_driver_takes_back() -> None:
    """There is no hook library: nothing is below."""
    inner = alloc(1, 0x1000, SIZE, **within(0, 0.0015))
    calls = [alloc(0, 0x1000, SIZE, layer="runtime", end=0.009), inner, free(10, 0x1000)]
    assert kinds(fed(References(), *calls)) == []
    assert kinds(fed(References(), *calls, free(11, 0x1000))) == ["double free"]


def passed_on(outer: Call) -> list[Call]:
    """As the hook library gets it, and as the driver gets it from the library."""
    assert outer.end is not None
    inner = call(
        outer.number + 1, outer.name, outer.arguments, out=outer.out, **within(outer.number, outer.end + 0.001)
    )
    outer.layer, outer.end = "hook", outer.end + 0.002
    return [outer, inner]


def mapped_by_the_program() -> list[Call]:
    reserve = call(0, "cuMemAddressReserve", {"size": SIZE}, out={"ptr": at(VA)})
    return [reserve, create(10, 0x77), map_(20, 0x77)]


GIVEN_UP = [unmap(30), release(40, 0x77), call(50, "cuMemAddressFree", {"ptr": f"{VA:#x}", "size": SIZE})]
EARLY = [release(30, 0x77), unmap(40), GIVEN_UP[2]]  # the mapping holds the memory


def both_layers(*calls: Call) -> list[Call]:
    return [each for one in calls for each in passed_on(copy(one))]


def books(ledger: Ledger) -> Any:
    return [(b.address, b.kind, b.references, b.mappings) for b in ledger.blocks.live()], ledger.usage.bytes, \
        ledger.usage.on_device, ledger.usage.peak, kinds(ledger)  # fmt: skip


def test_memory_that_the_program_maps_is_its_own() -> None:
    """The hook library passes its calls on: the driver's call within is about the same memory."""
    for ends in (GIVEN_UP, EARLY):
        calls = [*mapped_by_the_program(), *ends]
        for count in range(1, len(calls) + 1):
            one, two = fed(References(), *calls[:count]), fed(References(), *both_layers(*calls[:count]))
            assert books(one) == books(two) and not two.problems
            assert not any(block.absent for block in two.blocks.all())


def test_what_the_program_gives_back_past_the_hook_is_gone() -> None:
    calls = [*both_layers(*mapped_by_the_program()), *GIVEN_UP]
    assert not fed(References(), *calls).problems
    twice = [unmap(60), release(70, 0x77)]
    assert kinds(fed(References(), *calls, *twice)) == ["not mapped", "double free"]


def test_a_hook_that_unmaps_and_releases_later() -> None:
    """As it may with blocks: the program has given its mapping back, the driver's calls come from another thread."""
    asked = [copy(one) for one in GIVEN_UP[:2]]
    for one in asked:
        one.layer = "hook"
    late = [unmap(60, thread=2), release(70, 0x77, thread=2)]
    assert not fed(References(), *both_layers(*mapped_by_the_program()), *asked, *late).problems


def test_each_block_in_front_of_a_mapping_loses_its_memory() -> None:
    """A pool of one mapping, which two blocks are cut from."""
    blocks = [alloc(30, VA, SIZE // 2, layer="hook"), alloc(31, VA + SIZE // 2, SIZE // 2, layer="hook")]
    cut = [*handed_out(), call(10, "cudaFree", {"devPtr": f"{VA:#x}"}, layer="hook"), *blocks]
    ledger = fed(References(), *cut, unmap(40), release(41, 0x77))
    assert not ledger.problems and [block.present for block in ledger.blocks.live()] == [0, 0]
    assert ledger.usage.on_device == 0
    again = fed(References(), *cut, unmap(40), release(41, 0x77), create(42, 0x78), map_(43, 0x78))
    assert not again.problems and [block.present for block in again.blocks.live()] == [SIZE // 2, SIZE // 2]


def chunk(number: int, name: str, index: int, **fields: Any) -> Call:
    handle = {"offset": 0, "handle": f"{0x100 + index:#x}", "flags": 0}
    return call(number, name, {"ptr": f"{VA + index * SIZE:#x}", "size": SIZE, **handle}, **fields)


def test_what_is_mapped_is_not_counted_anew_for_each_chunk(monkeypatch: pytest.MonkeyPatch) -> None:
    """It costs the square of their number."""
    count = 20
    inner = [call(1, "cuMemAddressReserve", {"size": count * SIZE}, out={"ptr": at(VA)}, **within(0, 0.0015))]
    for i in range(count):
        inner.append(create(2 + i, 0x100 + i, **within(0, 0.0025 + i / 1000)))
        inner.append(chunk(50 + i, "cuMemMap", i, **within(0, 0.0505 + i / 1000)))
    outer = call(0, "cudaMalloc", {"devPtr": {"address": "0x7ffe0"}, "size": count * SIZE}, out={"devPtr": at(VA)},
                 layer="hook", end=0.1)  # fmt: skip
    pause = [
        one for i in range(count) for one in (chunk(200 + 2 * i, "cuMemUnmap", i), release(201 + 2 * i, 0x100 + i))
    ]
    resume = [one for i in range(count) for one in (create(300 + 2 * i, 0x100 + i), chunk(301 + 2 * i, "cuMemMap", i))]
    looked_at: list[int] = []
    real = below.shared
    monkeypatch.setattr(below, "shared", lambda block, one: looked_at.append(1) or real(block, one))
    half = fed(References(), outer, *inner, *pause[:count])
    assert not half.problems and half.usage.on_device == count * SIZE // 2
    looked_at.clear()
    ledger = fed(References(), outer, *inner, *pause, *resume)
    assert not ledger.problems and ledger.usage.on_device == count * SIZE
    assert len(looked_at) < 4 * count


def test_a_block_whose_size_is_told_later() -> None:
    """All of what is mapped counts from then on."""
    reserve = call(1, "cuMemAddressReserve", {"size": 2 * SIZE}, out={"ptr": at(VA)}, **within(0, 0.0015))
    made = [create(2 + i, 0x100 + i, **within(0, 0.0025 + i / 1000)) for i in range(2)]
    mapped = [chunk(4 + i, "cuMemMap", i, **within(0, 0.0045 + i / 1000)) for i in range(2)]
    outer = call(0, "cudaMalloc", {"devPtr": {"address": "0x7ffe0"}}, out={"devPtr": at(VA)}, layer="hook", end=0.009)
    told = call(20, "cuMemGetAddressRange_v2", {"dptr": f"{VA:#x}"}, out={"pbase": at(VA), "psize": at(2 * SIZE)})
    gone = [[chunk(10 * n, "cuMemUnmap", i), release(10 * n + 1, 0x100 + i)] for i, n in enumerate((1, 3))]
    ledger = fed(References(), outer, reserve, *made, *mapped, *gone[0], told, *gone[1])
    assert not ledger.problems and [(b.size, b.present) for b in ledger.blocks.live()] == [(2 * SIZE, 0)]


def test_an_allocation_that_tells_no_address_is_none() -> None:
    outer = alloc(0, 0x1000, SIZE, layer="hook", end=0.009)
    untold = call(1, "cuMemCreate", {"size": SIZE}, **within(0, 0.0015))
    plain = call(2, "cuMemAlloc_v2", {"bytesize": SIZE}, **within(0, 0.0025))
    ledger = fed(References(), outer, untold, plain)
    assert not ledger.below.blocks.live() and not any(ledger.below.plain.values())


def test_memory_that_the_hook_made_before() -> None:
    """Until it is mapped nobody knows that it is the hook library's; then it is no memory of its own, nor was freed."""
    outer, reserve, _, mapped = handed_out()
    for one in (outer, reserve, mapped):
        one.start += 0.002
        one.end = (one.end or 0) + 0.002
    ledger = fed(References(), create(1, 0x77), outer, reserve, mapped)
    assert not ledger.problems and ledger.usage.on_device == ledger.usage.peak == SIZE
    top = ledger.usage.at_peak()
    assert top is not None and [(b.call.name, b.present) for b in top.blocks] == [("cudaMalloc", SIZE)]
    assert not ledger.usage.freed_since_peak and [b.kind for b in ledger.blocks.live()] == ["device"]


def test_a_block_that_is_gone_loses_nothing() -> None:
    """Handed out again before the log has told of its end."""
    calls = [*handed_out(), unmap(10)]
    anew = alloc(20, VA, SIZE, layer="hook", end=0.029)
    ledger = fed(References(), *calls, anew, release(40, 0x77))
    assert ledger.usage.on_device == SIZE == sum(b.present for b in ledger.blocks.live())


def test_views_tell_what_was_then_and_what_is_now() -> None:
    refused = failed(9, "cuMemAlloc_v2", 2, "CUDA_ERROR_OUT_OF_MEMORY", arguments={"bytesize": 1 << 40})
    paused = fed(References(), *handed_out(), refused, *PAUSE)
    assert "given back" not in views.peak(paused, WRITER) and "given back" in views.live(paused, WRITER)
    data = ledger_data.ledger(paused, WRITER)
    assert "given_back" not in data["peak"]["blocks"][0] and "given_back" not in data["first_refusal"]["blocks"][0]
    assert "4096" not in views.leaks(paused, WRITER)
    row = views.by_site(paused, WRITER).splitlines()[2]
    assert row.split()[:6] == ["1", "4096", "[4.00", "KiB]", "1", "0"]
    later = fed(References(), *handed_out(), *PAUSE, alloc(15, 0x1000, SIZE, layer="hook"), *RESUME)
    text = views.peak(later, WRITER)
    assert "in 2 blocks, when #21 " in text and "given back" not in text
    without = fed(References(), *handed_out(), *PAUSE, alloc(15, 0x1000, 2 * SIZE, layer="hook"), *given_back())
    assert "4.00 KiB of it given back by the hook library" in views.peak(without, WRITER)


def kept_by_a_hook_of_the_driver(driver: bool = True) -> list[Call]:
    """The runtime is above it: cudaMalloc, and cudaFree which it takes for later."""
    calls = [alloc(0, 0x1000, SIZE, layer="runtime", end=0.009)]
    calls.append(alloc(1, 0x1000, SIZE, **{**within(0, 0.005), "layer": "hook"}))
    inner = alloc(2, 0x1000, SIZE, **{**within(1, 0.004), "depth": 2})
    calls += [inner] if driver else []
    return [
        *calls,
        free(10, 0x1000, layer="runtime", end=0.019),
        free(11, 0x1000, **{**within(10, 0.015), "layer": "hook"}),
    ]


def test_who_frees_later_below_the_runtime_frees_once() -> None:
    calls, late = kept_by_a_hook_of_the_driver(), free(30, 0x1000, thread=2)
    twice = free(20, 0x1000, layer="runtime", status=1, result="cudaErrorInvalidValue")
    assert not fed(References(), *calls, late).problems
    assert kinds(fed(References(), *calls, twice, late)) == ["double free"]
    assert kinds(fed(References(), *calls, late, free(31, 0x1000))) == ["double free"]
    for wrong in (twice, late):  # the driver has handed out nothing there
        assert kinds(fed(References(), *kept_by_a_hook_of_the_driver(driver=False), wrong)) == ["double free"]
    at_once = free(12, 0x1000, **{**within(11, 0.014), "depth": 2})
    assert kinds(fed(References(), *calls, at_once, late)) == ["double free"]

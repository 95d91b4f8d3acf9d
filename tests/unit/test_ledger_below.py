"""The ledger, where a hook library keeps memory of its own below the blocks that it hands out."""

from __future__ import annotations

from typing import Any

from ledger_calls import WRITER, alloc, at, fed, kinds
from ledger_calls import free as free_call
from log_files import call as hook_call

from gdbcuda.calls.record import Call
from gdbcuda.calls.references import References
from gdbcuda.ledger import ledger_data, views

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

"""gdbcuda log diff: where two logs part."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from log_files import alloc_of, call, failed, free_of, pointer, run, write

from gdbcuda.calls.record import Call


def diff_of(capsys: pytest.CaptureFixture[str], tmp_path: Path, first: list[Call], second: list[Call]) -> str:
    return run(capsys, "diff", write(tmp_path / "first", first), write(tmp_path / "second", second))


def test_pointers_differ_from_run_to_run(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    first = [alloc_of(0, "0x100"), free_of(1, "0x100"), alloc_of(2, "0x100"), free_of(3, "0x100")]
    second = [alloc_of(0, "0x200"), free_of(1, "0x200"), alloc_of(2, "0x300"), free_of(3, "0x300")]
    assert diff_of(capsys, tmp_path, first, second) == "No difference in 4 calls of the program.\n"


def test_a_result_that_is_no_constant(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    first, second = ([call(0, "cuInit", status=wrong, result=wrong)] for wrong in (4242, -1))
    text = diff_of(capsys, tmp_path, first, second)
    assert "result is 4242 (not in CUresult) in the first, -1 (not in CUresult) in the second\n" in text


def test_diff_finds_the_first_of_each_kind(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    first = [alloc_of(0, "0x100"), alloc_of(1, "0x110"), free_of(2, "0x100"), alloc_of(3, "0x1"), free_of(4, "0x110")]
    second = [alloc_of(0, "0x200"), alloc_of(1, "0x210", 65), free_of(2, "0x210"),
              failed(3, "cuMemAlloc_v2", 2, "CUDA_ERROR_OUT_OF_MEMORY", arguments=first[3].arguments),
              call(4, "cuInit"), call(5, "cuInit")]  # fmt: skip
    text = diff_of(capsys, tmp_path, first, second)
    assert "Differs in arguments, thread 1 of each log (the first of 2): bytesize is 64 in the first, 65" in text
    assert "result is CUDA_SUCCESS in the first, CUDA_ERROR_OUT_OF_MEMORY in the second\n" in text
    assert "Differs in order, thread 1 of each log: cuMemFree_v2 in the first, cuInit in the second\n" in text
    assert "\nAlike: 1 call.\n" in text
    rows = [line.split() for line in text.splitlines()]
    assert ["cuInit", "0", "2", "2"] in rows and ["cuMemFree_v2", "1", "0", "-1"] in rows


def test_diff_of_some_functions(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Where one log has more functions than the other."""
    first = [call(0, "cuInit"), alloc_of(1, "0x10"), call(2, "cuCtxSynchronize"), free_of(3, "0x10")]
    second = [alloc_of(0, "0x70"), free_of(1, "0x70")]
    paths = [write(tmp_path / name, calls) for name, calls in (("a", first), ("b", second))]
    assert "cuInit in the first, cuMemAlloc_v2 in the second\n" in run(capsys, "diff", *paths)
    assert "No difference in 2 calls" in run(capsys, "diff", *paths, "--function", "cuMem*")


def test_diff_sees_the_wrong_pointer_freed(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    first = [alloc_of(0, "0x100"), alloc_of(1, "0x110"), free_of(2, "0x100")]
    second = [alloc_of(0, "0x200"), alloc_of(1, "0x210"), free_of(2, "0x210")]
    assert "dptr is 0x100 in the first, 0x210 in the second\n" in diff_of(capsys, tmp_path, first, second)


def test_diff_follows_the_handles_of_pools(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """A pool, and what is allocated from it, are another's in each run; the wrong pool is a difference."""

    def calls(pools: tuple[str, str], used: int, block: str) -> list[Call]:
        made = [call(n, "cuMemPoolCreate", {"pool": {"address": "0x1"}}, out={"pool": pointer(pool)["dptr"]})
                for n, pool in enumerate(pools)]  # fmt: skip
        given = {"dptr": {"address": "0x2"}, "bytesize": 64, "pool": pools[used], "hStream": None}
        return [
            *made,
            call(2, "cuMemAllocFromPoolAsync", given, out=pointer(block)),
            call(3, "cuMemFreeAsync", {"dptr": block, "hStream": None}),
            call(4, "cuMemPoolTrimTo", {"pool": pools[used], "minBytesToKeep": 0}),
            call(5, "cuMemPoolDestroy", {"pool": pools[0]}),
        ]

    first = calls(("0x10", "0x20"), 0, "0x30")
    assert diff_of(capsys, tmp_path, first, calls(("0x20", "0x40"), 0, "0x10")).startswith("No difference in 6 calls")
    text = diff_of(capsys, tmp_path, first, calls(("0x50", "0x60"), 1, "0x70"))
    assert "(the first of 2)" in text and "pool is 0x10 in the first, 0x60 in the second" in text


def test_diff_looks_at_outermost_calls_and_threads_apart(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    inner = alloc_of(1, "0x100", parent=0, layer="driver")
    hooked = [alloc_of(0, "0x100", end=0.1), inner, call(9, "cuInit", thread=2)]
    bare = [call(0, "cuInit", thread=7, layer="driver"), alloc_of(1, "0x900", thread=3, layer="driver")]
    assert "Differs in order" in diff_of(capsys, tmp_path, hooked, bare)  # threads are matched as they appear
    bare = [alloc_of(0, "0x900", thread=3, layer="driver"), call(1, "cuInit", thread=7, layer="driver")]
    assert "No difference in 2 calls" in diff_of(capsys, tmp_path, hooked, bare)


def test_diff_tells_processes_from_threads(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Each has a first thread; that of a child is compared with the same child's, however their calls are mixed."""
    parent, child = [call(0, "cuInit", pid=10), call(4, "cuInit", pid=10, thread=2)], alloc_of(2, "0x100", pid=20)
    first = [*parent[:1], child, *parent[1:]]
    grown = alloc_of(2, "0x900", 65, pid=40, thread=9)
    second = [call(0, "cuInit", pid=30), call(1, "cuInit", pid=30, thread=5), grown]
    text = diff_of(capsys, tmp_path, first, second)
    assert "Differs in arguments, process 2, thread 1 of each log: bytesize is 64 in the first, 65" in text
    assert "\nAlike: 2 calls.\n" in text
    paths = [str(write(tmp_path / name, calls)) for name, calls in (("a", first), ("b", second))]
    found = json.loads(run(capsys, "diff", "--json", *paths))["first"]
    assert [(one["process"], one["thread"]) for one in found] == [(2, 1)]


def test_diff_says_null_for_null(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """As every other line of a call does."""
    first = [call(0, "cuMemAllocAsync", {"dptr": {"address": "0x1"}, "bytesize": 64, "hStream": None})]
    second = [call(0, "cuMemAllocAsync", {"dptr": {"address": "0x1"}, "bytesize": 2048, "hStream": "0x70"})]
    text = diff_of(capsys, tmp_path, first, second)
    assert "hStream is NULL in the first, 0x70 in the second" in text
    assert "bytesize is 64 in the first, 2048 [2.00 KiB] in the second" in text


def test_diff_of_null_and_a_pointer_to_what_is_not_known(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """The address is known; so is the NULL that an out-value is."""
    texts = [diff_of(capsys, tmp_path, [call(0, "cuMemAlloc_v2", {"dptr": one, "bytesize": 64})],
                     [call(0, "cuMemAlloc_v2", {"dptr": {"address": "0x1"}, "bytesize": 64})])
             for one in (None, {"address": "0x2"})]  # fmt: skip
    assert "dptr is NULL in the first, 0x1 in the second" in texts[0] and "No difference in 1 call of" in texts[1]
    outs = [{"pfn": {"address": "0x1", "value": one}} for one in (None, "0x5")]
    text = diff_of(capsys, tmp_path, *([call(0, "cuGetProcAddress_v2", {"symbol": "a"}, out=out)] for out in outs))
    assert "pfn is NULL in the first, 0x5 in the second" in text

"""What is wrong with how blocks of memory are used."""

from __future__ import annotations

import re

import pytest
from ledger_calls import WRITER, alloc, free, kinds, ledger_of
from log_files import call, failed

from gdbcuda.calls.record import Call
from gdbcuda.ledger import views


@pytest.mark.parametrize(
    ("calls", "kind", "text"),
    [
        ([alloc(0, 0x1000, 64), free(1, 0x1000), free(2, 0x1000)], "double free", "was freed by #1 cuMemFree_v2"),
        ([free(0, 0x1000)], "unknown pointer", "no recorded call"),
        ([alloc(0, 0x1000, 64), free(1, 0x1010)], "interior pointer", "16 bytes into the 64 B of #0"),
        ([alloc(0, 0x1000, 64), call(1, "cuMemFreeHost", {"p": "0x1000"})], "wrong family", "is for cuMemFree"),
        ([alloc(0, 0x1000, 64), free(1, 0x1000),
          call(2, "cuMemsetD8_v2", {"dstDevice": "0x1008", "uc": 0, "N": 8})], "use after free", "dstDevice lies in"),
        ([alloc(0, 0x1000, 64), free(1, 0x1000),
          call(2, "cuMemcpy", {"dst": "0x9", "src": "0x1008", "ByteCount": 8})],
         "use after free", "; unless it is memory of the program's own by now"),
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


def test_a_double_free_names_the_first_one_and_an_overrun_not_the_free_that_came_later() -> None:
    fill = call(1, "cuMemsetD8_v2", {"dstDevice": "0x1000", "uc": 0, "N": 65})
    beyond, twice = ledger_of(alloc(0, 0x1000, 64), fill, free(2, 0x1000), free(3, 0x1000)).problems
    assert re.findall(r"^  #(\d+)", views.problem_text(beyond, WRITER), re.MULTILINE) == ["1", "0"]
    assert re.findall(r"^  #(\d+)", views.problem_text(twice, WRITER), re.MULTILINE) == ["3", "0", "2"]

"""What the ledger says of its blocks: leaks, the peak, histories, what was reported."""

from __future__ import annotations

from ledger_calls import NOTES, TABLE, WRITER, alloc, at, fed, free, ledger_of
from log_files import call, failed

from gdbcuda.calls.references import References
from gdbcuda.calls.sinks import in_order
from gdbcuda.calls.text import CallWriter
from gdbcuda.ledger import Ledger, views
from gdbcuda.ledger.blocks import KEPT, MEMORY
from gdbcuda.text.highlight import C, highlighted_line
from gdbcuda.text.render import colour


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


def test_the_site_is_the_nearest_caller_in_the_program() -> None:
    ledger = ledger_of(alloc(0, 0x1000, 64, caller=0x99, stack=[0x99, 0x400]))
    assert [b.site for b in ledger.blocks.live()] == [0x400]


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


def test_a_history_has_the_backtraces_that_were_recorded() -> None:
    ledger = ledger_of(alloc(0, 0x1000, 64, stack=[0x400, 0x500]), free(1, 0x1000))
    assert "\n         from 0x500\n#1" in views.history(ledger, CallWriter(TABLE, NOTES), 0x1000)


def test_what_was_reported_beside_our_count() -> None:
    answer = {"free": {"address": "0x1", "value": 900}, "total": {"address": "0x2", "value": 1000}}
    asked = call(1, "cuMemGetInfo_v2", out=answer)
    ledger = ledger_of(alloc(0, 0x1000, 64), asked)
    (row,) = ledger.reported.values()
    assert (row.used, row.total, row.ours) == (100, 1000, 64)
    assert "36" in views.reported(ledger, WRITER)


def test_of_very_many_freed_blocks_the_last_are_remembered() -> None:
    ledger = Ledger(TABLE)
    for number in range(0, 2 * KEPT + 20, 2):
        for is_end, one in in_order([alloc(number, 4096 * (number + 1), 64), free(number + 1, 4096 * (number + 1))]):
            (ledger.exit if is_end else ledger.entry)(one)
    assert len(ledger.blocks.freed) == KEPT and not ledger.problems
    assert ledger.blocks.memory.freed_block_at(4096) is None
    last = ledger.blocks.memory.freed_block_at(4096 * (2 * KEPT + 1) + 8)
    assert last is not None and last.call.number == 2 * KEPT


def test_blocks_that_begin_in_a_range() -> None:
    space = ledger_of(*(alloc(n, address, 8) for n, address in enumerate((98, 99, 100, 109, 110, 111), 1))).blocks
    assert [block.address for block in space.spaces[MEMORY].within(100, 10)] == [100, 109]


def test_the_source_line_stands_below_its_site_once_and_in_colour() -> None:
    notes = References()
    text = 'cuMemAlloc(&kept, f("\x1b"));'
    notes.add("place", {"address": 0x400, "function": "load", "source": "model.c:7", "text": text})
    ledger = fed(notes, alloc(0, 0x1000, 4096), alloc(1, 0x3000, 8192))
    plain = CallWriter(TABLE, notes)
    for view in (views.leaks, views.live, views.by_site):
        rows = view(ledger, plain).splitlines()
        (line,) = (row for row in rows if "cuMemAlloc(&kept" in row)
        assert 'cuMemAlloc(&kept, f("\\x1b"));' in line and "load at model.c:7" in rows[rows.index(line) - 1]
    coloured = CallWriter(TABLE, notes, lambda text, role: colour(text, role, True),
                          lambda text: highlighted_line(text, C, True))  # fmt: skip
    assert colour("cuMemAlloc", "function", True) + "(" in views.leaks(ledger, coloured)

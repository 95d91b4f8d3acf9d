"""A trace of any length is read as a stream: few calls of a thread are held at a time."""

from __future__ import annotations

import struct
import tracemalloc
from pathlib import Path

import pytest
from test_trace_files import PROGRAM, SECOND, call, folder, process, read, ring, words

from gdbcuda.calls.reader import END, Log
from gdbcuda.rings.ring_layout import FRONT, MAGIC, RECORD, RING, RING_HEADER, WORD
from gdbcuda.rings.traced.kept_calls import packed
from gdbcuda.rings.traced.trace_folder import TraceFolder

OUTER, INNER = 0, 1
NOTHING_MORE = (0,) * 5


def kept(*calls: dict[str, int], lwp: int = 71) -> bytes:
    head = words(RING, RECORDS=4, LWP=lwp, FIRST_TICKS=1000, FIRST_NS=5 * SECOND, LATER_TICKS=3000,
                 LATER_NS=5 * SECOND + 1000, COPY=MAGIC)  # fmt: skip
    fronts = (struct.unpack(f"<{RECORD['STACK']}Q", words(FRONT, **one)[: RECORD["STACK"] * WORD]) for one in calls)
    return head.ljust(RING_HEADER * WORD, b"\0") + b"".join(packed(one, NOTHING_MORE) for one in fronts)


def pair(number: int) -> tuple[dict[str, int], dict[str, int]]:
    """A call and one inside it."""
    at, position = 1000 + 100 * number, 2 * number + 1
    return call(position, OUTER, at, at + 80), call(position + 1, INNER, at + 20, at + 40, 0x6000)


def highest(path: str) -> int:
    """Bytes that reading has had at a time."""
    count = 0
    tracemalloc.start()
    for phase, _ in TraceFolder(path).events(Log()):
        count += phase == END
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert count
    return most


def test_memory_does_not_grow_with_the_calls(tmp_path: Path) -> None:
    """16 million took 20 GB."""
    few, many = (folder(tmp_path / str(count), _70_1_process=process(*PROGRAM),
                        _70_1_71_calls=kept(*(one for at in range(count) for one in pair(at))))
                 for count in (500, 5000))  # fmt: skip
    highest(few)  # what is loaded once
    assert highest(many) < highest(few) + (2 << 20)


def test_a_call_that_stands_behind_later_ones(tmp_path: Path) -> None:
    """It had not returned when they were taken out of the ring."""
    (outer, inner), following = pair(0), pair(1)
    raw = kept(inner, *following, outer)
    calls, log = read(folder(tmp_path / "t", _70_1_process=process(*PROGRAM), _70_1_71_calls=raw))
    assert [(one.number, one.layer, one.depth, one.parent) for one in calls] == [
        (0, "hook", 0, None), (1, "driver", 1, 0), (2, "hook", 0, None), (3, "driver", 1, 2)]  # fmt: skip
    assert not +log.problems


def test_events_come_in_the_order_of_time(tmp_path: Path) -> None:
    """Of a thread's calls, and of two threads."""
    first, second = kept(*pair(0), *pair(2)), kept(*pair(1), lwp=72)
    path = folder(tmp_path / "t", _70_1_process=process(*PROGRAM), _70_1_71_calls=first, _70_1_72_calls=second)
    events = [(phase, one.number, one.thread, one.start if phase != END else one.end)
              for phase, one in TraceFolder(path).events(Log())]  # fmt: skip
    assert [event[:3] for event in events] == [
        ("B", 0, 1), ("B", 1, 1), ("E", 1, 1), ("E", 0, 1), ("B", 2, 2), ("B", 3, 2), ("E", 3, 2), ("E", 2, 2),
        ("B", 4, 1), ("B", 5, 1), ("E", 5, 1), ("E", 4, 1)]  # fmt: skip
    assert [event[3] for event in events] == sorted(event[3] or 0 for event in events)


@pytest.mark.parametrize("is_in_ring", [True, False])
def test_who_has_the_return_has_it(tmp_path: Path, is_in_ring: bool) -> None:
    over, open_call = call(1, INNER, 1000, 1500), call(1, INNER, 1000, 0)
    in_ring, in_file = (over, open_call) if is_in_ring else (open_call, over)
    path = folder(tmp_path / "t", _70_1_process=process(*PROGRAM), _70_1_71_ring=ring(in_ring),
                  _70_1_71_calls=kept(in_file))  # fmt: skip
    calls, log = read(path)
    assert [one.ended for one in calls] == [""] and not +log.problems


def test_calls_that_are_missing_between_what_is_kept_and_the_ring(tmp_path: Path) -> None:
    raw = kept(call(1, INNER, 1000, 1100), call(4, INNER, 2000, 2100))
    path = folder(tmp_path / "t", _70_1_process=process(*PROGRAM), _70_1_71_ring=ring(call(7, INNER, 5000, 5100)),
                  _70_1_71_calls=raw)  # fmt: skip
    calls, log = read(path)
    assert len(calls) == 3 and list(log.problems.values()) == [4]
    assert log.notes.gap_until[calls[0].process] == pytest.approx(calls[2].start)


def test_a_ring_that_the_helper_takes_away_while_it_is_read(tmp_path: Path) -> None:
    """What it has is kept by then: in a file that may be new."""
    path = folder(tmp_path / "t", _70_1_process=process(*PROGRAM), _70_1_71_ring=ring(*pair(0)))
    (tmp_path / "t" / "70-1-72.ring").symlink_to("nowhere")
    found, log = TraceFolder(path), Log()
    (tmp_path / "t" / "70-1-72.ring").unlink()
    (tmp_path / "t" / "70-1-71.ring").unlink()
    folder(tmp_path / "t", _70_1_71_calls=kept(*pair(0)))
    assert len(list(found.events(log))) == 4 and not +log.problems

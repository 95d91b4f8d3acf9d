"""The files of a trace as bytes: whatever is in them, there is a log or one line that says why not."""

from __future__ import annotations

import os
import random
import shutil
import struct
from pathlib import Path

import pytest

from gdbcuda import api
from gdbcuda.calls.reader import Log
from gdbcuda.calls.record import Call
from gdbcuda.calls.text import CallWriter
from gdbcuda.errors import UserError
from gdbcuda.files.reading import Source
from gdbcuda.rings.ring import Record
from gdbcuda.rings.ring_layout import (
    A_FOLDER,
    A_FUNCTION,
    AN_OBJECT,
    CALLERS_BIT,
    ENTRY,
    FILE_VERSION,
    FRONT,
    HAS_OUT_BIT,
    MAGIC,
    MORE_ROOM,
    OUTS_BIT,
    PAST_ROOM,
    PLACE_BIT,
    PROCESS,
    RING,
    RING_HEADER,
    STACK_BIT,
    WORD,
)
from gdbcuda.rings.traced import ring_file, trace_folder
from gdbcuda.rings.traced.kept_calls import SMALLEST
from gdbcuda.rings.traced.thread_file import RingCopies, ThreadFile
from gdbcuda.rings.traced.trace_folder import TraceFolder

SECOND = 10**9


def packed(size: int, **fields: int) -> bytes:
    words = [0] * size
    for name, value in fields.items():
        words[int(name[1:])] = value
    return struct.pack(f"<{size}Q", *words)


def words(layout: dict[str, int], **fields: int) -> bytes:
    return packed(layout["SIZE"], **{f"_{layout[name]}": value for name, value in fields.items()})


def entry(kind: int, number: int, address: int, where: int, text: str) -> bytes:
    raw = words(ENTRY, KIND=kind, NUMBER=number, ADDRESS=address, OBJECT=where)
    at = ENTRY["TEXT"] * WORD
    return raw[:at] + os.fsencode(text).ljust(len(raw) - at, b"\0")


def process(*entries: bytes, pid: int = 70, began: int = 5 * SECOND) -> bytes:
    head = words(PROCESS, MAGIC=MAGIC, VERSION=FILE_VERSION, PID=pid, TICKS=1000, MONOTONIC=began,
                 REALTIME=1700 * SECOND)  # fmt: skip
    return head.ljust(RING_HEADER * WORD, b"\0") + b"".join(entries)


PROGRAM = (
    entry(A_FOLDER, 0, 0, 0, "/somewhere"), entry(AN_OBJECT, 0, 0x1000, 0, "/somewhere/train"),
    entry(AN_OBJECT, 0, 0x90000, 0, "lib/libhook.so"), entry(AN_OBJECT, 0, 0xA0000, 0, "/lib/libcuda.so.1"),
    entry(A_FUNCTION, 0, 0x90100, 3, "cuMemAlloc_v2"), entry(A_FUNCTION, 1, 0xA0100, 4, "cuMemAlloc_v2"),
)  # fmt: skip


def ring(*records: dict[str, int], size: int = 4, lwp: int = 71, began: int = 5 * SECOND) -> bytes:
    """Two ticks a nanosecond."""
    head = words(RING, RECORDS=size, LWP=lwp, FIRST_TICKS=1000, FIRST_NS=began, LATER_TICKS=3000, LATER_NS=began + 1000)
    places = {(one["POSITION"] - 1) % size: words(FRONT, **one) for one in records}
    empty = bytes(FRONT["SIZE"] * WORD)
    fronts = b"".join(places.get(at, empty) for at in range(size))
    return head.ljust(RING_HEADER * WORD, b"\0") + fronts + bytes((size * MORE_ROOM + PAST_ROOM) * WORD)


def call(position: int, function: int, entered: int, left: int, top: int = 0x7000, **more: int) -> dict[str, int]:
    return {"POSITION": position, "FUNCTION": function, "ENTERED": entered, "LEFT": left, "TOP": top,
            "DONE": position if left else 0, "BACK": 0x1234, **more}  # fmt: skip


def folder(path: Path, **files: bytes) -> str:
    path.mkdir(exist_ok=True)
    for name, raw in files.items():
        number, _, kind = name[1:].rpartition("_")
        (path / f"{number.replace('_', '-')}.{kind}").write_bytes(raw)
    return str(path)


def read(path: str) -> tuple[list[Call], Log]:
    log = Log()
    return [one for phase, one in TraceFolder(path).events(log) if phase == trace_folder.BEGIN], log


def copied(*looks: bytes) -> tuple[ThreadFile, list[Record]]:
    """Of a ring's file, as it is when it is read first, and then again."""
    was_read: list[int] = []

    def read(offset: int, size: int) -> bytes:
        raw = looks[-1] if was_read else looks[0]
        if offset + size == len(raw):
            was_read.append(size)
        return raw[offset : offset + size]

    copies = RingCopies()
    found = copies.thread(Source("ring", len(looks[0]), read))
    found.look_through(lambda back, callers: None)
    records = list(found.records())
    copies.close()
    return found, records


def test_how_far_the_reading_is_shows_within_one_file() -> None:
    """And not once it has been looked through, after half a minute."""
    raw = ring(*(call(at + 1, 1, at + 1, at + 2) for at in range(500)), size=512)
    copies, told = RingCopies(), list[int]()
    found = copies.thread(Source("ring", len(raw), lambda offset, size: raw[offset : offset + size]))
    found.parts[0].piece = SMALLEST
    found.look_through(lambda back, callers: None, told.append)
    copies.close()
    assert len(told) > 10 and 0.98 < sum(told) / (len(raw) // 2) <= 1


@pytest.mark.parametrize(("head", "count", "is_partly_read"), [(3, 3, True), (1, 70, False), (300, 3, False)])
def test_of_a_large_ring_only_what_is_used_is_read(head: int, count: int, is_partly_read: bool) -> None:
    """If its header tells no more, and no less, than what is there."""
    raw = bytearray(ring(*(call(at + 1, 1, at + 1, at + 2) for at in range(count)), size=512))
    raw[RING["HEAD"] * WORD : (RING["HEAD"] + 1) * WORD] = head.to_bytes(WORD, "little")
    sizes: list[int] = []

    def read(offset: int, size: int) -> bytes:
        sizes.append(size)
        return bytes(raw[offset : offset + size])

    found = ring_file.read(Source("ring", len(raw), read))
    assert [position for position, _ in found.places] == [*range(1, count + 1)]
    assert (sum(sizes) < len(raw) // 4) is is_partly_read


def test_a_log_of_two_processes_in_the_order_of_time(tmp_path: Path) -> None:
    first = ring(call(1, 0, 1000, 9000), call(2, 1, 2000, 3000, 0x6000))
    second = ring(call(1, 1, 1000, 2000), lwp=90, began=5 * SECOND + 250)
    calls, log = read(folder(tmp_path / "t", _70_1_process=process(*PROGRAM), _70_1_71_ring=first,
                             _90_1_process=process(*PROGRAM, pid=90), _90_1_90_ring=second))  # fmt: skip
    assert [(one.number, one.pid, one.layer, one.thread, one.parent, one.depth) for one in calls] == [
        (0, 70, "hook", 1, None, 0), (1, 90, "driver", 2, None, 0), (2, 70, "driver", 1, 0, 1),
    ]  # fmt: skip
    assert [round(one.start * SECOND) for one in calls] == [0, 250, 500]
    assert calls[0].object == "libhook.so"
    assert log.notes.place(calls[0].process, 0x1234)["layer"] == "app"
    assert not log.problems and log.header["started"] == 1700


def test_the_newest_of_a_ring_are_whole(tmp_path: Path) -> None:
    raw = ring(*(call(at, 1, at * 1000, at * 1000 + 10) for at in (5, 6, 7, 8)))
    calls, log = read(folder(tmp_path / "t", _70_1_process=process(*PROGRAM), _70_1_71_ring=raw))
    assert len(calls) == 4
    assert list(log.problems.values()) == [4]


def test_what_is_written_while_it_is_read_is_left_out() -> None:
    found, records = copied(ring(call(5, 1, 1, 2), call(2, 1, 1, 2), call(3, 1, 1, 0)))
    assert [one.position for one in records] == [2, 3, 5]
    assert records[1].left is None and found.lost == 2


def test_what_is_overwritten_behind_its_front_while_it_is_read_is_left_out() -> None:
    """The front was read, and then the next lap took its words of the stack."""
    before, after = (ring(call(1, 1, 1, 2), call(at, 1, 1, 2), call(3, 1, 1, 2)) for at in (2, 6))
    found, records = copied(before, after)
    assert [one.position for one in records] == [1, 3] and found.lost == 1


@pytest.mark.parametrize(
    "raw, why",
    [(b"", "it is empty"), (b"x" * 8, "its beginning is missing"), (b"x" * 5000, "not written by gdbcuda trace"),
     (process().replace(struct.pack("<Q", FILE_VERSION), struct.pack("<Q", 99), 1), "another version")],
)  # fmt: skip
def test_what_is_no_trace(tmp_path: Path, raw: bytes, why: str) -> None:
    with pytest.raises(UserError, match="a folder without what gdbcuda trace writes"):
        TraceFolder(folder(tmp_path / "t", _1_1_process=raw))
    (tmp_path / "u").mkdir()
    (tmp_path / "u/letter.txt").write_text("x")
    with pytest.raises(UserError, match="a folder without what gdbcuda trace writes"):
        TraceFolder(str(tmp_path / "u"))


@pytest.mark.parametrize("names", [(), ("condition", "filters")])
def test_a_trace_without_a_call(tmp_path: Path, names: tuple[str, ...]) -> None:
    for name in names:
        (tmp_path / name).write_text("x")
    with pytest.raises(UserError, match=r"nothing was recorded into .*: no call was made"):
        TraceFolder(str(tmp_path))


def test_a_ring_that_was_being_made_when_the_process_ended(tmp_path: Path) -> None:
    """A crash in the first call of another thread: nothing is missing."""
    calls, log = read(folder(tmp_path / "t", _70_1_process=process(*PROGRAM), _70_1_71_ring=bytes(9000)))
    assert not calls and not +log.problems


def test_a_ring_that_is_none_is_said(tmp_path: Path) -> None:
    calls, log = read(folder(tmp_path / "t", _70_1_process=process(*PROGRAM), _70_1_71_ring=b"y" * 9000))
    assert not calls and "70-1-71.ring: no ring of gdbcuda trace" in log.problems


def test_a_ring_that_is_cut_off_is_said(tmp_path: Path) -> None:
    """Its newest calls may be missing, which nothing else tells."""
    raw = ring(*(call(at, 1, at * 1000, at * 1000 + 10) for at in (1, 2, 3)))[: RING_HEADER * WORD + 2 * 128]
    calls, log = read(folder(tmp_path / "t", _70_1_process=process(*PROGRAM), _70_1_71_ring=raw))
    assert len(calls) == 2 and dict(+log.problems) == {"70-1-71.ring: it is cut off": 1}


def test_a_ring_without_its_process_is_said(tmp_path: Path) -> None:
    path = folder(tmp_path / "t", _70_1_process=process(*PROGRAM), _80_1_81_ring=ring(call(1, 1, 1, 2)))
    calls, log = read(path)
    assert not calls and "a ring without its 80-1.process" in log.problems


@pytest.mark.parametrize("seed", range(150))
def test_any_bytes_make_a_log_or_one_line(tmp_path: Path, seed: int) -> None:
    dice = random.Random(seed)
    more = 2 << STACK_BIT | 3 << OUTS_BIT | 2 << CALLERS_BIT | dice.randrange(4 * MORE_ROOM) << PLACE_BIT
    first = ring(call(1, 0 | 1 << HAS_OUT_BIT, 1000, 9000, OUTS=8), call(2, 1 | more, 2000, 0, 0x6000),
                 call(3, 7, 9, 8), call(4, 1 | more, 2000, 3000))  # fmt: skip
    second = ring(call(1, 1, 5, 6), lwp=72)
    files = {"_70_1_process": process(*PROGRAM), "_70_1_71_ring": first, "_70_1_72_ring": second}
    for name, raw in files.items():
        files[name] = scribbled(raw, dice)
    try:
        calls, log = read(folder(tmp_path / "t", **files))
    except UserError as problem:
        assert "\n" not in str(problem)
        return
    writer = CallWriter(api.load(), log.notes)
    assert all(writer.line(one) for one in calls)


def scribbled(raw: bytes, dice: random.Random) -> bytes:
    """Mostly in what has a meaning."""
    found, places = bytearray(raw), [at for at in range(len(raw)) if raw[at]]
    for _ in range(dice.choice((0, 1, 3, 30))):
        at = dice.choice(places) if dice.random() < 0.8 else dice.randrange(len(raw))
        found[at] = dice.choice((0, 1, 0x7F, 0x80, 0xFF, dice.randrange(256)))
    return bytes(found[: dice.randrange(len(raw))] if dice.random() < 0.2 else found)


def test_other_files_of_the_folder_are_left_alone(tmp_path: Path) -> None:
    path = folder(tmp_path / "t", _70_1_process=process(*PROGRAM), _70_1_71_ring=ring(call(1, 1, 1, 2)))
    (tmp_path / "t" / "README").write_text("mine")
    os.mkfifo(tmp_path / "t" / "1-1.process")
    (tmp_path / "t" / "2-2.process").mkdir()
    calls, log = read(path)
    assert len(calls) == 1 and sum(log.problems.values()) == 2
    shutil.rmtree(path)

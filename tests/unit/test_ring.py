"""The recorder in libgdbcuda.so: what it writes about real calls, read by the one description of its layout."""

from __future__ import annotations

import platform
import struct
import subprocess
from pathlib import Path
from typing import Callable

import pytest
from ring_memory import reader
from shim_support import OLDER_LIBC

from gdbcuda import elf
from gdbcuda.errors import UserError
from gdbcuda.memory import DictMemory, Memory
from gdbcuda.rings import ring
from gdbcuda.rings.ring_layout import (
    CALLERS_BIT,
    FRONT,
    HAS_OUT_BIT,
    INS_BIT,
    MORE_ROOM,
    NOT_READ,
    PAST_ROOM,
    PLACE_BIT,
    RING,
    STACK_BIT,
    STACK_WORDS,
    STATE,
    VERSION,
    WORD,
)

HERE = Path(__file__).resolve().parent
ADD, OUT, OUTER, JUMPS, FAILS, NOTHING, LAUNCH = range(7)
pytestmark = pytest.mark.skipif(platform.machine() != "x86_64", reason="the recorder is made for x86-64")
Run = Callable[..., bytes]


def release() -> tuple[int, ...]:
    return tuple(map(int, platform.release().split("-")[0].split(".")[:2]))


@pytest.fixture(scope="module", params=["-O0", "-O2"])
def recorded(request: pytest.FixtureRequest, shim: Path, tmp_path_factory: pytest.TempPathFactory) -> Run:
    program = tmp_path_factory.mktemp("recorded") / "recorded"
    flags = ["-Wall", "-Wextra", "-Werror", "-pthread", "-fPIC", request.param, f"-I{shim}/agent"]
    library = [str(shim / "libgdbcuda.so"), f"-Wl,-rpath,{shim}"]
    source = str(HERE / "recorded.c")
    subprocess.run(["gcc", *flags, "-o", str(program), source, *library, *OLDER_LIBC], check=True)
    return lambda *words: subprocess.run([str(program), *map(str, words)], check=True, stdout=subprocess.PIPE).stdout


def test_no_function_of_ours_has_a_name_that_a_program_s_may_have(shim: Path) -> None:
    """``break done`` stopped in the recorder: gdb takes labels of assembly and static functions too."""
    symbols = elf.open(str(shim / "libgdbcuda.so")).symtab.defined()
    assert [one.name for one in symbols if one.type in ("FUNC", "NOTYPE") and "_" not in one.name] == []


@pytest.mark.parametrize("library", ["libgdbcuda.so", "libgdbcuda-trace.so"])
def test_it_asks_for_no_name_of_another_library(shim: Path, library: str) -> None:
    shown = subprocess.run(["nm", "-D", "--undefined-only", str(shim / library)], check=True, stdout=subprocess.PIPE)
    assert shown.stdout == b""


def signed(word: int) -> int:
    return word - (1 << 64) if word >> 63 else word


def test_every_call_of_every_thread(recorded: Run) -> None:
    found = reader(recorded("threads", 4096, 8, 3000)).read()
    assert [len(records) for _, records in found] == [3000] * 8
    assert sorted(records[0].words[0] for _, records in found) == [n * 1000000 for n in range(8)]
    for thread, records in found:
        assert thread.lost == 0
        assert [one.position for one in records] == list(range(1, 3001))
        for i, one in enumerate(records):
            a = records[0].words[0] + i
            assert one.words[:9] == (a, 1, 2, 3, 4, 5, 6, 7, i)
            assert struct.unpack("<d", one.floats[0].to_bytes(8, "little")) == (0.5 * i,)
            assert signed(one.result) == a + 2 + 6 + 12 + 20 + 30 + int(7 * 0.5 * i) + 48 + 63 + 10 * i
            assert one.left is not None and one.left >= one.entered


def test_the_oldest_are_overwritten_and_counted(recorded: Run) -> None:
    found = reader(recorded("threads", 64, 2, 1000)).read()
    assert [(thread.lost, [one.position for one in records]) for thread, records in found] == [
        (1000 - 64, list(range(937, 1001)))
    ] * 2


def test_where_records_are_missing_is_known(recorded: Run) -> None:
    for places, gaps in ((64, [937]), (1024, [])):
        assert [thread.gaps for thread, _ in reader(recorded("threads", places, 2, 1000)).read()] == [gaps, gaps]


def test_the_clock_is_told_twice(recorded: Run) -> None:
    ((thread, _),) = reader(recorded("pointers", 64)).read()
    first_ticks, first_ns, later_ticks, later_ns = thread.clock
    assert later_ns - first_ns >= 20000 and later_ticks > first_ticks


def test_what_a_call_wrote_is_read_when_it_succeeded(recorded: Run) -> None:
    ((_, (nothing, written, nowhere, failed, added)),) = reader(recorded("pointers", 64)).read()
    assert ring.pointees(written.outs, [8]) == ((0x1234).to_bytes(8, "little"),)
    assert ring.pointees(nowhere.outs, [8]) == (None,)
    assert (failed.function, failed.result & 0xFFFFFFFF) == (FAILS, 2)
    assert (nothing.function, nothing.result) == (NOTHING, 0x1234567 + 8 * 0x1111)  # and all registers were kept
    assert added.words[:9] == (1, 2, 3, 4, 5, 6, 7, 8, 9)


def test_of_the_record_in_whose_place_a_call_is_nothing_stays(recorded: Run) -> None:
    ((_, (failed, left)),) = reader(recorded("used", 2)).read()
    assert (failed.function, ring.pointees(failed.outs, [8])) == (FAILS, (b"",))
    assert (left.function, left.left, left.outs) == (JUMPS, None, ())


def test_words_on_the_stack_from_every_place_of_a_page(recorded: Run) -> None:
    ((thread, records),) = reader(recorded("launches", 64)).read()
    assert thread.lost == 512 - 64
    assert [(one.words[0], *map(signed, one.words[6:10])) for one in records] == [
        (16 * at, 7, -16 * at, 9, 0) for at in range(449, 513)]  # fmt: skip
    ((_, records),) = reader(recorded("launches", 512)).read()
    assert [(one.words[0], signed(one.words[7])) for one in records] == [(16 * at, -16 * at) for at in range(1, 513)]


def test_a_call_that_longjmp_leaves_has_no_return(recorded: Run) -> None:
    ((_, records),) = reader(recorded("jump", 64)).read()
    assert [(one.function, one.left is None) for one in records] == [(JUMPS, True), (OUTER, False), (OUT, False)]
    assert records[1].entered < records[2].entered and (records[1].left or 0) > (records[2].left or 0)
    assert records[1].top > records[2].top


def test_a_forked_child_has_an_empty_ring_of_its_own(recorded: Run) -> None:
    ((_, records),) = reader(recorded("fork", 64)).read()
    assert [one.function for one in records] == [OUTER, OUT, OUT]


def test_unwinders_find_the_caller_at_every_instruction(recorded: Run) -> None:
    instructions, lost = map(int, recorded("step", 64).split())
    assert instructions > 200
    assert lost == 0


def test_each_function_is_called_by_code_of_its_own(recorded: Run) -> None:
    recorded("places", 64)  # which its exit status says


@pytest.mark.skipif(release() < (5, 14), reason="the kernel cannot be asked for pages")
def test_pages_are_there_before_they_are_written_to(recorded: Run) -> None:
    """Of a thread that makes many calls: a fault takes longer than a call."""
    fronts, more = recorded("ahead", 1 << 15).split()
    assert (fronts, more) == (b"1", b"1")


def test_the_caller_of_a_call_that_ends_its_thread_is_cleaned_up(recorded: Run) -> None:
    ((_, records),) = reader(recorded("exit", 64)).read()
    assert [(one.function, one.left) for one in records] == [(JUMPS, None)]


def test_a_signal_handler_may_call_at_any_instruction(recorded: Run, capfd: pytest.CaptureFixture[str]) -> None:
    one = reader(recorded("handler", 8192))
    ((thread, records),) = one.read()
    instructions = int(capfd.readouterr().err)
    assert thread.lost == 0 and all(record.left is not None for record in records)
    assert len(records) + one.missed == instructions + 3
    assert one.missed > 0  # while the ring was made
    assert [record.function for record in records].count(ADD) == 1
    assert [record.words[:9] for record in records if record.function == LAUNCH] == [tuple(range(1, 10))]
    assert {record.outs[:2] for record in records if record.function == OUT} == {(8, 7), (8, 5)}


def test_calls_of_signals_while_a_ring_is_made(recorded: Run, capfd: pytest.CaptureFixture[str]) -> None:
    """They wait for it: that takes so long that a timer's signal comes meanwhile."""
    one = reader(recorded("timer", 4096))
    ((_, records),) = one.read()
    handled = int(capfd.readouterr().err)
    assert one.missed == 0
    assert sum(record.outs[:2] == (8, 7) for record in records) == handled >= 20


# -- the reader alone

STATE_AT, RING_AT = 0x10000, 0x20000
NO_MORE: dict[int, int] = {}


def state(**fields: int) -> bytes:
    words = [0] * STATE["SIZE"]
    for name, value in {"VERSION": VERSION, "COUNT": 1, "RINGS": RING_AT, **fields}.items():
        words[STATE[name]] = value
    return struct.pack(f"<{len(words)}Q", *words)


def ring_bytes(records: int, head: int, *calls: dict[str, int], more: dict[int, int] = NO_MORE,
               before: int = 0) -> bytes:  # fmt: skip
    """``more``: words behind all fronts."""
    front = [0] * ring.RING_HEADER
    front[RING["RECORDS"]], front[RING["HEAD"]], front[RING["BEFORE"]] = records, head, before
    found = struct.pack(f"<{len(front)}Q", *front)
    for call in calls:
        words = [0] * FRONT["SIZE"]
        for name, value in call.items():
            words[FRONT[name]] = value
        found += struct.pack(f"<{len(words)}Q", *words)
    behind = [more.get(at, 0) for at in range(4 * MORE_ROOM + PAST_ROOM)]
    return found.ljust((ring.RING_HEADER + 4 * FRONT["SIZE"]) * WORD, b"\0") + struct.pack(f"<{len(behind)}Q", *behind)


def of_bytes(raw: bytes, **fields: int) -> ring.RingReader:
    return ring.RingReader(DictMemory({STATE_AT: state(**fields), RING_AT: raw}), STATE_AT)


class Asked:
    """Memory that knows how many bytes it was asked for."""

    def __init__(self, memory: Memory) -> None:
        self.memory, self.sizes = memory, list[int]()

    def read(self, address: int, size: int) -> bytes:
        self.sizes.append(size)
        return self.memory.read(address, size)


def positions(one: ring.RingReader) -> list[int]:
    return [record.position for _, records in one.read() for record in records]


def test_a_record_that_is_being_written_is_told_later() -> None:
    one = of_bytes(ring_bytes(4, 3, {"POSITION": 1}, {"POSITION": 0}, {"POSITION": 7}))
    assert positions(one) == [1]
    assert (one.rings[RING_AT].unwritten, one.rings[RING_AT].lost) == ({2}, 1)
    one.memory = of_bytes(ring_bytes(4, 3, {"POSITION": 1, "DONE": 1}, {"POSITION": 2}, {"POSITION": 7})).memory
    assert positions(one) == [1, 2]
    assert (one.rings[RING_AT].unwritten, one.rings[RING_AT].lost) == (set(), 1)


def test_of_a_ring_that_a_thread_has_taken_over_the_calls_before_are_lost() -> None:
    """The first of it are zeros, and nobody is about to write them."""
    one = of_bytes(ring_bytes(4, 3, {"POSITION": 0}, {"POSITION": 0}, {"POSITION": 3, "DONE": 3}, before=2))
    assert positions(one) == [3]
    assert (one.rings[RING_AT].unwritten, one.rings[RING_AT].lost) == (set(), 2)


def test_what_was_read_is_read_again_only_if_it_had_not_returned() -> None:
    one = of_bytes(ring_bytes(4, 2, {"POSITION": 1}, {"POSITION": 2, "DONE": 2}))
    assert positions(one) == [1, 2]
    later = ring_bytes(4, 3, {"POSITION": 1, "DONE": 1, "LEFT": 9}, {"POSITION": 2, "DONE": 2}, {"POSITION": 3})
    one.memory = DictMemory({STATE_AT: state(), RING_AT: later})
    assert positions(one) == [1, 3]
    assert one.rings[RING_AT].waiting == {3}


@pytest.mark.parametrize("records", [0, 3, 1 << 40, (1 << 64) - 1])
def test_no_length_is_trusted(records: int) -> None:
    assert positions(of_bytes(ring_bytes(records, 4, {"POSITION": 1}))) == []


def test_a_head_that_lies_costs_no_time() -> None:
    one = of_bytes(ring_bytes(4, (1 << 64) - 2, {"POSITION": 1}))
    assert positions(one) == []


@pytest.mark.parametrize("function", [11 << STACK_BIT, 33 << INS_BIT, 25 << CALLERS_BIT, (1 << 64) - 1])
def test_more_than_a_call_can_have_is_none(function: int) -> None:
    assert positions(of_bytes(ring_bytes(4, 1, {"POSITION": 1, "FUNCTION": function}))) == []


@pytest.mark.parametrize("place", [4 * MORE_ROOM, (1 << 26) - 1])
def test_what_is_beside_no_record_is_not_read(place: int) -> None:
    function = 5 | 2 << STACK_BIT | place << PLACE_BIT
    assert positions(of_bytes(ring_bytes(4, 1, {"POSITION": 1, "FUNCTION": function}))) == []


def test_what_a_call_has_beside_its_front() -> None:
    """Also where it reaches past the end of all."""
    last = 4 * MORE_ROOM - 1
    calls = [
        {"POSITION": 1, "FUNCTION": 5 | 2 << STACK_BIT | 1 << INS_BIT | 3 << CALLERS_BIT | last << PLACE_BIT},
        {"POSITION": 2, "FUNCTION": 6, "DONE": 2, "OUTS": 8},
        {"POSITION": 3, "FUNCTION": 7 | 1 << STACK_BIT | 1 << HAS_OUT_BIT | 7 << PLACE_BIT, "DONE": 3, "OUTS": 8},
    ]
    more = {last: 1, last + 1: 2, last + 2: 3, last + 3: 4, last + 4: 5, 7: 9}
    one = of_bytes(ring_bytes(4, 3, *calls, more=more))
    ((_, (first, second, third)),) = one.read()
    assert (first.function, first.words[6:9], first.ins, first.callers) == (5, (1, 2, 0), (3,), (4, 5))
    assert (second.function, second.words[6:], second.outs) == (6, (0,) * STACK_WORDS, ())
    assert (third.function, third.words[6:8], third.outs[:2]) == (7, (9, 0), (8, 0))


def test_what_calls_have_is_asked_for_at_once() -> None:
    calls = [{"POSITION": at, "FUNCTION": 5 | 2 << STACK_BIT | (at * 7) << PLACE_BIT} for at in (1, 2, 3, 4)]
    one = of_bytes(ring_bytes(4, 4, *calls))
    one.memory = memory = Asked(one.memory)
    assert positions(one) == [1, 2, 3, 4]
    assert memory.sizes[2:-1] == [4 * FRONT["SIZE"] * WORD, (3 * 7 + 2) * WORD]  # between the headers


def test_another_layout_is_refused() -> None:
    with pytest.raises(UserError, match=r"another version of gdbcuda; for the next run, make -C .*shim"):
        of_bytes(ring_bytes(4, 0), VERSION=VERSION + 1).read()


def test_out_values_end_where_a_record_does() -> None:
    assert ring.pointees((8, 5, NOT_READ, 0), [8, 4]) == ((5).to_bytes(8, "little"), None)
    assert ring.pointees((1 << 20,) * 32, [8, 1 << 20, 8]) == (None,)

"""What bpftrace prints, read; and its program, as text. Nothing of it needs rights."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator

import pytest

from gdbcuda import api, condition
from gdbcuda.calls.record import Call
from gdbcuda.observe.probes import Place, Probe, WatchedFile
from gdbcuda.observe.uprobes import bpftrace_condition, bpftrace_events, bpftrace_text
from gdbcuda.observe.uprobes.bpftrace_events import Entered, InOrder, Left, Lost, Mark
from gdbcuda.observe.uprobes.bpftrace_text import ProbeRecord, WatchedProcesses
from gdbcuda.observe.uprobes.uprobe_log import UprobeLog
from gdbcuda.observe.uprobes.watched_calls import WatchedCalls
from gdbcuda.rings.ring_functions import RecordedFunction

FILE = WatchedFile("/lib/libcuda.so.1", "/lib/libcuda.so.1")


def probe(symbol: str, number: int = 0) -> Probe:
    known = RecordedFunction(api.load().functions[symbol], "driver", "libcuda.so.1")
    return Probe(number, known, FILE, Place(symbol, 0x1000, None))


def printed(data: str) -> object:
    return bpftrace_events.read(json.dumps({"type": "printf", "data": data}))


def test_lines_of_bpftrace() -> None:
    assert printed("R\n") == Mark("R")
    begun = printed("B 7 64 a b 7ff0 4000 5000 1000 1 2|train|cuInit|cu\n")
    assert begun == Entered(100, 7, 10, 11, 0x7FF0, 0x4000, 0x5000, 0x1000, (1, 2), "train", "cuInit|cu")
    assert printed("E 7 65 b 7ff0 2 9\n") == Left(101, 7, 11, 0x7FF0, 2, (9,), "")
    assert bpftrace_events.read('{"type": "lost_events", "data": {"events": 6}}') == Lost(6)


def test_bytes_that_are_no_ascii_as_bpftrace_writes_them() -> None:
    line = r'{"type": "printf", "data": "B 0 1 1 1 1 1 1 0|x|\uffffffc3\uffffffa4 \\uffffff80 \"\n"}'
    found = bpftrace_events.read(line)
    assert isinstance(found, Entered)
    assert found.texts.encode("utf-8", "surrogateescape") == "ä".encode() + rb" \uffffff80 " + b'"'


def garbage() -> Iterator[str]:
    yield from ("", "{", "[]", "7", '{"type": "printf"}', '{"type": "printf", "data": 7}', '{"type":"lost_events"}',
                '{"type": "lost_events", "data": {"events": "x"}}', '{"type": "printf", "data": "B 1"}',
                '{"type": "printf", "data": "E z z"}', '{"type": "printf", "data": "B"}')  # fmt: skip
    dice = random.Random(16)
    line = r'{"type": "printf", "data": "B 0 1 1 1 1 1 1 0 5|x|\uffffffc3\n"}'
    for _ in range(2000):
        at = dice.randrange(len(line))
        yield line[:at] + dice.choice(["", "\\", '"', "|", " ", "\x00", "9" * 30]) + line[at + dice.randrange(3) :]


def test_what_is_no_line_of_ours_is_nothing() -> None:
    for line in garbage():
        found = bpftrace_events.read(line)
        assert found is None or isinstance(found, (Entered, Mark)), line


def test_events_of_several_processors_come_by_time() -> None:
    ordered, made = InOrder(longest_wait=10), [Left(time, 0, 1, 0, 0, (), "") for time in (5, 3, 20, 18, 40, 1)]
    found = [event.time for one in made for event in ordered.add(one)]
    assert found == [3, 5, 18, 20, 1]  # the last one came too late for its place
    assert [event.time for event in ordered.rest()] == [40]


class Nowhere:
    """Code of which nothing is known: each call is a call, none a jump."""

    program = ""

    def details(self, address: int) -> None:
        return None

    def is_of_kernel(self, address: int) -> bool:
        return False


def test_calls_that_nothing_ends_and_ends_of_nothing() -> None:
    calls = WatchedCalls([ProbeRecord(probe("cuMemFree_v2"))], api.load(), 0)
    begun = [Entered(time, 0, 1, 1, sp, 7, 0, 0, (64,), "x", "") for time, sp in ((1, 900), (2, 800), (3, 800))]
    ended = [one for event in begun for one in calls.begin(event, Nowhere())[0]]
    assert [(one.number, one.ended) for one in ended] == [(1, "unwound")]  # at its place in the stack is the next one
    assert calls.finish(Left(4, 0, 1, 700, 0, (), "")) == [] and calls.without_begin == 1
    over = calls.finish(Left(5, 0, 1, 900, 0, (), ""))
    assert [(one.number, one.ended) for one in over] == [(2, "unwound"), (0, "")]
    assert not [*calls.rest()]


def test_what_nothing_ends_where_the_kernel_has_lost_something() -> None:
    """Its return may be among that."""
    calls = WatchedCalls([ProbeRecord(probe("cuMemFree_v2"))], api.load(), 0)
    calls.gap_until = 2
    begun = [Entered(time, 0, 1, 1, 900, 7, 0, 0, (64,), "x", "") for time in (1, 3, 4)]
    ended = [one for event in begun for one in calls.begin(event, Nowhere())[0]]
    assert [one.ended for one in ended] == ["return not recorded", "unwound"]


class Told:
    """What a log would hold."""

    def __init__(self) -> None:
        self.begun: list[float] = []
        self.ended: list[tuple[float, str]] = []

    def entry(self, call: Call) -> None:
        self.begun.append(call.start)

    def exit(self, call: Call) -> None:
        self.ended.append((call.start, call.ended))

    def note(self, ts: float, kind: str, details: dict[str, object]) -> None:
        pass

    def close(self) -> None:
        pass


def test_what_begins_while_probes_are_being_taken_off_is_not_told() -> None:
    """Its end may not be told any more, and the next call of the thread would have it for one that was left."""
    told = Told()
    log = UprobeLog([ProbeRecord(probe("cuMemFree_v2"))], api.load(), told, 0)
    log.calls.until = 2 * 10**9
    nobody = 1 << 30  # no process has this number
    for second in (1, 3, 5):
        log.add(Entered(second * 10**9, 0, nobody, 1, 900, 7, 0, 0, (64,), "x", ""))
    log.add(Left(4 * 10**9, 0, 1, 900, 0, (), ""))
    log.add(Left(6 * 10**9, 0, 1, 900, 0, (), ""))
    log.close()
    assert (told.begun, told.ended, log.calls.without_begin) == ([1.0], [(1.0, "")], 0)


def test_a_record_has_room_in_the_kernels_stack() -> None:
    for symbol in api.load().functions:
        record = ProbeRecord(probe(symbol))
        words = len(record.words) + sum(-(-size // 8) for _, size in record.ins if size != 119)
        texts = sum(size == 119 for _, size in record.ins)
        assert bpftrace_text.FIXED + 8 * words + 2 * bpftrace_text.TEXT_SIZE * texts <= 512, symbol


def test_a_register_is_read_once() -> None:
    """The kernel refuses the whole program otherwise ("dereference of modified ctx ptr"), as of a long condition."""
    written = " && ".join(f"*(uint64*)({bpftrace_text.register(0)} + {at}) != 7" for at in range(0, 200, 8))
    text = bpftrace_text.program([probe("cuMemcpy3D_v2")], WatchedProcesses(), {0: written})
    assert [text.count(one) for one in ("arg0", 'reg("sp");')] == [1, 1], text


def test_the_program_watches_a_process_and_what_it_starts() -> None:
    text = bpftrace_text.program([probe("cuMemAlloc_v2")], WatchedProcesses(77), {0: "arg1 > 5"})
    assert 'uprobe:"/lib/libcuda.so.1":cuMemAlloc_v2' in text and "@watched[77]" in text
    assert "curtask->real_parent->real_parent->tgid" in text and "if (arg1 > 5)" in text
    assert "real_parent" not in bpftrace_text.program([probe("cuInit")], WatchedProcesses(77, has_types=False), {})
    in_group = WatchedProcesses(0, "/sys/fs/cgroup/x")
    assert 'cgroup == cgroupid("/sys/fs/cgroup/x")' in bpftrace_text.program([probe("cuInit")], in_group, {})


@pytest.mark.parametrize(
    "symbol, text, kernel, why",
    [("cuMemAlloc_v2", "bytesize > 1M", "(((uint64)((uint64)$a1)) > ((uint64)1048576))", ""),
     ("cuLaunchKernel", "gridDimX == 2 && sharedMemBytes > 8", "$a1", ""),
     ("cuMemAlloc_v2", "caller in app", "", "only a log knows who calls"),
     ("cuMemAlloc_v2", "every 10", "", "counted afterwards"),
     ("cuMemAlloc_v2", "bytesize > 4K && thread == 2", "4096", "in the log"),
     ("cuModuleGetFunction", 'name == "main" || name == "k*"', 'strncmp(str($a2), "k", 1) == 0', ""),
     ("cuArrayCreate_v2", "pAllocateArray->Width > 8", "*(uint64*)", ""),
     ("cuMemAlloc_v2", "bytesize / 3 == 2", "/", ""),
     ("cuMemAlloc_v2", "8 / bytesize == 2", "", "by numbers alone")],
)  # fmt: skip
def test_conditions_in_the_kernel(symbol: str, text: str, kernel: str, why: str) -> None:
    function = api.load().functions[symbol]
    found = bpftrace_condition.in_kernel(condition.parse(text, api.load(), [function]), function)
    assert kernel in found.text and bool(kernel) == bool(found.text)
    assert why in found.why and bool(why) == bool(found.why)

"""The GPU's records: read however they are, on the program's clock, as calls in lanes, joined to their causes."""

from __future__ import annotations

import random
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from gpu_records import header, record
from shim_support import SHIM, build_shim

from gdbcuda.calls.record import Call
from gdbcuda.errors import UserError
from gdbcuda.gpu import cupti_files, gpu_words
from gdbcuda.gpu.calls_around import CallsAround
from gdbcuda.gpu.gpu_calls import GpuReading, GpuWork, side_by_side
from gdbcuda.gpu.gpu_file import GpuFile, gpu_file
from gdbcuda.gpu.joined_calls import JoinedCall, joined, place_of
from gdbcuda.rings.traced.trace_gpu import by_thread

REALTIME = 1_800_000_000_000_000_000  # a float has not the digits
PLACE = {"START": REALTIME + 5_000, "END": REALTIME + 9_000, "CORRELATION": 3, "STREAM": 7}
LOOK = record("CLOCK", BEFORE=1_000_000, GPU=REALTIME + 40, AFTER=1_000_080)
CAUSE = record("CAUSE", CORRELATION=3, THREAD=70, POSITION=5)


def file(*records: bytes) -> GpuFile:
    return gpu_file(header(PID=7) + LOOK + b"".join(records) + record("END"))


def recorded(name: str, start: float, end: float, depth: int = 0) -> Call:
    call = Call(0, name, start, 1)
    call.lwp, call.end, call.layer, call.depth = 70, end, "driver", depth
    return call


def cause_of_all() -> JoinedCall:
    return JoinedCall(recorded("cuLaunchKernel", 0.001, 0.0015))


def reading(of: GpuFile, *calls: JoinedCall) -> GpuReading:
    positions = {place_of(call.lwp, 5 + at): call for at, call in enumerate(calls)}
    return GpuReading(of, positions, by_thread(calls, {70}))


def works(of: GpuFile, *calls: JoinedCall) -> list[GpuWork]:
    return list(reading(of, *calls).work())


def test_a_kernel_with_all_that_is_known_of_it() -> None:
    raw = record("KERNEL", **PLACE, NAME=1, GRID=[4, 5, 6], BLOCK=[32, 2, 1], REGISTERS=40, DYNAMIC_SHARED=1024,
                 STATIC_SHARED=256, LOCAL=16, NODE=12, GRAPH=2)  # fmt: skip
    cause = cause_of_all()
    found = reading(file(record("NAME", "_Z5scaleIfEvPT_S0_i", NUMBER=1), raw, CAUSE), cause)
    (one,) = found.work()
    call = found.call(one)
    assert call.name == "void scale<float>(float*, float, int)" and call.layer == "gpu"
    assert call.arguments == {"grid": [4, 5, 6], "block": [32, 2, 1], "registers": 40, "shared": 1024,
                                  "static": 256, "local": 16, "graph": 2, "node": 12}  # fmt: skip
    assert (one.lane, one.cause) == ("GPU 0 stream 7", cause)
    assert call.start == pytest.approx(0.001005, abs=1e-12) and call.end == pytest.approx(0.001009, abs=1e-12)


def test_a_very_long_name_is_shortened_and_kept() -> None:
    name = "_Z1k" + "I" + "f" * 300 + "EvT_"
    found = reading(file(record("NAME", name, NUMBER=1), record("KERNEL", **PLACE, NAME=1)))
    call = found.call(next(found.work()))
    assert len(call.name) <= 120 and len(call.arguments.get("kernel", name)) >= len(name)


@pytest.mark.parametrize("kind, fields, name, arguments, lane", [
    ("COPY", {"BYTES": 64, "WAY": 1, "FROM": 2, "TO": 3, "IS_ASYNC": 1}, "copy HtoD",
     {"bytes": 64, "from": "pinned", "to": "device"}, "GPU 0 stream 7"),
    ("COPY", {"BYTES": 64, "WAY": 10, "FROM": 3, "TO": 3, "IS_BETWEEN": 1, "SOURCE": 0, "TARGET": 1}, "copy PtoP",
     {"bytes": 64, "from": "device", "to": "device", "source": 0, "target": 1, "sync": True}, "GPU 0 stream 7"),
    ("FILL", {"BYTES": 9, "VALUE": 255, "MEMORY": 5}, "fill", {"bytes": 9, "value": 255, "memory": "managed"},
     "GPU 0 stream 7"),
    ("WAIT", {"TYPE": 3}, "wait for stream", {"stream": 7}, "GPU waits of thread 70"),
    ("WAIT", {"TYPE": 4}, "wait for context", {}, "GPU waits of thread 70"),
    ("MEMORY", {"OPERATION": 1, "ADDRESS": 16, "BYTES": 8, "POOL": 32, "POOL_SIZE": 64, "POOL_USED": 8},
     "allocate from pool", {"address": "0x10", "bytes": 8, "pool": "0x20", "size": 64, "used": 8, "stream": 7},
     "GPU 0 memory pools"),
    ("POOL", {"OPERATION": 3, "POOL": 32, "POOL_SIZE": 64}, "pool trimmed", {"pool": "0x20", "size": 64, "used": 0},
     "GPU 0 memory pools"),
    ("UNIFIED", {"COUNTER": 1, "VALUE": 4096, "ADDRESS": 16}, "migrate HtoD", {"value": 4096, "address": "0x10"},
     "GPU unified memory"),
    ("COPY", {"WAY": 99, "FROM": 99}, "copy ?", {"bytes": 0, "from": "?", "to": "?", "sync": True}, "GPU 0 stream 7"),
])  # fmt: skip
def test_each_kind_of_work(
    kind: str, fields: dict[str, int], name: str, arguments: dict[str, object], lane: str
) -> None:
    found = reading(file(record(kind, **PLACE, **fields), CAUSE), cause_of_all())
    (one,) = found.work()
    assert (found.call(one).name, found.call(one).arguments, one.lane) == (name, arguments, lane)


def test_what_runs_at_one_time_in_one_stream_has_lanes_of_its_own() -> None:
    """A slice of a track cannot end inside of another one."""
    times = [(0, 10), (2, 6), (3, 12), (6, 9), (12, 13)]
    found = works(file(*(record("FILL", START=REALTIME + start, END=REALTIME + end, STREAM=7) for start, end in times)))
    side_by_side(found)
    lanes = [one.lane.removeprefix("GPU 0 stream 7") for one in found]
    assert lanes == ["", " (2)", " (3)", " (2)", ""]


def test_work_without_times_is_counted() -> None:
    found = reading(file(record("FILL", START=0, END=0), record("FILL", START=9, END=3)))
    assert list(found.work()) == [] and found.without_time == 2


def test_the_cause_is_told_by_number_whatever_the_times_say() -> None:
    """Of a position the file has the lower half."""
    late = cause_of_all()
    late.start, late.end = 5.0, 6.0
    (one,) = works(file(record("FILL", **PLACE), CAUSE), late)
    assert one.cause is late
    (one,) = works(file(record("FILL", **PLACE), record("CAUSE", CORRELATION=4, THREAD=70, POSITION=5)), late)
    assert one.cause is None


def test_a_call_that_only_cupti_has_seen() -> None:
    """The recorder's call around it, or else a call of its own."""
    seen = record("CALL", START=REALTIME + 1_000, END=REALTIME + 2_000, CORRELATION=3, THREAD=70, NAME=1, IS_RUNTIME=1)
    of = file(record("NAME", "cudaLaunchKernel_v7000", NUMBER=1), seen, record("FILL", **PLACE))
    around = cause_of_all()
    assert [one.cause for one in works(of, around)] == [around]
    (alone,) = works(of)
    assert alone.cause is not None and (alone.cause.name, alone.cause.lwp) == ("cudaLaunchKernel", 70)
    assert isinstance(alone.cause, Call) and (alone.cause.layer, alone.cause.pid) == ("runtime", 7)


def test_calls_inside_of_one_that_only_cupti_has_seen() -> None:
    """A runtime that is linked into the program calls a recorded driver."""
    seen = record("CALL", START=REALTIME - 100_000, END=REALTIME + 600_000, CORRELATION=3, THREAD=70, NAME=1,
                  IS_RUNTIME=1)  # fmt: skip
    inner = cause_of_all()
    found = GpuReading(file(record("NAME", "cudaLaunchKernel_v7000", NUMBER=1), seen, record("FILL", **PLACE)), {},
                       by_thread([inner], {70}))  # fmt: skip
    (one,) = found.work()
    assert one.cause is not None and one.cause.name == "cudaLaunchKernel" and inner.inside == 1


@pytest.mark.parametrize(("calls", "times"), [
    ([(1.1, 2.4)], (1.0, 2.4)),  # its end is the inner call's at least
    ([(0.9, 1.7)], (0.9, 2.0)),
    ([(0.2, 1.1), (1.2, 1.8), (1.9, 4.0)], (1.1, 1.9)),  # the neighbours of the one inside stay outside
    ([(0.0, 9.0), (1.2, 1.8)], (1.0, 2.0)),
    ([(0.0, 0.5), (2.5, 3.0)], (1.0, 2.0)),
])  # fmt: skip
def test_it_crosses_no_recorded_call(calls: list[tuple[float, float]], times: tuple[float, float]) -> None:
    """Microseconds. A slice that overlaps another without being inside is drawn in a wrong place."""
    around = CallsAround(JoinedCall(recorded("cuLaunchKernelEx", start, end)) for start, end in calls)
    assert around.fitted(1.0, 2.0) == times


@pytest.mark.parametrize("early", [-900e-9, -500e-9, 0.0, 400e-9])
def test_short_calls_are_told_apart_by_name(early: float) -> None:
    """They follow each other more closely than the two clocks agree."""
    calls = []
    for number, name in enumerate(("cuMemcpyHtoD_v2", "cuMemcpyDtoH_v2", "cuMemsetD8_v2")):
        start = 1.0 + number * 250e-9
        calls.append(JoinedCall(recorded(name, start, start + 200e-9)))
    around = CallsAround(calls)
    assert [around.called(call.name, call.start + early) for call in calls] == calls
    assert around.called("cuLaunchKernel", 1.0) is None and around.called("cuMemsetD8_v2", 1.1) is None


def test_the_outermost_call_that_makes_work_is_the_cause() -> None:
    """CUPTI hands the innermost number back; what is around that makes no work is not asked for."""
    names = ("cuInit", "cudaLaunchKernel", "cuMemAlloc_v2", "cuLaunchKernel")
    calls = [recorded(name, 0.001 + depth * 1e-5, 0.002 - depth * 1e-5, depth) for depth, name in enumerate(names)]
    found = [one for _, one in joined((5 + at, call) for at, call in enumerate(calls))]
    assert [one.name for one in found] == ["cudaLaunchKernel", "cuLaunchKernel"]
    of = file(record("FILL", **PLACE), record("CAUSE", CORRELATION=3, THREAD=70, POSITION=6))
    assert [one.cause for one in works(of, *found)] == [found[0]]


def test_how_a_call_has_ended_is_known_when_the_next_one_comes() -> None:
    """longjmp leaves it."""
    def unwound() -> Iterator[tuple[int, Call]]:
        left = recorded("cuLaunchKernel", 1.0, 2.0)
        left.end = None
        yield 5, left
        left.end = 1.5
        yield 6, recorded("cuInit", 1.5, 3.0)

    assert [one.last_seen for _, one in [*joined(unwound(), is_every=True)]] == [1.5, 3.0]


def test_devices_have_names() -> None:
    found = file(record("NAME", "NVIDIA H200", NUMBER=2), record("DEVICE", DEVICE=1, NAME=2), record("DEVICE", NAME=9))
    assert found.devices == {1: "NVIDIA H200", 0: "?"}


def test_memories_by_cuptis_numbers() -> None:
    """As cupti_activity.h has them, where it is here."""
    header = next((one.includes[0] for one in cupti_files.places() if one.includes), None)
    if header is None:
        pytest.skip("no CUPTI on this machine")
    text = (Path(header) / "cupti_activity.h").read_text(errors="replace")
    for prefix, words in (("MEMORY_KIND", gpu_words.MEMORIES), ("MEMCPY_KIND", gpu_words.COPIES),
                          ("UNIFIED_MEMORY_COUNTER_KIND", gpu_words.UNIFIED), ("MEMORY_POOL_OPERATION_TYPE",
                          gpu_words.POOLS), ("SYNCHRONIZATION_TYPE", gpu_words.WAITS)):  # fmt: skip
        numbers = {int(value): name for name, value in
                   re.findall(rf"CUPTI_ACTIVITY_{prefix}_(\w+)\s*=\s*(\d+)\b", text)}  # fmt: skip
        assert set(words) == {number for number, name in numbers.items() if name not in ("UNKNOWN", "INVALID")}
        for number, word in words.items():
            ours, theirs = (set(re.findall("[a-z]+", one.lower().replace("_", " "))) for one in (word, numbers[number]))
            assert ours & theirs or prefix in ("UNIFIED_MEMORY_COUNTER_KIND", "SYNCHRONIZATION_TYPE"), (word, numbers)


def test_what_is_missing_is_counted() -> None:
    raw = header(PID=7) + record("DROPPED", COUNT=3) + record("UNREAD", COUNT=2) + record("DROPPED", COUNT=1)
    problems = gpu_file(raw).problems()
    assert problems["a record of the GPU that was dropped: there was no room for it"] == 4
    assert problems["a record of the GPU of an unknown kind"] == 2
    assert problems["GPU of process 7: it was killed, the last tenth of a second may be missing"] == 1
    assert not gpu_file(raw[:64] + record("END")).problems()
    why = gpu_file(header(PID=7) + record("REMARK", "CUPTI tells nothing (X)")).problems()
    assert list(why) == ["GPU of process 7: CUPTI tells nothing (X)"]


@pytest.mark.parametrize("raw, why", [
    (b"", "its beginning is missing"), (header()[:60], "its beginning is missing"),
    (header(MAGIC=1), "no records of a GPU"), (header(VERSION=99), "written by another version of gdbcuda"),
])  # fmt: skip
def test_what_is_no_such_file(raw: bytes, why: str) -> None:
    with pytest.raises(UserError, match=why):
        gpu_file(raw)


def test_a_file_that_is_cut_anywhere_is_read_up_to_there() -> None:
    kernel = record("NAME", "kernel", NUMBER=1) + record("KERNEL", **PLACE, NAME=1)
    whole = header(PID=7) + LOOK + kernel + record("END")
    for size in range(len(header()), len(whole)):
        cut = gpu_file(whole[:size])
        assert not cut.has_ended and len(cut.work) <= 1
    assert len(gpu_file(whole).work) == 1


def test_noise_is_no_fault() -> None:
    dice = random.Random(5)
    whole = bytearray(header(PID=7) + LOOK + b"".join(
        record(kind, **PLACE) for kind in ("KERNEL", "COPY", "FILL", "WAIT", "MEMORY", "POOL", "UNIFIED")
    ) + CAUSE + record("END"))  # fmt: skip
    for _ in range(2000):
        noisy = bytearray(whole)
        for _ in range(dice.randrange(1, 4)):
            noisy[dice.randrange(64, len(noisy))] = dice.randrange(256)
        works(gpu_file(bytes(noisy)), cause_of_all())


WRITER = r"""
#include "records.h"
int main(int count, char **words)
{
    (void)count;
    if (!records_begin(words[1], 130001, 130001, 1))
        return 2;
    records_lock();
    for (word i = 0; i < 20000; i++) {
        char name[32];
        snprintf(name, sizeof name, "kernel_%d", (int)(i % 3000));
        word number = records_name(name);
        word fields[GPU_KERNEL_SIZE] = {[GPU_KERNEL_START] = 1, [GPU_KERNEL_END] = 2, [GPU_KERNEL_NAME] = number};
        records_add(GPU_KERNEL, fields, GPU_KERNEL_SIZE);
    }
    records_dropped(5);
    records_write();
    records_unlock();
    records_remark("a remark");
    records_lock();
    records_add(GPU_END, (word[GPU_END_SIZE]){0}, GPU_END_SIZE);
    records_write();
    records_unlock();
    return 0;
}
"""


@pytest.fixture(scope="module")
def writer(shim: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("writer")
    source, program = folder / "writer.c", folder / "writer"
    source.write_text("#include <stdio.h>\n" + WRITER)
    build_shim("build/gpu/gpu_layout.h")
    subprocess.run(["gcc", "-std=c11", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Werror", f"-I{SHIM}/gpu",
                    f"-I{shim}/gpu", "-o", str(program), str(source), str(SHIM / "gpu" / "records.c"),
                    "-pthread"], check=True)  # fmt: skip
    return program


def test_what_the_library_writes_is_what_we_read(writer: Path, tmp_path: Path) -> None:
    assert subprocess.run([str(writer), str(tmp_path)], check=False).returncode == 0
    (path,) = tmp_path.glob("*-1.gpu")
    found = gpu_file(path.read_bytes())
    assert len(found.work) == 20000 and len(found.names) == 3000 and found.dropped == 5 and found.has_ended
    assert all(found.name(one["NAME"]) == f"kernel_{at % 3000}" for at, one in enumerate(found.work))
    assert found.remarks == ["a remark"] and path.stat().st_mode & 0o777 == 0o600


def test_where_there_is_no_room_the_program_gets_no_signal(writer: Path, tmp_path: Path) -> None:
    line = [str(shutil.which("bash")), "-c", 'ulimit -f 300; exec "$0" "$1"', str(writer), str(tmp_path)]
    assert subprocess.run(line, check=False).returncode == 0
    (path,) = tmp_path.glob("*.gpu")
    found = gpu_file(path.read_bytes())
    assert path.stat().st_size <= 300 << 10 and 0 < len(found.work) < 20000 and not found.is_cut

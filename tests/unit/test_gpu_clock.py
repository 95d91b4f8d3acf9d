"""The GPU's clock on the program's."""

from __future__ import annotations

from gpu_records import header, record

from gdbcuda.gpu.gpu_calls import GpuReading
from gdbcuda.gpu.gpu_clock import GpuClock
from gdbcuda.gpu.gpu_file import ClockLook, gpu_file
from gdbcuda.rings.traced.trace_gpu import by_thread

REALTIME = 1_800_000_000_000_000_000  # a float has not the digits


def test_the_clock_between_two_looks_is_on_a_line() -> None:
    clock = GpuClock([ClockLook(1000, REALTIME, 1100), ClockLook(2040, REALTIME + 1000, 2080)])
    assert clock.monotonic(REALTIME) == 1050 and clock.monotonic(REALTIME + 1000) == 2060
    assert clock.monotonic(REALTIME + 500) == 1555 and clock.monotonic(REALTIME + 2000) == 3060
    assert clock.uncertainty == 50 + 10 / 2


def test_a_look_that_was_interrupted_says_nothing() -> None:
    assert GpuClock([ClockLook(5, REALTIME, 5)]).monotonic(REALTIME) == 5
    assert not GpuClock([ClockLook(0, REALTIME, 2_000_000), ClockLook(9, REALTIME, 3)]).is_known


def test_a_clock_that_was_set_meanwhile_tells_nothing_of_what_came_then() -> None:
    """PyTorch's profiler gives CUPTI a clock of its own."""
    looks = [ClockLook(1000, REALTIME, 1100), ClockLook(2000, REALTIME + 1000, 2100), ClockLook(3000, 77, 3100)]
    clock = GpuClock(looks)
    assert clock.strange == 1 and clock.uncertainty == 50
    assert clock.knows(REALTIME + 5_000) and not clock.knows(99)
    assert clock.monotonic(REALTIME + 500) == 1550
    raw = [header(PID=7)]
    for at, start in ((1_000_000, REALTIME), (2_000_000, 77)):
        raw += [record("CLOCK", BEFORE=at, GPU=start, AFTER=at + 80), record("FILL", START=start + 5, END=start + 9)]
    reading = GpuReading(gpu_file(b"".join(raw)), {}, by_thread((), set()))
    assert len(list(reading.work())) == 1 and reading.without_time == 1

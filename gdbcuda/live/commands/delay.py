"""``cuda-delay``."""

from __future__ import annotations

from collections.abc import Iterable

from gdbcuda.command_line.argument_types import ArgumentType
from gdbcuda.command_line.options import word
from gdbcuda.faults import durations, fault_plan
from gdbcuda.live.commands import faults
from gdbcuda.live.faulting import fault_requests
from gdbcuda.live.faulting.fault_options import FaultOptions, adopter
from gdbcuda.live.layers import names
from gdbcuda.live.prompt.command import command

NAME = "cuda-delay"


def complete(token: str) -> Iterable[str]:
    """Behind the first function there may be another one."""
    return ["100us", "1ms", "5ms", "100ms", "1s", *names.complete_functions(token)]


def nanoseconds(text: str) -> int:
    return durations.nanoseconds(text)


class DelayOptions(FaultOptions):
    time: int = word(
        ArgumentType("TIME", nanoseconds, "a time such as 5ms, 200us or 1s", "5ms", complete),
        "how long each call waits before it is made",
    )


@command(NAME, DelayOptions, purpose="fault", needs="stopped")
def cuda_delay(wanted: DelayOptions) -> str:
    """Delay calls of a CUDA or NVML function, which provokes races.

    The thread that calls waits for TIME, and then the call is made. The other threads go on meanwhile: what
    one of them does now comes before, where it came behind. Signals do not shorten it.

    It is a breakpoint that never stops, as those of cuda-fail. A guard waits in the process. Without one gdb
    waits, and through gdbserver all threads with it: cuda-faults says so.

    Examples:
      cuda-delay cuMemAlloc 5ms
      cuda-delay cuMemAlloc 20ms --in driver if nth == 1
      cuda-delay cuMemFree cuMemAlloc 200us if thread == 2"""
    return faults.made(request_of(wanted), "is delayed")


def request_of(wanted: DelayOptions) -> fault_requests.FaultRequest:
    plan = fault_plan.delay(wanted.time)
    return fault_requests.FaultRequest(NAME, wanted, durations.shown(wanted.time), lambda function: plan)


adopter(NAME, DelayOptions, request_of)

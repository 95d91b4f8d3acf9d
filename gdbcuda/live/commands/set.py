"""``cuda-set``."""

from __future__ import annotations

from collections.abc import Iterable

from gdbcuda.command_line.argument_types import ArgumentType
from gdbcuda.command_line.clauses import clause
from gdbcuda.faults import out_values
from gdbcuda.faults.typed_faults import value_as_option
from gdbcuda.live.commands import faults
from gdbcuda.live.faulting import fault_requests
from gdbcuda.live.faulting.fault_options import FaultOptions, adopter
from gdbcuda.live.prompt.command import command

NAME = "cuda-set"
EXAMPLE = "cuda-set cuMemGetInfo total = 2G on return"


def assignment(text: str) -> tuple[str, str]:
    out, _, value = text.partition("=")
    if not out or not value:
        raise ValueError
    return out, value


def complete_values(before: list[str], token: str) -> Iterable[str]:
    return out_values.complete_values(fault_requests.functions_in(before), before[-1] if before else "")


def complete_outs(before: list[str]) -> Iterable[str]:
    return out_values.complete_outs(fault_requests.functions_in(before))


class SetOptions(FaultOptions):
    assignment: tuple[str, str] = clause(
        ArgumentType("OUT=VALUE", assignment, "an out-value and what it is set to", "total=2G"),
        "what the call writes, and what is there instead: a number, a size like 2G, NULL, a constant of its type",
        "--to", shown="OUT = VALUE on return", keyword="=", complete=complete_values, complete_first=complete_outs,
    )  # fmt: skip

    @classmethod
    def arranged(cls, text: str) -> str:
        return value_as_option(text, EXAMPLE)


@command(NAME, SetOptions, purpose="fault", needs="stopped")
def cuda_set(wanted: SetOptions) -> str:
    """Replace what calls of a CUDA or NVML function have written.

    The call is made. Where it succeeded, VALUE is written in the place of what it wrote through OUT, a
    parameter, or a member of the struct there. A call that gave NULL for OUT keeps its own.

    It is a breakpoint that never stops, as those of cuda-fail. COND is tested when the call begins.

    Examples:
      cuda-set cuMemGetInfo total = 2G on return
      cuda-set cuMemGetInfo --in driver free = 0 on return if nth == 3
      cuda-set nvmlDeviceGetMemoryInfo memory.total = 2G on return
      cuda-set cuDeviceGetCount count = 8 on return
      cuda-set cuMemAlloc dptr = NULL on return"""
    return faults.made(request_of(wanted), "sets")


def request_of(wanted: SetOptions) -> fault_requests.FaultRequest:
    out, value = wanted.assignment
    return fault_requests.FaultRequest(NAME, wanted, f"{out} = {value} on return",
                        lambda function: out_values.plan(function, out, value))  # fmt: skip


adopter(NAME, SetOptions, request_of)

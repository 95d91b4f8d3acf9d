"""``cuda-fail``."""

from __future__ import annotations

from collections.abc import Iterable

from gdbcuda import api
from gdbcuda.command_line.argument_types import ArgumentType, positive
from gdbcuda.command_line.clauses import clause
from gdbcuda.command_line.options import flag, option
from gdbcuda.faults import fault_plan, statuses
from gdbcuda.faults.typed_faults import status_as_option
from gdbcuda.live.commands import faults
from gdbcuda.live.faulting import fault_requests
from gdbcuda.live.faulting.fault_options import FaultOptions, adopter
from gdbcuda.live.prompt.command import command

NAME = "cuda-fail"
EXAMPLE = "cuda-fail cuMemAlloc with CUDA_ERROR_OUT_OF_MEMORY"


def complete_statuses(before: list[str], token: str) -> Iterable[str]:
    return statuses.complete(fault_requests.functions_in(before))


TIMES = ArgumentType("N", positive, "a number, 1 or more", "3")


class FailOptions(FaultOptions):
    status: str = clause(
        ArgumentType("STATUS", str, "a status", "CUDA_ERROR_OUT_OF_MEMORY"),
        "what it returns: a name or number of the function's own result type",
        "--with", shown="with STATUS", keyword="with", complete=complete_statuses,
    )  # fmt: skip
    times: int | None = option(TIMES, "so many calls fail, then no more (default: each)")
    after_call: bool = flag("the call is made, and its result replaced (default: it is not made)")
    any_number: bool = flag("STATUS may be a number that the result type does not have")

    @classmethod
    def arranged(cls, text: str) -> str:
        return status_as_option(text, EXAMPLE)


@command(NAME, FailOptions, purpose="fault", needs="stopped")
def cuda_fail(wanted: FailOptions) -> str:
    """Let calls of a CUDA or NVML function fail.

    The call is not made: its caller gets STATUS, as if the function had returned it. Nothing stops, the
    program goes on with what it does then. With --after-call the call is made, and only its result replaced.

    It is a breakpoint that never stops, and can be made before the program runs: info breakpoints, disable,
    delete, cuda-save. COND, --in and --from mean what they mean for cuda-break, nth, every and after too.

    Where it is safe, a guard does it in the process, which costs nanoseconds. Else gdb does, at the price of
    a stop for each call. cuda-faults shows which, and how often each fault was injected.

    Examples:
      cuda-fail cuMemAlloc with CUDA_ERROR_OUT_OF_MEMORY
      cuda-fail cuMemAlloc if bytesize > 1G with CUDA_ERROR_OUT_OF_MEMORY --times 1
      cuda-fail cuMemAlloc if nth == 3 with CUDA_ERROR_OUT_OF_MEMORY
      cuda-fail cuMemFree --in driver with CUDA_ERROR_ILLEGAL_ADDRESS --after-call
      cuda-fail nvmlDeviceGetMemoryInfo with NVML_ERROR_GPU_IS_LOST
      cuda-fail 'cuMemcpy*' with 12345 --any-number"""
    return faults.made(request_of(wanted), "fails")


def request_of(wanted: FailOptions) -> fault_requests.FaultRequest:
    options = [f"--times {wanted.times}"] * bool(wanted.times) + ["--after-call"] * wanted.after_call
    words = " ".join(["with", wanted.status, *options, *["--any-number"] * wanted.any_number])

    def plan_of(function: api.Function) -> fault_plan.FaultPlan:
        status, name = statuses.read(wanted.status, function, wanted.any_number)
        return fault_plan.failing(function, status, name, wanted.times, wanted.after_call)

    return fault_requests.FaultRequest(NAME, wanted, words, plan_of)


adopter(NAME, FailOptions, request_of)

"""What is to be done to the calls of one function."""

from __future__ import annotations

from typing import NamedTuple

from gdbcuda import api
from gdbcuda.errors import UserError
from gdbcuda.faults import fault_code
from gdbcuda.faults.fault_code import Delay, Fail, Replace
from gdbcuda.text.sentences import counted

MICROSECOND, MILLISECOND, SECOND = 1_000, 1_000_000, 1_000_000_000
UNITS = ((SECOND, "s"), (MILLISECOND, "ms"), (MICROSECOND, "us"))


class FaultPlan(NamedTuple):
    """``said``: for people, as "with CUDA_ERROR_OUT_OF_MEMORY"; ``most``: so many calls, then no more."""

    effect: fault_code.Effect
    said: str
    most: int | None = None

    @property
    def done(self) -> str:
        """What has been done to a call."""
        if isinstance(self.effect, Delay):
            return "delayed"
        return "failed" if isinstance(self.effect, Fail) or self.effect.status is not None else "changed"

    @property
    def sleeps(self) -> bool:
        """It asks the kernel."""
        return isinstance(self.effect, Delay)

    @property
    def wants_return(self) -> bool:
        return isinstance(self.effect, Replace)


def failing(function: api.Function, status: int, name: str, most: int | None, is_made: bool) -> FaultPlan:
    """``is_made``: the call is, and its result is replaced."""
    effect = Replace((), status) if is_made else Fail(status)
    times = f", {counted(most, 'time')}" if most is not None else ""
    return FaultPlan(effect, f"with {name}{' after the call' if is_made else ''}{times}", most)


def delay(nanoseconds: int) -> FaultPlan:
    return FaultPlan(Delay(nanoseconds), f"by {duration(nanoseconds)}")


def duration(nanoseconds: int) -> str:
    factor, unit = next(((factor, unit) for factor, unit in UNITS if nanoseconds >= factor), (1, "ns"))
    return f"{nanoseconds / factor:g}{unit}"


def require_status(function: api.Function) -> None:
    """What returns no status cannot fail in a way that its caller knows."""
    if function.result.kind != "enum":
        raise UserError(f"{function.symbol} returns {function.result.spelling}, no status")

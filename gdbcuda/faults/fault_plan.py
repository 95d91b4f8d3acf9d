"""What is to be done to the calls of one function."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from gdbcuda import api
from gdbcuda.errors import UserError
from gdbcuda.faults import durations
from gdbcuda.text.sentences import counted

if TYPE_CHECKING:  # machine code, which a session may never use
    from gdbcuda.faults.effects import Effect


class FaultPlan(NamedTuple):
    """``said``: for people, as "with CUDA_ERROR_OUT_OF_MEMORY"; ``most``: so many calls, then no more."""

    effect: Effect
    said: str
    most: int | None = None

    @property
    def sleeps(self) -> bool:
        """It asks the kernel."""
        from gdbcuda.faults.effects import Delay

        return isinstance(self.effect, Delay)


def failing(function: api.Function, status: int, name: str, most: int | None, is_made: bool) -> FaultPlan:
    """``is_made``: the call is, and its result is replaced."""
    from gdbcuda.faults.effects import Fail, Replace

    effect = Replace((), status) if is_made else Fail(status)
    times = f", {counted(most, 'time')}" if most is not None else ""
    return FaultPlan(effect, f"with {name}{' after the call' if is_made else ''}{times}", most)


def delay(nanoseconds: int) -> FaultPlan:
    from gdbcuda.faults.effects import Delay

    return FaultPlan(Delay(nanoseconds), f"by {durations.shown(nanoseconds)}")


def require_status(function: api.Function) -> None:
    """What returns no status cannot fail in a way that its caller knows."""
    if function.result.kind != "enum":
        raise UserError(f"{function.symbol} returns {function.result.spelling}, no status")

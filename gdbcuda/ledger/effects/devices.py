"""On which device a thread allocates: the one that it has set, or that its current context belongs to.

(CUDA driver API reference: cuCtxSetCurrent, cuCtxPushCurrent. Runtime API reference: cudaSetDevice, 0 without it.)
"""

from __future__ import annotations

from gdbcuda import api
from gdbcuda.calls.record import Call
from gdbcuda.ledger.effects.extents import behind
from gdbcuda.ledger.effects.roles import number

SET_DEVICE, CREATE, RETAIN = "cudaSetDevice", "cuCtxCreate", "cuDevicePrimaryCtxRetain"
SET, POP = "cuCtxSetCurrent", "cuCtxPopCurrent"


class Devices:
    """Of one process; None is a device that nobody has told."""

    def __init__(self) -> None:
        self.of_context: dict[int, int] = {}
        self.current: dict[int, list[int | None]] = {}  # by thread, the last one counts

    def learn(self, call: Call, base: str, is_inner: bool) -> None:
        """From one of `roles.DEVICES` that has succeeded. What an inner call sets, its outer one has asked for."""
        stack, arguments = self.current.setdefault(call.thread, []), call.arguments
        device = self.of_context.get(number(arguments.get("ctx")))
        if base in (CREATE, RETAIN):
            device = self.of_context[number(call.out.get("pctx"))] = number(arguments.get("dev"))
        if is_inner or base == RETAIN:
            return
        if stack and base in (SET_DEVICE, SET, POP):
            stack.pop()
        if base != POP:
            stack.append(number(arguments.get("device")) if base == SET_DEVICE else device)

    def of(self, call: Call, function: api.Function) -> int | None:
        """Where the block of this call is. (``device`` is no parameter: a trace of somebody else's tells it.)"""
        if isinstance(call.arguments.get("device"), int):
            return number(call.arguments["device"])
        location = behind(behind(call.arguments.get("prop")).get("location"))  # cuMemCreate
        if str(location.get("type")) == "CU_MEM_LOCATION_TYPE_DEVICE":
            return number(location.get("id"))
        stack = self.current.get(call.thread)
        return stack[-1] if stack else 0 if function.api == "runtime" else None

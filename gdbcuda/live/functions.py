"""``$_cuda_…``: convenience functions for conditions and the user's own expressions. (gdb manual: "Functions In Python".)

cuda-break's own filters are these too, in plain sight: ``info breakpoints`` shows them and ``save breakpoints`` keeps them.
"""

from __future__ import annotations

import functools
from typing import Any, Callable

import gdb

from gdbcuda import condition as conditions
from gdbcuda.errors import UserError
from gdbcuda.live import frames, layers, returns, target, versions


def function(name: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Registers the decorated function as ``$name``; UserError becomes gdb's one-line error."""

    def register(action: Callable[..., Any]) -> Callable[..., Any]:
        class Function(gdb.Function):
            __doc__ = action.__doc__

            def invoke(self, *arguments: Any) -> Any:
                try:
                    return action(*arguments)
                except UserError as problem:
                    raise gdb.GdbError(str(problem)) from None

        Function(name)
        return action

    return register


def is_from(caller: frames.Place, wanted: str) -> bool:
    """Layer ``app`` means the program and its libraries, the runtime among them: everyone but hook, driver, system."""
    if wanted == "any":
        return True
    if wanted == "app":
        return caller.layer in ("app", "runtime", "")
    return layers.matches(wanted, caller.layer, caller.file)


@function("_cuda_from")
def cuda_from(wanted: gdb.Value) -> bool:
    """$_cuda_from("app"): does the call come from that layer or library? Layers, "libfoo.so", several with commas."""
    caller = frames.caller_of(gdb.selected_frame())
    return caller is not None and any(is_from(caller, word) for word in wanted.string().split(","))


@functools.lru_cache(maxsize=256)
def parsed(text: str, function_symbol: str, table: Any) -> Any:
    return conditions.parse(text, table, [table.function(function_symbol)])


@function("_cuda_if")
def cuda_if(text: gdb.Value) -> bool:
    """$_cuda_if("name == \\"cuInit\\""): a condition on parameter names, evaluated in the debugger."""
    frame = gdb.selected_frame()
    call = frames.read_call(frame)
    wanted = parsed(text.string(), call.function.symbol, versions.table())
    values = frames.values(call)
    unknown = [name for name in wanted.parameters if values.get(name) is None]
    if unknown:
        raise UserError(f"{call.function.symbol}: the value of {', '.join(unknown)} is not known here")
    return bool(wanted.evaluate(values))


@function("_cuda_returns")
def cuda_returns(number: gdb.Value, mode: gdb.Value) -> bool:
    """$_cuda_returns(1, "error"): never true; notes that breakpoint 1 wants to stop where this call returns."""
    returns.expect(int(number), only_errors=mode.string() == "error")
    return False


@function("_cuda_returned")
def cuda_returned(address: gdb.Value) -> bool:
    """$_cuda_returned(ADDRESS): has a call returned there that a breakpoint with --on return or error waits for?"""
    return returns.arrived(int(address))


@function("_cuda_arg")
def cuda_arg(name: gdb.Value) -> Any:
    """$_cuda_arg("bytesize"): an argument of the selected frame's API call, by the header's name."""
    call = frames.read_call(gdb.selected_frame())
    wanted = name.string()
    if call.function.parameter(wanted) is None:
        known = ", ".join(p.name for p in call.function.parameters) or "no parameters"
        raise UserError(f"{call.function.symbol} has no parameter {wanted!r}; it has {known}")
    value = frames.values(call).get(wanted)
    if value is None:
        raise UserError(f"the value of {wanted} is not known here")
    return as_gdb_value(value)


def as_gdb_value(value: Any) -> gdb.Value:
    """Python's int is a 64-bit long to gdb; what does not fit is an unsigned one."""
    if isinstance(value, int) and value >= 1 << 63:
        return gdb.parse_and_eval(f"{value}ul")
    return gdb.Value(value)


@function("_cuda_error_name")
def cuda_error_name(code: gdb.Value, api: gdb.Value = None) -> str:
    """$_cuda_error_name(2): the name of a status; a second argument "runtime", "driver" or "nvml" says whose.

    Without it: the API of the selected frame's call, else the runtime's and driver's names where they mean the same."""
    table, number = versions.table(), int(code)
    if api is None:
        found = frames.api_function(gdb.selected_frame()) if target.is_alive() else None
        wanted = [found.api] if found else ["driver", "runtime", "nvml"]
    else:
        wanted = [api.string()]
    names = [table.error_name(one, number) for one in wanted]
    return next((name for name in names if name), f"unknown error {number}")


@function("_cuda_layer")
def cuda_layer(address: gdb.Value = None) -> str:
    """$_cuda_layer(ADDRESS): app, runtime, hook, driver or system; without an address, of the selected frame."""
    if address is None:
        return frames.place_of(gdb.selected_frame()).layer
    return layers.layer_of(int(address), target.symbol_of(int(address))[0])

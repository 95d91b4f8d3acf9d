"""``$_cuda_…``: convenience functions for conditions and the user's own expressions.

cuda-break's own filters are these too, in plain sight: ``info breakpoints`` shows them and ``save breakpoints``
keeps them. (gdb manual: "Functions In Python".)
"""

from __future__ import annotations

import functools
from typing import Any, Callable, TypeVar

import gdb

from gdbcuda import api
from gdbcuda import condition as conditions
from gdbcuda.command_line import help_page
from gdbcuda.errors import Unreadable, UserError
from gdbcuda.live import layers, process
from gdbcuda.live.breaking import recursion
from gdbcuda.live.dlsym import request_stops
from gdbcuda.live.faulting import by_gdb
from gdbcuda.live.frames import condition_words, frames
from gdbcuda.live.host import beginning, breakpoint_table, expressions
from gdbcuda.live.layers import own_prototypes, table_version
from gdbcuda.live.placing import letting_go
from gdbcuda.live.prompt import safely
from gdbcuda.live.stopping import counting
from gdbcuda.live.stopping.returning import returns
from gdbcuda.live.threads import children, lent_registers
from gdbcuda.machine import abi
from gdbcuda.text import cplusplus

F = TypeVar("F", bound=Callable[..., Any])
APIS = ("driver", "runtime", "nvml")


def function(name: str) -> Callable[[F], F]:
    """Registers the decorated function as ``$name``; whatever goes wrong becomes gdb's one-line error."""

    def register(action: F) -> F:
        counts = argument_counts(action)

        class ConvenienceFunction(gdb.Function):
            __doc__ = help_page.filled(help_page.of(action.__doc__ or ""))

            def invoke(self, *arguments: Any) -> Any:
                if len(arguments) not in counts:
                    raise gdb.GdbError((action.__doc__ or "").partition("\n")[0])
                beginning.begin()
                try:
                    return terminated(action(*arguments))
                except safely.ANYTHING as problem:
                    raise safely.error("", problem) from None

        ConvenienceFunction(name)
        return action

    return register


def terminated(result: Any) -> Any:
    """A str as C has it. Before gdb 14 it became an array without the NUL, and printf "%s" went on behind it."""
    if not isinstance(result, str) or gdb.Value("x").type.sizeof == 2:
        return result
    data = result.encode() + b"\0"
    try:
        return from_bytes(data, expressions.c_type("char").array(len(data) - 1))
    except gdb.error:  # a language that has no char
        return result


def from_bytes(raw: Any, kind: gdb.Type) -> gdb.Value:
    """(The last types-gdb for Python 3.9 knows no bytes here.)"""
    return gdb.Value(raw, kind)


def argument_counts(action: Callable[..., Any]) -> range:
    most = action.__code__.co_argcount
    return range(most - len(action.__defaults__ or ()), most + 1)


@function("_cuda_from")
def cuda_from(wanted: gdb.Value) -> bool:
    """$_cuda_from("app"): does the call come from that layer, library or function? Several with commas: "hook,main"."""
    return condition_words.FrameSurroundings().is_from(cplusplus.listed(expressions.text_of(wanted)))


@function("_cuda_in")
def cuda_in(wanted: gdb.Value) -> bool:
    """$_cuda_in("driver"): is the selected frame in that layer or library? Several with commas; "" is anywhere."""
    place = frames.place_of(gdb.selected_frame())
    words = expressions.text_of(wanted).split(",")
    return any(not word or layers.matches(word, place.layer, place.file) for word in words)


@functools.lru_cache(maxsize=256)
def parsed(text: str, function: api.Function, table: Any) -> Any:
    return conditions.parse(text, table, [function])


@function("_cuda_if")
def cuda_if(text: gdb.Value) -> bool:
    """$_cuda_if("name == \\"cuInit\\""): a condition on parameter names, evaluated in the debugger."""
    call = frames.read_call(gdb.selected_frame(), own_prototypes.prototype)
    wanted = parsed(expressions.text_of(text), call.function, table_version.table())
    try:
        return bool(
            wanted.holds(call.function, call.raws, process.InferiorMemory(), condition_words.FrameSurroundings())
        )
    except Unreadable as problem:
        if problem.address:
            raise UserError(str(problem)) from None
        unknown = ", ".join(wanted.arguments(call.function))
        raise UserError(f"{call.function.symbol}: the value of {unknown} is not known here") from None


@functools.lru_cache(maxsize=256)
def count_test(text: str) -> Callable[[int], bool]:
    return conditions.ordinal_test(text)


@function("_cuda_count")
def cuda_count(number: gdb.Value, text: gdb.Value) -> bool:
    """$_cuda_count(1, "nth == 3"): counts one more call for breakpoint 1; is it the third? Also every 10, after 10."""
    return counting.passes(int(number), count_test(expressions.text_of(text)))


@function("_cuda_returns")
def cuda_returns(number: gdb.Value, mode: gdb.Value) -> bool:
    """$_cuda_returns(1, "error"): never true; notes that breakpoint 1 wants to stop where this call returns."""
    with children.looking():
        returns.expect(int(number), only_errors=expressions.text_of(mode) == "error")
    return False


@function("_cuda_returned")
def cuda_returned(address: gdb.Value) -> bool:
    """$_cuda_returned(ADDRESS): has a call returned there that a breakpoint with --on return or error waits for?"""
    cuda_registers()
    with children.looking():
        return process.is_alive() and returns.arrived(expressions.address_of(address))


@function("_cuda_registers")
def cuda_registers() -> bool:
    """$_cuda_registers(): true; gives the thread back the register that gdb keeps where a signal interrupts a step."""
    if process.is_alive():
        lent_registers.arrived(process.register("pc"))
    return True


@function("_cuda_arg")
def cuda_arg(name: gdb.Value) -> Any:
    """$_cuda_arg("bytesize"): an argument of the selected frame's API call, by the header's name."""
    call = frames.read_call(gdb.selected_frame(), own_prototypes.prototype)
    wanted = expressions.text_of(name)
    if call.function.parameter(wanted) is None:
        known = ", ".join(p.name for p in call.function.parameters) or "no parameters"
        raise UserError(f"{call.function.symbol} has no parameter {wanted!r}; it has {known}")
    index = next(i for i, p in enumerate(call.function.parameters) if p.name == wanted)
    raw = call.raws[index]
    if raw is None:
        raise UserError(f"the value of {wanted} is not known here")
    return as_gdb_value(call.function.parameters[index].type, raw)


def as_gdb_value(kind: api.Type, raw: bytes) -> gdb.Value:
    """In gdb's built-in types, which need no debug info: strings print as such, structs are arrays of bytes."""
    return from_bytes(raw, gdb_type(kind, len(raw)))


def gdb_type(kind: api.Type, size: int) -> gdb.Type:
    if kind.kind == "pointer":
        is_text = kind.target is not None and kind.target.kind == "char"
        return expressions.c_type("char" if is_text else "void").pointer()
    if kind.kind == "float":
        return expressions.c_type({4: "float", 8: "double"}[size])
    names = {1: "char", 2: "short", 4: "int", 8: "long"}
    if kind.kind in ("struct", "union", "array") or size not in names:
        return expressions.c_type("unsigned char").array(size - 1)
    return expressions.c_type(names[size] if abi.is_signed(kind) else f"unsigned {names[size]}")


@function("_cuda_error_name")
def cuda_error_name(code: gdb.Value, whose: gdb.Value | None = None) -> str:
    """$_cuda_error_name(2): the name of a status; a second argument "runtime", "driver" or "nvml" says whose.

    Without it: the API of the selected frame's call, else the runtime's and driver's names where they mean the same."""
    table, number = table_version.table(), int(code)
    if whose is None:
        found = frames.api_function(gdb.selected_frame()) if process.is_alive() else None
        wanted = [found.api] if found else list(APIS)
    else:
        wanted = [expressions.text_of(whose)]
        if wanted[0] not in APIS:
            raise UserError(f"{wanted[0]!r} is none of {', '.join(APIS)}")
    names = [table.error_name(one, number) for one in wanted]
    return next((name for name in names if name), f"unknown error {number}")


@function("_cuda_layer")
def cuda_layer(address: gdb.Value | None = None) -> str:
    """$_cuda_layer(ADDRESS): app, runtime, hook, driver or system; without an address, of the selected frame.

    Compare it with $_streq($_cuda_layer(), "hook"): gdb's == compares where strings are, not what they say."""
    if address is None:
        return frames.place_of(gdb.selected_frame()).layer
    place = expressions.address_of(address)
    return layers.layer_of(place, process.symbol_of(place)[0])


@function("_cuda_take_back")
def cuda_take_back() -> bool:
    """$_cuda_take_back(): takes what is ours out of the process, so that detach may leave it alone; false."""
    letting_go.let_this_go()
    return False


@function("_cuda_take_all_back")
def cuda_take_all_back() -> bool:
    """$_cuda_take_all_back(): the same for each process, so that detach inferiors and disconnect may leave it alone."""
    letting_go.let_go_all()
    return False


@function("_cuda_asks")
def cuda_asks(pattern: gdb.Value) -> bool:
    """$_cuda_asks("cuMem*"): at a resolver's entry (dlsym, cuGetProcAddress ...): is it asked for such a name?"""
    return request_stops.is_asked_for(pattern.string())


@function("_cuda_fault")
def cuda_fault(number: gdb.Value) -> bool:
    """$_cuda_fault(3): does to the call at its entry what the fault with that number is for; false."""
    by_gdb.inject(int(number))
    return False


@function("_cuda_too_deep")
def cuda_too_deep(address: gdb.Value) -> bool:
    """$_cuda_too_deep(ADDRESS): is the function there nested deeper than cuda-recursion-limit, or again that much?"""
    return recursion.is_too_deep(expressions.address_of(address))


@function("_cuda_no_number")
def cuda_no_number() -> int:
    """$_cuda_no_number(): a number that no breakpoint has."""
    return breakpoint_table.no_number()


@function("_cuda_break")
def cuda_break(words: gdb.Value) -> bool:
    """$_cuda_break("cuda-break cuMemAlloc"): in a file of save breakpoints, which makes it that again."""
    return True

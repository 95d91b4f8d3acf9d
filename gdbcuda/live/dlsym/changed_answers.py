"""Requests that are answered differently, on the user's wish.

Never by writing over the name that is asked for: it lies in read-only data, beside others. Where gdb can write
registers, the pointer to the name is exchanged at the entry, or the result at the return. Some gdbs cannot, on some
CPUs; then the return address on the stack is led over a stub that does the same (x86-64). The answer of an API
resolver is written to memory either way.
"""

from __future__ import annotations

import itertools
import struct
from typing import TYPE_CHECKING, NamedTuple

import gdb

from gdbcuda.errors import UserError
from gdbcuda.live import layers, process
from gdbcuda.live.dlsym import request_values, stubs
from gdbcuda.live.dlsym.request_stops import means
from gdbcuda.live.host import console
from gdbcuda.live.host.inferiors import PerInferior
from gdbcuda.live.preloading import written_environment
from gdbcuda.live.prompt import settings
from gdbcuda.live.threads import call_registers
from gdbcuda.routes import right_function, stub
from gdbcuda.text.printable import visible

if TYPE_CHECKING:
    from gdbcuda.routes.requests import Request
    from gdbcuda.routes.snapshot import ProcessSnapshot

POINTER = struct.Struct("<Q")
LAYERS = ("hook", "driver")


class ChangedAnswer:
    """One wish. ``other``: another name, or "hook" or "driver" for their function of the name asked for;
    ``address``: where that is known, else None."""

    def __init__(self, number: int, name: str, other: str, address: int | None, once: bool) -> None:
        self.number = number
        self.name = name
        self.other = other
        self.address = address
        self.once = once
        self.given = 0
        self.refused = ""

    @property
    def is_over(self) -> bool:
        return self.once and self.given > 0


class Due(NamedTuple):
    """A result to exchange at the return."""

    number: int
    address: int


ANSWERS: dict[int, ChangedAnswer] = {}
NUMBERS = itertools.count(1)  # like gdb's own: what is taken back keeps its number, for stops and logs name it
_due: PerInferior[dict[tuple[int, int], Due]] = PerInferior(dict)  # by thread, and stack pointer after the return
_can_write: PerInferior[list[bool]] = PerInferior(list)  # registers; [] while nobody has tried


def at_entry(request: Request, resolver: int, back: int) -> None:
    """The program's request is about to be answered. What cannot be done is said, and not done by halves."""
    if request.is_hooks_own or request.is_opening:
        return
    answer = next((a for a in ANSWERS.values() if not a.is_over and wants(a, request)), None)
    if answer is None:
        return
    try:
        exchange(answer, request, resolver, back)
        answer.given += 1
        request.substituted = answer.number
    except UserError as problem:
        answer.refused = str(problem)
        text = f"cuda-dlsym answer {answer.number}: {request.name} is answered as ever: {problem}"
        console.write(visible(text) + "\n")


def wants(answer: ChangedAnswer, request: Request) -> bool:
    wanted = right_function.wanted_symbol(request_values.steady_snapshot().table, request)
    return request.name == answer.name or wanted == answer.name or means(answer.name, request.name)


def exchange(answer: ChangedAnswer, request: Request, resolver: int, back: int) -> None:
    key = (request.thread, request.sp)
    address = address_for(answer, request)
    if by_registers():
        if address is None:
            set_register(name_register(request), string_address(answer.other))
        else:
            _due()[key] = Due(answer.number, address)
    else:
        place = stubs.take(key, back)
        stubs.write(place, stub_for(answer, request, resolver, back, address, place))
        stubs.write(request.sp - POINTER.size, POINTER.pack(place))


def address_for(answer: ChangedAnswer, request: Request) -> int | None:
    """The function to answer with; None where another name is asked for instead."""
    if answer.address is not None or answer.other not in LAYERS:
        return answer.address
    snapshot = request_values.steady_snapshot()
    wanted = right_function.wanted_symbol(snapshot.table, request) or request.name
    found = function_of(snapshot, answer.other, wanted)
    if found is None:
        raise UserError(f"the {answer.other} has no {wanted} that is known by name")
    return found


def function_of(snapshot: ProcessSnapshot, layer: str, name: str) -> int | None:
    """By its exported name, by what was once answered for it, or by a symbol that is not exported."""
    for linkage in snapshot.in_layer(layer):
        for definition in linkage.symbols.find(name):
            return definition.address
    handed_out = (address for address, learned in snapshot.learned.items() if learned == name)
    hidden = (process.function_start(address) for address in process.decoded(name))
    return next((a for a in (*handed_out, *hidden) if a and layers.layer_of(a) == layer), None)


def stub_for(
    answer: ChangedAnswer, request: Request, resolver: int, back: int, address: int | None, place: int
) -> bytes:
    shape = request_values.resolver_shapes()[request.resolver]
    if address is None:
        arguments = list(request.arguments)
        arguments[name_argument(request)] = string_address(answer.other)
        return stub.ask_again(resolver, arguments, back, place)
    if shape.out is None:
        return stub.return_value(address, back, place)
    status = request.arguments[shape.status] if shape.status is not None else 0
    return stub.write_value(address, request.arguments[shape.out], status, back, place)


def at_return(request: Request) -> None:
    """Exchanges the result if that is still to be done."""
    key = (request.thread, request.sp)
    stubs.give_back(key)
    due = _due().pop(key, None)
    if due is None:
        return
    shape = request_values.resolver_shapes()[request.resolver]
    if shape.out is None:
        set_register(call_registers.here().result, due.address)
        return
    if call_registers.result_register() & 0xFFFFFFFF:
        set_register(call_registers.here().result, 0)
    stubs.write(request.arguments[shape.out], POINTER.pack(due.address))
    if shape.status is not None and request.arguments[shape.status]:
        stubs.write(request.arguments[shape.status], bytes(4))


# -- registers and strings ------------------------------------------------------------------------------------


def by_registers() -> bool:
    """Whether registers are written: as set, else where gdb can. Elsewhere than on x86-64 there is no other way."""
    chosen = settings.value("cuda-answer-by")
    if chosen == "auto":
        if not _can_write():
            _can_write().append(can_write_registers())
        chosen = "registers" if _can_write()[0] else "memory"
    if chosen == "memory" and process.machine() != "x86-64":
        raise UserError("this gdb cannot write registers here, and only x86-64 can do without", page="gdbs")
    return bool(chosen == "registers")


def can_write_registers() -> bool:
    """Writing one with its own value fails as writing another value would."""
    name = call_registers.here().result
    try:
        set_register(name, process.register(name))
    except UserError:
        return False
    return True


def set_register(name: str, value: int) -> None:
    try:
        process.set_register(name, value)
        written = process.register(name)
    except gdb.error as problem:
        raise UserError(f"this gdb cannot write ${name} ({problem})") from None
    if written != value:
        raise UserError(f"this gdb cannot write ${name} (it reads back differently)")


def name_argument(request: Request) -> int:
    number = request_values.resolver_shapes()[request.resolver].name
    if number is None:
        raise UserError(f"{request.resolver} asks for no name")
    return number


def name_register(request: Request) -> str:
    shape = request_values.resolver_shapes()[request.resolver]
    return request_values.argument_registers(shape)[name_argument(request)]


@process.until_objects_change
def string_address(text: str) -> int:
    """Where the string is in the process: among an object's symbol names, else written into spare bytes."""
    for linkage in request_values.steady_snapshot().objects.all:
        for definition in linkage.symbols.find(text):
            return linkage.symbols.name_address(definition)
    return written_environment.store(text.encode() + b"\0")

"""A request and its answer, read from the stopped thread: registers at the entry, memory and result at the return."""

from __future__ import annotations

import os
import struct

from gdbcuda.live import layers, process
from gdbcuda.live.frames import code_places
from gdbcuda.live.host.inferiors import PerInferior
from gdbcuda.live.layers import table_version, this_snapshot
from gdbcuda.live.layers.code import answering_code
from gdbcuda.live.threads import call_registers
from gdbcuda.machine import abi
from gdbcuda.memory import string_at
from gdbcuda.routes import judge, requests, right_function
from gdbcuda.routes.answering import by_request
from gdbcuda.routes.shapes import RTLD_DEFAULT, RTLD_NEXT, ResolverShape, shapes
from gdbcuda.routes.snapshot import API_RESOLVERS, ProcessSnapshot, Reached

LOADER_ERRORS = ("_dl_signal_error", "_dl_signal_exception")  # glibc's, of libc and ld.so
LEARNED: PerInferior[dict[int, str]] = PerInferior(dict)  # what an address without a name was answered for


@process.until_objects_change
def steady_snapshot() -> ProcessSnapshot:
    """For the time between two loads of objects; what addresses were answered for is kept beyond that."""
    snapshot = this_snapshot.now()
    snapshot.learned = LEARNED()
    return snapshot


@process.until_objects_change
def resolver_shapes() -> dict[str, ResolverShape]:
    return shapes(table_version.table(), API_RESOLVERS)


def return_place() -> tuple[int, int]:
    """At a function's first instruction: (return address, stack pointer after the return)."""
    return call_registers.here().return_place(call_registers.current_stack_pointer(), process.InferiorMemory())


def argument_registers(shape: ResolverShape) -> tuple[str, ...]:
    return abi.CONVENTIONS[process.machine()].integers[: shape.arity]


def read_request(shape: ResolverShape, values: tuple[int, ...], asker: requests.Asker) -> requests.Request:
    request = requests.Request(shape.symbol, "", "", asker, 0, 0, arguments=values)
    if shape.name is not None:
        request.name = text_at(values[shape.name])
    if request.is_opening and not values[shape.name or 0]:
        request.handle_text = "NULL, the program itself"
    if shape.handle is not None:
        request.handle = values[shape.handle]
        request.handle_text = handle_text(request.handle)
    if shape.symbol_version is not None:
        request.version = text_at(values[shape.symbol_version])
    if shape.version is not None:
        request.version = values[shape.version] & 0xFFFFFFFF
    if shape.flags is not None:
        request.flags = values[shape.flags] & 0xFFFFFFFF if request.is_opening else values[shape.flags]
    if shape.uuid is not None:
        request.handle_text = "UUID " + uuid_text(values[shape.uuid])
    return request


def text_at(address: int) -> str:
    return string_at(process.InferiorMemory(), address) if address else ""


def uuid_text(address: int) -> str:
    raw = process.InferiorMemory().read(address, 16).hex()
    return "-".join((raw[:8], raw[8:12], raw[12:16], raw[16:20], raw[20:]))


def handle_text(handle: int) -> str:
    """ "RTLD_NEXT", or the object that the handle stands for."""
    if handle in (RTLD_DEFAULT, RTLD_NEXT):
        return "RTLD_NEXT" if handle else "RTLD_DEFAULT"
    found = this_snapshot.objects().of_handle(handle)
    return this_snapshot.file_of(found).rsplit("/", 1)[-1] if found else f"handle {handle:#x}"


def read_answer(snapshot: ProcessSnapshot, request: requests.Request) -> None:
    shape, memory = resolver_shapes()[request.resolver], process.InferiorMemory()
    request.result = call_registers.result_register()
    address = request.result
    if shape.out is not None:
        request.result &= 0xFFFFFFFF
        address = struct.unpack("<Q", memory.read(request.arguments[shape.out], 8))[0] if not request.result else 0
    if shape.status is not None and request.arguments[shape.status]:
        request.status = struct.unpack("<I", memory.read(request.arguments[shape.status], 4))[0]
    request.answer = opened(address) if request.is_opening else snapshot.reached(address)
    request.verdict = judge.verdict(snapshot, request)
    learn(snapshot, request)


def opened(handle: int) -> Reached | None:
    """The object of a new handle: glibc's link_map says its path, in whatever namespace it is."""
    if not handle:
        return None
    known = this_snapshot.objects().of_handle(handle)
    if known is not None:
        file = this_snapshot.file_of(known)
    else:
        file = text_at(struct.unpack("<Q", process.InferiorMemory().read(handle + 8, 8))[0])
    return Reached(handle, (file,), file, layers.layer_of_object(file) or "app")


def learn(snapshot: ProcessSnapshot, request: requests.Request) -> None:
    """What a library without symbols answers gets the name that was asked for."""
    answer = request.answer
    if answer is None or answer.layer != "hook" or not request.name:
        return
    wanted = right_function.wanted_symbol(snapshot.table, request)
    shown = by_request(snapshot, request, wanted) if wanted else None
    if shown is not None:
        answering_code.learn_request(shown)
    if wanted and not answer.names:
        snapshot.learned.setdefault(answer.address, wanted)
        request.answer = Reached(*answer[:5], snapshot.learned[answer.address])


def loader_error(symbol: str) -> str:
    """At the first instruction of one of LOADER_ERRORS: the text of dlerror(3), as glibc's puts it together."""
    code, first, _, fourth = map(process.register, abi.CONVENTIONS[process.machine()].integers[:4])
    where, what = first, fourth
    if symbol == "_dl_signal_exception":  # struct dl_exception: objname, errstring
        where, what = struct.unpack("<QQ", process.InferiorMemory().read(first, 16))
    number = code & 0xFFFFFFFF
    return ": ".join(filter(None, (text_at(where), text_at(what), os.strerror(number) if number else "")))


def asker_at(back: int) -> requests.Asker:
    """Who called, by the return address."""
    place, holder = code_places.caller(back), this_snapshot.objects().holder(back - 1)
    offset = back - 1 - holder.image.base if holder else 0
    return requests.Asker(back - 1, offset, place.function, place.file, place.layer, place.source)

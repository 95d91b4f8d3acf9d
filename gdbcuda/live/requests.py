"""The recorder of requests: every call of dlsym, cuGetProcAddress and their kin, seen by breakpoints that never stop.

One at the first instruction of each implementation and one at each place where a request returns to; internal, for
they never stop. They only feed the book (`gdbcuda.routes.requests`): a guard inside the process can do that instead.
At bare addresses they would make the next ``run`` fail, so they go with their process; none is deleted in ``stop``.
(gdb manual: "Breakpoints In Python".)
"""

from __future__ import annotations

import contextlib
import struct
import time

import gdb

from gdbcuda import abi
from gdbcuda.errors import Unreadable, UserError
from gdbcuda.image import string_at
from gdbcuda.linkage import Linkage
from gdbcuda.live import layers, returns, target, versions
from gdbcuda.live import world as worlds
from gdbcuda.routes import judge
from gdbcuda.routes.requests import Asker, Book, Request
from gdbcuda.routes.shapes import RTLD_DEFAULT, RTLD_NEXT, Shape, shapes
from gdbcuda.routes.world import API_RESOLVERS, Reached, World


class Recorder:
    """What was recorded, and the breakpoints that do it; ``seconds`` and ``stops`` are what it has cost."""

    def __init__(self) -> None:
        self.is_on = False
        self.book = Book()
        self.learned: dict[int, str] = {}
        self.entries: dict[int, Entry] = {}
        self.returns: dict[int, Return] = {}
        self.planted: set[tuple[str, int]] = set()
        self.seconds, self.stops = 0.0, 0

    def clear(self) -> None:
        """Forgets what was recorded and goes on."""
        self.book, self.seconds, self.stops = Book(), 0.0, 0

    def remove(self) -> None:
        for breakpoint in [*self.entries.values(), *self.returns.values()]:
            if breakpoint.is_valid():
                breakpoint.delete()
        self.entries.clear()
        self.returns.clear()
        self.planted.clear()
        self.book.forget_open()


RECORDER = Recorder()


class Silent(gdb.Breakpoint):
    """A breakpoint at an address that looks on and never stops. What a broken process cannot tell is not recorded."""

    def __init__(self, address: int) -> None:
        super().__init__(f"*{address:#x}", internal=True)

    def stop(self) -> bool:
        began = time.perf_counter()
        with contextlib.suppress(Unreadable, UserError, gdb.error):
            self.look()
        RECORDER.stops += 1
        RECORDER.seconds += time.perf_counter() - began
        return False

    def look(self) -> None:
        raise NotImplementedError


class Entry(Silent):
    """At the first instruction of a resolver."""

    def __init__(self, address: int, shape: Shape, file: str) -> None:
        super().__init__(address)
        self.shape, self.file, self.layer = shape, file, layers.layer_of_object(file)

    def look(self) -> None:
        back, sp = return_place()
        request = read_request(self.shape, asker_at(back))
        request.owner, request.owner_layer = self.file, self.layer
        request.thread, request.sp = gdb.selected_thread().num, sp
        RECORDER.book.enter(request)
        if back not in RECORDER.returns:
            RECORDER.returns[back] = Return(back)


class Return(Silent):
    """Where a resolver's caller goes on."""

    def look(self) -> None:
        finished = RECORDER.book.leave(gdb.selected_thread().num, returns.current_stack_pointer())
        for request in reversed(finished):
            read_answer(steady_world(), request)


@target.until_objects_change
def steady_world() -> World:
    """For the time between two loads of objects; what addresses were answered for is kept by the recorder."""
    world = worlds.now()
    world.learned = RECORDER.learned
    return world


@target.until_objects_change
def resolver_shapes() -> dict[str, Shape]:
    return shapes(versions.table(), API_RESOLVERS)


def return_place() -> tuple[int, int]:
    """At a function's first instruction: (return address, stack pointer after the return)."""
    sp = returns.current_stack_pointer()
    if target.machine() == "aarch64":
        return target.register("x30"), sp
    return struct.unpack("<Q", target.InferiorMemory().read(sp, 8))[0], sp + 8


def read_request(shape: Shape, asker: Asker) -> Request:
    names = abi.CONVENTIONS[target.machine()].integers
    values = tuple(target.register(name) for name in names[: shape.arity])
    request = Request(shape.symbol, "", "", asker, 0, 0, arguments=values)
    if shape.name is not None:
        request.name = text_at(values[shape.name])
    if shape.handle is not None:
        request.handle = values[shape.handle]
        request.handle_text = handle_text(request.handle)
    if shape.symbol_version is not None:
        request.version = text_at(values[shape.symbol_version])
    if shape.version is not None:
        request.version = values[shape.version] & 0xFFFFFFFF
    if shape.flags is not None:
        request.flags = values[shape.flags]
    if shape.uuid is not None:
        request.handle_text = "UUID " + uuid_text(values[shape.uuid])
    return request


def text_at(address: int) -> str:
    return string_at(target.InferiorMemory(), address) if address else ""


def uuid_text(address: int) -> str:
    raw = target.InferiorMemory().read(address, 16).hex()
    return "-".join((raw[:8], raw[8:12], raw[12:16], raw[16:20], raw[20:]))


def handle_text(handle: int) -> str:
    """ "RTLD_NEXT", or the object that the handle stands for."""
    if handle in (RTLD_DEFAULT, RTLD_NEXT):
        return "RTLD_NEXT" if handle else "RTLD_DEFAULT"
    found = worlds.objects().of_handle(handle)
    return worlds.file_of(found).rsplit("/", 1)[-1] if found else f"handle {handle:#x}"


def read_answer(world: World, request: Request) -> None:
    shape, memory = resolver_shapes()[request.resolver], target.InferiorMemory()
    request.result = returns.result_register()
    address = request.result
    if shape.out is not None:
        request.result &= 0xFFFFFFFF
        address = struct.unpack("<Q", memory.read(request.arguments[shape.out], 8))[0] if not request.result else 0
    if shape.status is not None and request.arguments[shape.status]:
        request.status = struct.unpack("<I", memory.read(request.arguments[shape.status], 4))[0]
    request.answer = world.reached(address)
    request.verdict = judge.verdict(world, request)
    learn(world, request)


def learn(world: World, request: Request) -> None:
    """What a library without symbols answers gets the name that was asked for."""
    answer = request.answer
    if answer is None or answer.names or answer.layer != "hook" or not request.name:
        return
    wanted = judge.wanted_symbol(world.table, request)
    if wanted:
        world.learned.setdefault(answer.address, wanted)
        request.answer = Reached(*answer[:5], world.learned[answer.address])


_askers: dict[int, Asker] = {}


def asker_at(back: int) -> Asker:
    """Who called, by the return address: the last byte of the call is in front of it."""
    if back not in _askers:
        address = back - 1
        block = gdb.current_progspace().block_for_pc(address)
        while block is not None and block.function is None:
            block = block.superblock
        name = block.function.name if block is not None else target.symbol_of(address)[0]
        line = gdb.current_progspace().find_pc_line(address)
        source = f"{line.symtab.filename.rsplit('/', 1)[-1]}:{line.line}" if line.symtab and line.line else ""
        file, holder = target.object_of(address), worlds.objects().holder(address)
        offset = address - holder.image.base if holder else 0
        _askers[back] = Asker(address, offset, name, file, layers.layer_of_object(file), source)
    return _askers[back]


# -- on and off -----------------------------------------------------------------------------------------------


def switch_on() -> None:
    RECORDER.is_on = True
    if target.is_alive():
        if target.connection() == "core":
            raise UserError("a core file makes no requests any more; cuda-route shows where its references lead")
        plant()


def switch_off() -> None:
    RECORDER.is_on = False
    RECORDER.remove()


def plant(event: object = None) -> None:
    """Breakpoints in every object that is new; called as objects are loaded."""
    if not RECORDER.is_on or not target.is_alive():
        return
    try:
        mapped = {(one.image.name, one.image.base): one for one in worlds.objects().all}
    except UserError:  # the loader has not begun
        return
    RECORDER.planted &= mapped.keys()  # what was unloaded may come again
    for key in mapped.keys() - RECORDER.planted:
        RECORDER.planted.add(key)
        plant_in(mapped[key])


def plant_in(linkage: Linkage) -> None:
    """One breakpoint an address, under the name that the object gives it first."""
    file = worlds.file_of(linkage)
    for symbol, shape in resolver_shapes().items():
        for definition in linkage.symbols.find(symbol):
            known = RECORDER.entries.get(definition.address)
            if known is None or known.file != file:
                RECORDER.entries[definition.address] = Entry(definition.address, shape, file)


def on_objects_change(event: object = None) -> None:
    _askers.clear()
    plant()


def new_process() -> None:
    """The log of a process can be read after its end, until the next one starts."""
    RECORDER.clear()


def forget_process() -> None:
    RECORDER.remove()
    RECORDER.learned.clear()
    _askers.clear()

"""The recorder of requests: every call of dlsym, cuGetProcAddress and their kin, seen by breakpoints that never stop.

One at the first instruction of each implementation and one at each place where a request returns to; internal, for
they never stop. They only feed the book (`gdbcuda.routes.requests`): a guard inside the process can do that instead.
At bare addresses they would make the next ``run`` fail, so they go with their process; none is deleted in ``stop``.
(gdb manual: "Breakpoints In Python".)
"""

from __future__ import annotations

import contextlib
import time

import gdb

from gdbcuda import api
from gdbcuda.errors import Unreadable, UserError
from gdbcuda.linkage import Linkage
from gdbcuda.live import layers, process
from gdbcuda.live.dlsym import changed_answers, request_values, stubs, wanted_requests
from gdbcuda.live.dlsym.request_values import (
    argument_registers,
    asker_at,
    read_answer,
    read_request,
    resolver_shapes,
    return_place,
    steady_snapshot,
)
from gdbcuda.live.dlsym.wanted_requests import answered_for, is_asked_for, is_everything_wanted, is_on, is_wanted
from gdbcuda.live.host import console
from gdbcuda.live.host.inferiors import PerInferior
from gdbcuda.live.layers import table_version, this_snapshot
from gdbcuda.live.placing import own_process, unloading
from gdbcuda.live.stopping import stack_cycles
from gdbcuda.live.threads import call_registers
from gdbcuda.routes import requests, right_function
from gdbcuda.routes.shapes import ResolverShape
from gdbcuda.text.printable import visible

MOST_REPEATED = 100  # times that a question is asked from deeper and deeper before that is called recursion


class RequestLog:
    """What one process has asked for; ``seconds`` and ``stops`` are what it has cost."""

    def __init__(self) -> None:
        self.book = requests.Book()
        self.seconds, self.stops = 0.0, 0
        self.told_recursion = False


class Planted:
    """The breakpoints of one process that do it, and the objects that have theirs."""

    def __init__(self) -> None:
        self.entries: dict[int, ResolverEntry] = {}
        self.returns: dict[int, ResolverReturn] = {}
        self.errors: dict[int, LoaderError] = {}
        self.objects: dict[tuple[str, int], int] = {}  # with the address of its dynamic section

    def remove(self) -> None:
        for breakpoint in [*self.entries.values(), *self.returns.values(), *self.errors.values()]:
            if breakpoint.is_valid():
                breakpoint.delete()


LOG: PerInferior[RequestLog] = PerInferior(RequestLog, kept=True)
PLANTED: PerInferior[Planted] = PerInferior(Planted, Planted.remove)


class ResolverWatch(own_process.Internal):
    """A breakpoint at an address that looks on and never stops. What a broken process cannot tell is not recorded."""

    def stop(self) -> bool:
        began, log = time.perf_counter(), LOG()
        with contextlib.suppress(Unreadable, UserError, gdb.error):
            self.look()
        log.stops += 1
        log.seconds += time.perf_counter() - began
        return False

    def look(self) -> None:
        raise NotImplementedError


class ResolverEntry(ResolverWatch):
    """At the first instruction of a resolver."""

    def __init__(self, address: int, shape: ResolverShape, file: str) -> None:
        super().__init__(address)
        self.shape, self.file, self.layer = shape, file, layers.layer_of_object(file)

    def look(self) -> None:
        back, sp = return_place()
        back = stubs.real_return(back)
        values = tuple(map(process.register, argument_registers(self.shape)))
        request = read_request(self.shape, values, asker_at(back))
        request.owner, request.owner_layer = self.file, self.layer
        if not is_asked_for(request):
            return
        inferior = gdb.selected_inferior()
        request.inferior, request.process = inferior.num, inferior.pid
        request.thread, request.sp = gdb.selected_thread().num, sp
        if not LOG().book.enter(request, keep=is_on() or api.base_name(request.name) in answered_for()):
            return
        known = PLANTED().returns
        if back not in known:
            known[back] = ResolverReturn(back)
        tell_recursion(request)
        changed_answers.at_entry(request, self.address, back)


class ResolverReturn(ResolverWatch):
    """Where a resolver's caller goes on."""

    def look(self) -> None:
        finished = LOG().book.leave(call_registers.thread_number(), call_registers.current_stack_pointer())
        for request in reversed(finished):
            changed_answers.at_return(request)
            read_answer(steady_snapshot(), request)
            plant_answer(request)
            if request.answer is not None and request.owner_layer == "system":
                LOG().book.note_error(request.thread, "")


class LoaderError(ResolverWatch):
    """Where the loader gives up: what it says there is what dlerror will say. Asking dlerror would take it away."""

    def __init__(self, address: int, symbol: str) -> None:
        super().__init__(address)
        self.symbol = symbol

    def look(self) -> None:
        LOG().book.note_error(call_registers.thread_number(), request_values.loader_error(self.symbol))


def tell_recursion(request: requests.Request) -> None:
    """Until the stack is full this takes minutes, in which nothing else would be said."""
    if request.repeated != MOST_REPEATED or LOG().told_recursion:
        return
    LOG().told_recursion = True
    asked = visible(f"{request.resolver} of {request.owner.rsplit('/', 1)[-1]}")
    said = stack_cycles.ever_deeper(asked, request.repeated, request.thread)
    more = [*handed_to_itself(), f"(it goes on; set cuda-recursion-limit {MOST_REPEATED} stops the next run there)"]
    console.write("".join(f"{line}\n" for line in [said, *(f"  {one}" for one in more)]))


def handed_to_itself() -> list[str]:
    """Whose wrong answer led back: the resolver has returned, so the stack does not show it."""
    for one in reversed(LOG().book.requests):
        if one.verdict.word == "wrong object" and one.repeated > 1 and one.answer is not None:
            asked = f"{layers.shown(one.owner_layer, one.owner)} {one.resolver} asked for {one.name}"
            return [visible(f"{asked} in {one.handle_text} answers with {one.answer.text}")]
    return []


# -- on and off -----------------------------------------------------------------------------------------------


def switch_on() -> None:
    if process.connection() == "core":
        raise UserError("a core file makes no requests any more; cuda-route shows where its references lead")
    wanted_requests.set_on(True)
    unloading.watch()
    plant()


def switch_off() -> None:
    """The breakpoints stay as long as requests are to be answered differently."""
    wanted_requests.set_on(False)
    if not is_wanted():
        for inferior in gdb.inferiors():
            PLANTED.forget(inferior.num)
            LOG.of(inferior).book.forget_open()


def plant(event: object = None) -> None:
    """Breakpoints in every object that is new; called as objects are loaded."""
    if not is_wanted() or not process.is_alive() or process.connection() == "core":
        return
    try:
        mapped = {(one.image.name, one.image.base): one for one in this_snapshot.objects().all}
    except UserError:  # the loader has not begun
        return
    known = PLANTED().objects
    everything = is_everything_wanted()
    for key in mapped.keys() - known.keys():
        if not everything and this_snapshot.layer_of(mapped[key]) != "hook":
            continue
        known[key] = mapped[key].image.dynamic
        plant_in(mapped[key])


def plant_in(linkage: Linkage) -> None:
    """One breakpoint an address, under the name that the object gives it first."""
    file, entries = this_snapshot.file_of(linkage), PLANTED().entries
    for symbol, shape in resolver_shapes().items():
        for definition in linkage.symbols.find(symbol):
            known = entries.get(definition.address)
            if known is None or known.file != file:
                entries[definition.address] = ResolverEntry(definition.address, shape, file)
    if this_snapshot.layer_of(linkage) == "system":
        plant_errors(linkage)


def plant_errors(linkage: Linkage) -> None:
    known = PLANTED().errors
    for symbol in request_values.LOADER_ERRORS:
        for definition in linkage.symbols.find(symbol):
            if definition.address not in known:
                known[definition.address] = LoaderError(definition.address, symbol)


def plant_answer(request: requests.Request) -> None:
    """A hook library without names has answered for a resolver: what that is asked for is a request too."""
    name = right_function.wanted_symbol(table_version.table(), request) or request.name
    shape, answer = resolver_shapes().get(name), request.answer
    if shape is not None and answer is not None and answer.layer == "hook" and not request.is_hooks_own:
        entries = PLANTED().entries
        if answer.address not in entries:
            entries[answer.address] = ResolverEntry(answer.address, shape, answer.file)


def forget_unloaded(addresses: set[int]) -> None:
    """What was unloaded may come again."""
    planted = PLANTED()
    unloading.drop(addresses, planted.entries, planted.returns, planted.errors)
    planted.objects = unloading.still_there(planted.objects)


unloading.ON_UNLOADED.append(forget_unloaded)


def on_objects_change(event: object = None) -> None:
    plant()

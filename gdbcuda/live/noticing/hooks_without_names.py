"""Libraries that hook by other ways than names: an injection library may have rewritten slots once its beginning is
over, an audit library binds each name where it likes, and an indirect function (IFUNC) of a hook library says which
code it stands for. (CUDA_INJECTION64_PATH; rtld-audit(7): la_symbind64; `layers.code.indirect`.)"""

from __future__ import annotations

from contextlib import suppress

from gdbcuda.errors import Unreadable, UserError
from gdbcuda.linkage.hook_library import AUDIT, INJECTION
from gdbcuda.live import process
from gdbcuda.live.host.inferiors import PerInferior
from gdbcuda.live.layers import noticed, this_snapshot
from gdbcuda.live.layers.code import answering_code
from gdbcuda.live.noticing import answer_search
from gdbcuda.live.placing import leaving, own_process, unloading
from gdbcuda.live.threads import call_registers
from gdbcuda.machine import abi
from gdbcuda.memory import string_at
from gdbcuda.routes.answering import Answering

BINDS, INDIRECT = "la_symbind64", "IFUNC"
HOW = {INJECTION: "", BINDS: "binds it there", INDIRECT: "says so (an indirect function)"}
SYMBOL_NAME = 5  # its last argument


class WayEntry(own_process.Internal):
    """At the first instruction of such a function. ``symbol``: what it says the code of, where that is one."""

    sees_all_calls = False

    def __init__(self, address: int, name: str, symbol: str = "") -> None:
        super().__init__(address)
        self.name, self.symbol = name, symbol

    @property
    def is_awaited(self) -> bool:
        names = answer_search.wanted()
        return self.symbol in names if self.symbol else bool(names)

    def stop(self) -> bool:
        places, memory = PLACES(), process.InferiorMemory()
        symbol = self.symbol
        if self.name == BINDS:
            register = abi.convention(process.machine()).integers[SYMBOL_NAME]
            symbol = string_at(memory, process.register(register))
            if symbol not in answer_search.wanted():
                return False
        back, _ = call_registers.here().return_place(call_registers.current_stack_pointer(), memory)
        places.bound[call_registers.thread_number()] = symbol, HOW[self.name]
        if back not in places.returns:
            places.returns[back] = WayReturn(back, self.name)
        return False


class WayReturn(own_process.Internal):
    """Where its caller goes on."""

    sees_all_calls = False

    def __init__(self, address: int, name: str) -> None:
        super().__init__(address)
        self.name = name

    def stop(self) -> bool:
        symbol, how = PLACES().bound.pop(call_registers.thread_number(), ("", ""))
        if self.name == INJECTION:
            answer_search.look()
        elif symbol:
            bound(symbol, call_registers.result_register(), how)
        return False


class WayPlaces:
    """Of one process. ``bound``: by thread, the name that is being bound, and how."""

    def __init__(self) -> None:
        self.entries: dict[int, WayEntry] = {}
        self.returns: dict[int, WayReturn] = {}
        self.bound: dict[int, tuple[str, str]] = {}

    def end(self) -> None:
        for one in (*self.entries.values(), *self.returns.values()):
            if one.is_valid():
                one.delete()


PLACES: PerInferior[WayPlaces] = PerInferior(WayPlaces, WayPlaces.end)


def bound(symbol: str, address: int, how: str) -> None:
    reached = this_snapshot.now().reached(address, is_final=True)
    if reached is not None and reached.layer == "hook" and symbol not in reached.names:
        answering_code.learn(Answering(symbol, reached, f"{reached.object} {how}"))


def plant() -> None:
    plant_indirect()
    for name, telltale in ((INJECTION, INJECTION), (BINDS, AUDIT)):
        files = noticed.exporting(telltale)
        for address in process.decoded(name) if files else ():
            start = process.function_start(address)
            if start and start not in PLACES().entries and process.object_of(start) in files:
                PLACES().entries[start] = WayEntry(start, name)


def plant_indirect() -> None:
    """What has been asked before is seen in the slots."""
    with suppress(UserError, Unreadable):  # the loader has not begun
        found = [hook.symbols.defined(answer_search.wanted()) for hook in this_snapshot.hooks()]
        for one in (one for names in found for versions in names.values() for one in versions):
            if one.is_indirect and one.address not in PLACES().entries:
                PLACES().entries[one.address] = WayEntry(one.address, INDIRECT, one.name)


def forget_unloaded(addresses: set[int]) -> None:
    unloading.drop(addresses, PLACES().entries, PLACES().returns)


unloading.ON_UNLOADED.append(forget_unloaded)


def sweep(event: object = None) -> None:
    """At a stop, and between commands: deletes what says nothing that anybody waits for."""
    for places in PLACES.all():
        idle = {at: one for at, one in places.entries.items() if not one.is_awaited}
        leaving.delete(places.entries, idle)
        leaving.delete(places.returns, places.returns if not places.entries else ())

"""Libraries that hook by other ways than names: an injection library may have rewritten slots once its beginning is
over, and an audit library binds each name where it likes. (CUDA_INJECTION64_PATH; rtld-audit(7): la_symbind64.)"""

from __future__ import annotations

from gdbcuda.linkage.hook_library import AUDIT, INJECTION
from gdbcuda.live import process
from gdbcuda.live.host.inferiors import PerInferior
from gdbcuda.live.layers import answer_search, answering, noticed, this_snapshot
from gdbcuda.live.placing import own_process, unloading
from gdbcuda.live.threads import call_registers
from gdbcuda.machine import abi
from gdbcuda.memory import string_at
from gdbcuda.routes.answering import Answering

BINDS = "la_symbind64"
SYMBOL_NAME = 5  # its last argument


class WayEntry(own_process.Internal):
    """At the first instruction of such a function."""

    sees_all_calls = False

    def __init__(self, address: int, name: str) -> None:
        super().__init__(address)
        self.name = name

    def stop(self) -> bool:
        places, memory = PLACES(), process.InferiorMemory()
        symbol = ""
        if self.name == BINDS:
            register = abi.convention(process.machine()).integers[SYMBOL_NAME]
            symbol = string_at(memory, process.register(register))
            if symbol not in answer_search.wanted():
                return False
        back, _ = call_registers.here().return_place(call_registers.current_stack_pointer(), memory)
        places.bound[call_registers.thread_number()] = symbol
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
        symbol = PLACES().bound.pop(call_registers.thread_number(), None)
        if self.name == INJECTION:
            answer_search.look()
        elif symbol:
            bound(symbol, call_registers.result_register())
        return False


class WayPlaces:
    """Of one process. ``bound``: by thread, the name that is being bound."""

    def __init__(self) -> None:
        self.entries: dict[int, WayEntry] = {}
        self.returns: dict[int, WayReturn] = {}
        self.bound: dict[int, str] = {}

    def end(self) -> None:
        for one in (*self.entries.values(), *self.returns.values()):
            if one.is_valid():
                one.delete()


PLACES: PerInferior[WayPlaces] = PerInferior(WayPlaces, WayPlaces.end)


def bound(symbol: str, address: int) -> None:
    reached = this_snapshot.now().reached(address, is_final=True)
    if reached is not None and reached.layer == "hook" and symbol not in reached.names:
        answering.learn(Answering(symbol, reached, f"{reached.object} binds it there"))


def plant() -> None:
    for name, telltale in ((INJECTION, INJECTION), (BINDS, AUDIT)):
        files = noticed.exporting(telltale)
        for address in process.decoded(name) if files else ():
            start = process.function_start(address)
            if start and start not in PLACES().entries and process.object_of(start) in files:
                PLACES().entries[start] = WayEntry(start, name)


def forget_unloaded(addresses: set[int]) -> None:
    unloading.drop(addresses, PLACES().entries, PLACES().returns)


unloading.ON_UNLOADED.append(forget_unloaded)

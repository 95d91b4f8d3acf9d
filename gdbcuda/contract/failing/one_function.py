"""One function, in which the driver refuses once what the hook library asks of it; then another thread calls it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from gdbcuda import api
from gdbcuda.api.table import STATUS_TYPES
from gdbcuda.contract.answers import DriverCall, fails_once, statuses
from gdbcuda.contract.argument_kinds import to_bytes
from gdbcuda.contract.bench import Bench
from gdbcuda.contract.calling import contexts
from gdbcuda.contract.calling.one_call import FORGOTTEN, OneCall, prepared
from gdbcuda.contract.endings import Ended
from gdbcuda.contract.registry import Broken
from gdbcuda.contract.targets import HookTarget
from gdbcuda.data_classes import dataclass, field
from gdbcuda.ledger.effects import roles

SUCCESS = 0
PATIENCE = 5.0  # seconds: a lock that is left held is waited for
UNKNOWN = {"driver": "CUDA_ERROR_UNKNOWN", "runtime": "cudaErrorUnknown", "nvml": "NVML_ERROR_UNKNOWN"}
NO_MEMORY = {"driver": "CUDA_ERROR_OUT_OF_MEMORY", "runtime": "cudaErrorMemoryAllocation"}
Deed = Callable[[OneCall], Iterator[Broken]]


class DriverFault(NamedTuple):
    """The ``nth`` call of the driver's ``symbol`` is refused."""

    symbol: str
    nth: int

    def answer(self, table: api.Table) -> str:
        function = table.functions[self.symbol]
        return fails_once(self.symbol, self.nth, to_bytes(refusal(function), function.result.size))


def refusal(function: api.Function) -> int:
    """The status that the driver gives."""
    names = NO_MEMORY if roles.takes_device_memory(function) else UNKNOWN
    return statuses(function)[names.get(function.api) or UNKNOWN[function.api]]


def can_fail(function: api.Function | None) -> bool:
    return function is not None and function.result.spelling == STATUS_TYPES[function.api]


def beyond_it(fault: DriverFault) -> set[str]:
    """What may well be so after that. An error of its own is forgotten by the call that forgets the program's."""
    return {FORGOTTEN, *([contexts.CHANGED] if contexts.is_put_back(fault.symbol) else [])}


@dataclass
class FailingFunction:
    """``usual``: what is broken where nothing fails, which the other groups tell, in the first call and the second;
    ``goes_elsewhere``: the driver has the call by another function, or not at all."""

    bench: Bench
    target: HookTarget
    usual: set[str] = field(default_factory=set)
    usual_then: set[str] = field(default_factory=set)
    goes_elsewhere: bool = False

    def broken(self) -> Iterator[Broken]:
        own = DriverFault(self.target.symbol, 1)
        besides: list[DriverFault] = []

        def look(call: OneCall) -> Iterator[Broken]:
            besides.extend(self.besides(call.made(SUCCESS).reached))
            self.usual = {one.what for one in call.broken()}
            self.goes_elsewhere = not call.is_reached
            self.usual_then = self.usual | {one.what for one in call.made(SUCCESS, is_aside=True).broken()}
            return iter(())

        yield from self.apart([("", look), *self.deeds(own)])
        for fault in besides:
            yield from self.apart(self.deeds(fault))

    def besides(self, reached: list[DriverCall]) -> Iterator[DriverFault]:
        """What the hook library asks of the driver beside the call itself."""
        known: dict[str, int] = {}
        for one in reached:
            known[one.symbol] = known.get(one.symbol, 0) + 1
            if one.symbol != self.target.symbol and can_fail(self.bench.table.functions.get(one.symbol)):
                yield DriverFault(one.symbol, known[one.symbol])

    def deeds(self, fault: DriverFault) -> list[tuple[str, Deed]]:
        return [(f"the driver refuses {fault.symbol}: ", lambda call: self.refused(call, fault)),
                (f"after the driver has refused {fault.symbol}, in another thread: ", self.then)]  # fmt: skip

    def apart(self, deeds: list[tuple[str, Deed]]) -> list[Broken]:
        """In a process of its own. What ends in the first deed is the other groups'."""
        found: list[Broken] = []
        stage = ""
        try:
            with self.bench.copy(PATIENCE) as program:
                dice = self.bench.dice(f"faults {self.target.symbol}")
                call = prepared(self.bench, program, self.target, dice)
                for stage, deed in deeds:
                    found.extend(one._replace(what=f"{stage}{one.what}") for one in deed(call))
        except Ended as how:
            found += [Broken(f"{stage}{how}", how.example, self.bench.last)] if stage else []
        return found

    def refused(self, call: OneCall, fault: DriverFault) -> Iterator[Broken]:
        call.made(SUCCESS, fault=fault.answer(self.bench.table))
        yield from call.no_status()
        if fault.symbol == call.function.symbol:
            if call.status == SUCCESS and call.is_reached and not self.is_tried_again(call):
                yield call.found("it says that all is well")
        elif call.status == SUCCESS and not call.is_reached and not self.goes_elsewhere:
            yield call.found("it says that all is well, and has not asked the driver")
        elif call.status == SUCCESS:
            yield from (one for one in call.broken() if one.what not in self.usual | beyond_it(fault))
            yield from call.of_error_left()
        elif self.is_left_done(call):
            yield call.found("it fails, and leaves done what the driver has done")
        elif not call.is_reached:
            call.is_written = False
            yield from call.memory()

    def is_tried_again(self, call: OneCall) -> bool:
        """The same, or memory by another way."""
        others = [one for one in call.reached if roles.takes_device_memory(self.bench.table.functions[one.symbol])]
        return len(call.calls) > 1 or len(others) > 1

    def is_left_done(self, call: OneCall) -> bool:
        """Memory that nobody knows of, or that is gone; what has no part in books may have been done."""
        after = [one.symbol for one in call.reached][::-1]
        if call.function.role not in (roles.ALLOC, roles.FREE) or call.function.symbol not in after:
            return False
        later = after[: after.index(call.function.symbol)]
        return not any(self.bench.table.functions[one].base in call.function.released_by for one in later)

    def then(self, call: OneCall) -> Iterator[Broken]:
        known = self.usual_then | {FORGOTTEN}
        yield from (one for one in call.made(SUCCESS, is_aside=True).broken() if one.what not in known)

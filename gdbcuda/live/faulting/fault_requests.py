"""What is asked of a fault, and the breakpoint that stands for it; made anew, or of a saved one."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

import gdb

from gdbcuda import api
from gdbcuda.errors import UserError
from gdbcuda.faults.fault_plan import FaultPlan
from gdbcuda.live import breakpoints
from gdbcuda.live.breaking import from_request
from gdbcuda.live.breaking.from_request import BreakRequest
from gdbcuda.live.breakpoints.ours import BreakWish, InjectedFault
from gdbcuda.live.faulting.fault_options import FaultOptions
from gdbcuda.live.frames import condition_words
from gdbcuda.live.guarding import guards
from gdbcuda.live.layers import names, variants
from gdbcuda.live.noticing import answer_search
from gdbcuda.live.threads import children

if TYPE_CHECKING:
    from gdbcuda import condition as conditions

PlanOf = Callable[[api.Function], FaultPlan]


class FaultRequest:
    """``command``: its name; ``clause``: what its words say of the fault; ``plan_of``: what that is for a function, or
    `UserError` where it is not for that one."""

    def __init__(self, command: str, wanted: FaultOptions, clause: str, plan_of: PlanOf) -> None:
        self.command, self.clause, self.plan_of, self.is_exact = command, clause, plan_of, wanted.exact
        self.functions = wanted.function
        self.request = BreakRequest(wanted.places, wanted.callers, text=wanted.condition)

    def make(self) -> tuple[dict[int, FaultPlan], list[str], conditions.Condition | None]:
        """By number of the breakpoint; symbols that a glob has named and that cannot have the fault; the condition."""
        request = self.request
        found = {symbol: pattern for pattern in self.functions
                 for symbol in variants.resolve(pattern, request.calls(self.is_exact))}  # fmt: skip
        globbed = {symbol for symbol, pattern in found.items() if names.is_glob(pattern)}
        plans = self.plans([*found], globbed)
        many = {one for one in plans if [*found.values()].count(found[one]) > 1}
        condition = request.parse([*plans], many | globbed)
        fitting = [one for one in plans if condition is None or condition.fits(one)]
        made = {}
        with breakpoints.pending_allowed():
            for symbol in fitting:
                made[self.make_one(symbol, plans[symbol], condition).number] = plans[symbol]
        guards.refresh()
        return made, [one for one in found if one not in fitting], condition

    def plans(self, symbols: Sequence[str], optional: set[str]) -> dict[str, FaultPlan]:
        found, problems = {}, []
        for symbol in symbols:
            try:
                found[symbol] = self.plan_of(function_of(symbol))
            except UserError as problem:
                problems.append(problem)
                if symbol not in optional:
                    raise
        if not found:
            raise problems[0]
        return found

    def make_one(self, symbol: str, plan: FaultPlan, condition: conditions.Condition | None) -> gdb.Breakpoint:
        native = self.native(symbol, condition, breakpoints.next_number())
        made = breakpoints.create(self.wish(symbol, condition), native)
        fault = InjectedFault(made.number, function_of(symbol), plan)
        guards.want_fault(made, native, fault, condition, self.request.callers)
        answer_search.want()
        children.get_ready()
        return made

    def adopt(self, one: gdb.Breakpoint) -> None:
        """A breakpoint that gdb has made of a saved one."""
        (symbol,) = self.functions
        condition = self.request.parse([symbol])
        native = self.native(symbol, condition, one.number)
        breakpoints.adopt(one, self.wish(symbol, condition), native)
        fault = InjectedFault(one.number, function_of(symbol), self.plan_of(function_of(symbol)))
        guards.want_fault(one, native, fault, condition, self.request.callers)

    def native(self, symbol: str, condition: conditions.Condition | None, number: int) -> str:
        terms = from_request.gdb_terms(symbol, self.request, condition, number)
        return " && ".join([*terms, f"$_cuda_fault({number})"])

    def wish(self, symbol: str, condition: conditions.Condition | None) -> BreakWish:
        found = from_request.wish_of(symbol, self.request, condition)
        found.words = self.words(symbol, condition)
        return found

    def words(self, symbol: str, condition: conditions.Condition | None) -> str:
        """Of a command that asks for the same."""
        exact = " --exact" if from_request.is_base_of_others(symbol) else ""
        text = f" if {condition.text}" if condition is not None else ""
        return f"{self.command} {shlex.quote(symbol)}{exact} {self.request.options()} {self.clause}{text}"


def function_of(symbol: str) -> api.Function:
    found = names.function_named(symbol)
    if found is None:
        raise UserError(f"{symbol} is no function of the CUDA runtime, driver or NVML: only those have a known result")
    return found


def functions_in(words: Iterable[str]) -> list[api.Function]:
    return [one for word in words for one in condition_words.functions_of(word.strip("'\""))]

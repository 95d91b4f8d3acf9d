"""What each breakpoint of cuda-break lets through, as tests in machine code: its condition and its callers."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Callable

from gdbcuda import condition as conditions
from gdbcuda.condition import typed
from gdbcuda.condition.machine_code import translate
from gdbcuda.live import process
from gdbcuda.live.breakpoints.ours import GuardFilter, InjectedFault
from gdbcuda.live.frames import callers
from gdbcuda.live.guarding.filters.condition_needs import FaultyProcess, SelectedProcess
from gdbcuda.live.layers import own_prototypes
from gdbcuda.machine import abi, trampoline
from gdbcuda.machine.detour import NoDetour
from gdbcuda.machine.x86.x86_write import Code
from gdbcuda.text import cplusplus

Term = Callable[[], trampoline.Test]
EVERY_CALL = "every call is wanted"
MACHINE = "x86-64"


def test_of(found: GuardFilter, is_any_useful: bool = False) -> trampoline.Test:
    """``is_any_useful``: also where it lets every call through."""
    if not found.terms and not is_any_useful:
        raise NoDetour(EVERY_CALL)
    return trampoline.all_of([term() for term in found.terms])


def of_function(
    number: int, native: str, symbol: str, condition: conditions.Condition | None, wanted_callers: str
) -> GuardFilter:
    """For the breakpoint ``number`` on ``symbol`` with the condition ``native``, which says the same in gdb."""
    function = own_prototypes.prototype(symbol)
    terms = caller_terms(wanted_callers)
    if condition is not None and function is not None:
        tree = condition.trees[symbol]
        base, count = typed.split(tree)
        locations = abi.locate(function, MACHINE)
        own = [tree_term(number, part, locations, count is not None) for part in (base,) if part is not None]
        asks_kernel = translate.may_read(tree)
        terms = terms + own if asks_kernel else own + terms  # that costs more
        terms += [tree_term(number, count, locations)] if count is not None else []
        names_callers = any(isinstance(one, typed.CallerIn) for one in typed.nodes(tree))
        threads = frozenset(one.number for one in typed.nodes(tree) if isinstance(one, typed.Thread))
        asks_gdb = condition.to_gdb(function, abi.locate(function, process.machine())).why
        return GuardFilter(terms, native, False, count is not None, names_callers, asks_kernel, threads, asks_gdb)
    if native and not native.startswith("$_cuda_"):
        terms = [refusal("its condition is gdb's own, for the function is not in the API table")]
    return GuardFilter(terms, native)


def of_fault(
    fault: InjectedFault, native: str, condition: conditions.Condition | None, wanted_callers: str
) -> GuardFilter:
    """The same for a fault, which nobody looks at again: what the process cannot tell of a call is not meant."""
    tree = condition.trees[fault.function.symbol] if condition is not None else None
    base, count = typed.split(tree) if tree is not None else (None, None)
    who = typed.CallerIn(tuple(cplusplus.listed(wanted_callers))) if wanted_callers != "any" else None
    places = abi.locate(fault.function, MACHINE)
    terms = [fault_term(fault.number, one, places) for one in (who, base, count) if one is not None]
    nodes = [node for one in (who, tree) if one is not None for node in typed.nodes(one)]
    return GuardFilter(
        terms, native, is_counting=count is not None,
        names_callers=any(isinstance(one, typed.CallerIn) for one in nodes),
        asks_kernel=fault.plan.sleeps or (tree is not None and translate.may_read(tree)),
        threads=frozenset(one.number for one in nodes if isinstance(one, typed.Thread)), fault=fault,
    )  # fmt: skip


def fault_term(number: int, tree: typed.Typed, places: Sequence[abi.ValuePlace]) -> Term:
    def write(code: Code, true: str, false: str, pushed: int) -> None:
        try:
            translate.branch(code, tree, places, true, false, pushed, FaultyProcess(number), unknown=false)
        except translate.NoMachineCode as reason:
            raise NoDetour(str(reason)) from None

    return lambda: write


def of_name(native: str, argument: int, pattern: str | None, wanted_callers: str) -> GuardFilter:
    """For a resolver that is asked for a name: what begins as the pattern does is looked at in gdb."""
    terms = caller_terms(wanted_callers)
    head = re.split(r"[*?\[]", pattern or "", maxsplit=1)[0]
    if head:
        registers = abi.convention(MACHINE).integers
        places = [abi.ValuePlace((abi.Piece(register, None, abi.WORD),)) for register in registers]
        terms.append(tree_term(0, typed.Matches("name", argument, head.encode(), True), places))
    return GuardFilter(terms, native, asks_kernel=bool(head))


def tree_term(number: int, tree: typed.Typed, locations: Sequence[abi.ValuePlace], counts: bool = False) -> Term:
    def write(code: Code, true: str, false: str, pushed: int) -> None:
        try:
            translate.branch(code, tree, locations, true, false, pushed, SelectedProcess(number, counts))
        except translate.NoMachineCode as reason:
            raise NoDetour(str(reason)) from None

    return lambda: write


def caller_terms(wanted: str) -> list[Term]:
    return [] if wanted == "any" else [lambda: callers.test(wanted)]


def refusal(why: str) -> Term:
    def refuse() -> trampoline.Test:
        raise NoDetour(why)

    return refuse

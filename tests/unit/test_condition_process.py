"""The predicate, gdb in a process, the machine code run for real: the same on random conditions and calls."""

from __future__ import annotations

import concurrent.futures
import ctypes
import itertools
import json
import mmap
import platform
import shutil
import typing
from collections.abc import Iterator
from dataclasses import dataclass, field

import condition_cases
import pytest
from condition_calls import ARENA, STACK, Calls
from condition_cases import Conditions
from condition_process import ADDRESS, CALLERS, GDB, THREADS, Made, Process
from hypothesis import given, settings
from hypothesis import strategies as st
from machine import Machine
from test_condition_x86 import COUNTER, called, compiled, parsed_or_none, predicted, pthread_self

from gdbcuda import condition
from gdbcuda.condition import typed
from gdbcuda.condition.arithmetic import COMPARISONS, DOUBLE, SIGNED, UNSIGNED
from gdbcuda.condition.place import within
from gdbcuda.machine import abi

pytestmark = [
    pytest.mark.skipif(shutil.which(GDB) is None or shutil.which("gcc") is None, reason="needs gdb and gcc"),
    pytest.mark.skipif(platform.machine() != "x86_64", reason="runs x86-64 machine code"),
]
MAP_FIXED_NOREPLACE = 0x100000
numbers = itertools.count(1)  # of conditions: each counts for itself


@dataclass
class Threads:
    """Threads 2 and 3 of this process, and this one."""

    pools: dict[int, concurrent.futures.ThreadPoolExecutor] = field(default_factory=dict)

    def run(self, number: int, action):
        if number == 1:
            return action()
        pool = self.pools.setdefault(number, concurrent.futures.ThreadPoolExecutor(1))
        return pool.submit(action).result()


class Both:
    """This process, for the machine code (`Place`), and a call for the predicate (`Surroundings`)."""

    def __init__(self) -> None:
        self.machine, self.threads = Machine(), Threads()
        for number in THREADS:
            self.machine.words[number] = self.threads.run(number, pthread_self)
        self.ranges: dict[str, list[tuple[int, int]]] = {"nowhere": []}
        for site, caller in enumerate(CALLERS):
            self.machine.call(self.machine.write(0, b"\xc3"), {}, bytes(STACK), site)  # ret
            self.ranges[caller] = [(self.machine.return_address - 1, self.machine.return_address)]
        self.mapped = map_memory()
        self.counted, self.made = 0, Made("", "here", 1, {}, b"")

    def forget(self) -> None:
        self.counted = 0
        self.machine.words[COUNTER] = 0

    def run(self, entry: int, made: Made, memory: bytes) -> bool | None:
        ctypes.memmove(ADDRESS, memory, len(memory))
        site = CALLERS.index(made.caller)
        return self.threads.run(made.thread, lambda: called(self.machine, entry, made.registers, made.stack, site))

    def counter(self, node: typed.Count) -> int:
        return self.machine.words.address(COUNTER)

    def caller_ranges(self, node: typed.CallerIn) -> list[tuple[int, int]]:
        return [one for word in node.words for one in self.ranges[word]]

    def knows_all_callers(self, node: typed.CallerIn) -> bool:
        return "elsewhere" not in node.words

    def thread(self, node: typed.Thread | None = None) -> int:
        return self.made.thread if node is None else self.machine.words.address(node.number)

    def is_from(self, words) -> bool:
        return any(within(self.ranges[self.made.caller][0][1], self.ranges[word]) for word in words)

    def count(self) -> int:
        self.counted += 1
        return self.counted


def map_memory() -> int:
    """At the address that the other process has it at, so that the same pointers work in both."""
    call = ctypes.CDLL(None, use_errno=True).mmap
    call.restype, call.argtypes = (
        ctypes.c_void_p,
        [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long],
    )
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | MAP_FIXED_NOREPLACE
    found = call(ADDRESS, 4096, mmap.PROT_READ | mmap.PROT_WRITE, flags, -1, 0)
    assert found == ADDRESS, ctypes.get_errno()
    return found


@pytest.fixture(scope="module")
def both() -> Both:
    return Both()


@pytest.fixture(scope="module")
def process(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Process]:
    found = Process(tmp_path_factory.mktemp("process"), condition_cases.POINTING)
    yield found
    found.close()


def expression(parsed: condition.Condition, function) -> str:
    """As cuda-break writes it, for a breakpoint of its own."""
    native = parsed.to_gdb(function, abi.locate(function))
    count = [f"$_cuda_count({next(numbers)}, {json.dumps(native.count)})"] if native.count else []
    return " && ".join([*native.terms, *count])


def test_the_random_conditions_have_everything_that_the_language_has() -> None:
    """Else the agreement below says less than it seems to."""
    kinds, operators, sizes = set(), set(), set()
    for symbol, seed in itertools.product(condition_cases.POINTING, range(60)):
        made = Conditions(seed, condition_cases.TABLE.functions[symbol], words=True)
        parsed = parsed_or_none(made.counting(2), made.target)
        for node in typed.nodes(parsed.trees[symbol]) if parsed is not None else ():
            kinds.add(type(node))
            operators.add((type(node), getattr(node, "op", ""), node.kind))
            sizes.add((type(node), getattr(node, "size", 0), getattr(node, "is_signed", None), node.kind))
    assert kinds == set(typing.get_args(typed.Typed))
    for kind, fractions in ((SIGNED, False), (UNSIGNED, False), (DOUBLE, True)):
        wanted = "+-*/" if fractions else ["+", "-", "*", "/", "%", "&", "|", "^", "<<", ">>"]
        assert {op for node, op, found in operators if node is typed.Arithmetic and found == kind} == set(wanted)
        assert (typed.Unary, "-", kind) in operators
    assert {op for node, op, _ in operators if node is typed.Compare} == set(COMPARISONS)
    for node in (typed.Argument, typed.Pointee):
        found = {(size, is_signed) for one, size, is_signed, kind in sizes if one is node and kind != DOUBLE}
        assert found >= {(4, True), (4, False), (8, False)}, node
        assert (node, 4, True, DOUBLE) in sizes or (node, 4, False, DOUBLE) in sizes, node


@pytest.mark.parametrize("symbol", condition_cases.POINTING)
@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 1 << 40), depth=st.integers(0, 2))
def test_the_three_agree(both: Both, process: Process, symbol: str, seed: int, depth: int) -> None:
    made = Conditions(seed, condition_cases.TABLE.functions[symbol], words=True)
    text = made.counting(depth)
    parsed = parsed_or_none(text, made.target)
    if parsed is None:
        return
    both.forget()
    calls, native = Calls(made, ADDRESS), expression(parsed, made.target)
    entry = both.machine.write(0, compiled(parsed, made.target, both).assemble(both.machine.address))
    memory = calls.fill()
    for _ in range(5):
        registers, stack, raws = calls.call()
        both.made = Made(symbol, made.random.choice(CALLERS), made.random.choice(THREADS), registers, stack)
        holds = predicted(parsed, made.target, raws, calls.reader(stack), both)
        assert both.run(entry, both.made, memory) == holds, (text, "machine code")
        found = process.evaluate(both.made, memory, native)
        # it asks the cheap terms first: it may or may not come to the pointer that leads nowhere
        assert found == holds or (None in (found, holds) and not (found or holds)), (text, native)


@pytest.mark.parametrize("op", "/%")
@pytest.mark.parametrize("divisor", [0, 1, (1 << 64) - 1])
def test_what_is_divided_is_read_by_whatever_it_is_divided(process: Process, op: str, divisor: int) -> None:
    """In C the answer of a division by zero is ours, and would need no left side."""
    function = condition_cases.TABLE.functions["cuGraphAddKernelNode_v2"]
    text = f"nodeParams->gridDimY {op} numDependencies >= 0"
    native = expression(condition.parse(text, condition_cases.TABLE, [function]), function)
    places = {p.name: place.pieces[0].register for p, place in zip(function.parameters, abi.locate(function))}
    for pointer, there in ((ADDRESS, True), (1, None)):
        registers = {places["numDependencies"]: divisor, places["nodeParams"]: pointer}
        made = Made(function.symbol, CALLERS[0], THREADS[0], registers, bytes(STACK))
        assert process.evaluate(made, bytes(ARENA), native) is there, native

"""Random conditions on random arguments: the machine code, run for real, says what the Python predicate says."""

from __future__ import annotations

import concurrent.futures
import ctypes
import mmap
import platform
import re
from collections.abc import Iterator

import condition_cases
import pytest
from condition_calls import STACK, Calls
from condition_cases import Conditions
from hypothesis import given, settings
from hypothesis import strategies as st
from machine import SIZE, Machine

from gdbcuda import condition
from gdbcuda.condition import typed
from gdbcuda.condition.machine_code import translate
from gdbcuda.condition.place import ProcessPlaces, within
from gdbcuda.errors import Unreadable, UserError
from gdbcuda.machine import abi
from gdbcuda.machine.x86.x86_write import Code

pytestmark = pytest.mark.skipif(platform.machine() != "x86_64", reason="runs x86-64 machine code")
STACKED = condition_cases.function(
    "int i;size_t z;void * p;long long l;unsigned int u;size_t y;int a;size_t b;unsigned int c;float f;double d;short s"
)

TARGETS = [condition_cases.WIDE, condition_cases.NARROW, STACKED]
LOOPS = 100_000
COUNTER = 0  # the word; that of a thread has its number
UNKNOWN, MEMORY = SIZE - 8192, SIZE - 4096  # behind the code; the first: a byte that says that it could not tell


@pytest.fixture(scope="module")
def machine() -> Machine:
    return Machine()


def compiled(parsed: condition.Condition, function, place: ProcessPlaces | None = None) -> Code:
    code = Code()
    translate.branch(code, parsed.trees[function.symbol], abi.locate(function), "true", "false", 0, place, "unknown")
    code.label("true")
    code.emit(b"\xf9\xc3")  # stc; ret
    code.label("false")
    code.emit(b"\xf8\xc3")  # clc; ret
    code.label("unknown")
    code.emit(b"\xc6\x05")  # movb $1, UNKNOWN(%rip)
    code.distance("memory", 1)
    code.emit(b"\1\xc3")  # ret
    code.labels["memory"] = UNKNOWN
    return code


def answer(machine: Machine, parsed: condition.Condition, function, registers, stack: bytes = b"") -> bool | None:
    entry = machine.write(0, compiled(parsed, function).assemble(machine.address))
    return called(machine, entry, registers, stack)


def called(machine: Machine, entry: int, registers, stack: bytes, site: int = 0) -> bool | None:
    """None where it could not tell."""
    machine.write(UNKNOWN, b"\0")
    holds = machine.call(entry, registers, stack, site)[0]
    return None if machine.memory[UNKNOWN] else holds


def predicted(parsed: condition.Condition, function, raws, memory, here) -> bool | None:
    try:
        return parsed.holds(function, raws, memory, here)
    except Unreadable:
        return None


def pthread_self() -> int:
    asked = ctypes.CDLL(None).pthread_self
    asked.restype = ctypes.c_uint64
    return int(asked())


class Here:
    """This very process, as `ProcessPlaces` for the machine code and as `Surroundings` for the predicate."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        machine.call(machine.write(0, b"\xc3"), {}, bytes(STACK))  # ret
        back = machine.return_address
        self.block = pthread_self()  # glibc's and musl's pthread_t is the control block's address
        self.ranges = {
            "here": [(1, 2), (back - 1, back), (back + 100, back + 200)],
            "there": [(back, back + 50), (1 << 40, (1 << 64) - 1)],
            "nowhere": [],
            "elsewhere": [],  # there is more than ranges say
        }
        self.counted = 0
        self.forget()

    def forget(self) -> None:
        self.counted = 0
        self.machine.words[COUNTER] = 0

    def counter(self, node: typed.Count) -> int:
        return self.machine.words.address(COUNTER)

    def caller_ranges(self, node: typed.CallerIn) -> list[tuple[int, int]]:
        return [one for word in node.words for one in self.ranges[word]]

    def knows_all_callers(self, node: typed.CallerIn) -> bool:
        return "elsewhere" not in node.words

    def thread(self, node: typed.Thread | None = None) -> int:
        if node is None:
            return 1
        self.machine.words[node.number] = self.block if node.number == 1 else self.block ^ 1 << 32 * (node.number % 2)
        return self.machine.words.address(node.number)

    def is_from(self, words) -> bool:
        return any(within(self.machine.return_address, self.ranges[word]) for word in words)

    def count(self) -> int:
        self.counted += 1
        return self.counted


@pytest.fixture(scope="module")
def here(machine: Machine) -> Here:
    return Here(machine)


def parsed_or_none(text: str, function) -> condition.Condition | None:
    try:
        return condition.parse(text, condition_cases.TABLE, [function])
    except UserError as reason:
        assert re.search("is never|no finite|fraction", str(reason)), (text, reason)
        return None


def agree(machine: Machine, here: Here, calls: Calls, text: str, times: int) -> list[bool | None]:
    """The same answers on random calls; where calls are counted, one after the other."""
    function = calls.made.target
    parsed = parsed_or_none(text, function)
    if parsed is None:
        return []
    here.forget()
    entry = machine.write(0, compiled(parsed, function, here).assemble(machine.address))
    machine.write(MEMORY, calls.fill())
    answers = []
    for _ in range(times):
        registers, stack, raws = calls.call()
        found = called(machine, entry, registers, stack)
        answers.append(predicted(parsed, function, raws, calls.reader(stack), here))
        assert found == answers[-1], (text, registers, stack.hex())
    return answers


@pytest.mark.parametrize("function", TARGETS, ids=["wide", "narrow", "stacked"])
@settings(max_examples=400, deadline=None)
@given(seed=st.integers(0, 1 << 40), depth=st.integers(0, 4))
def test_the_machine_agrees_with_the_predicate(machine: Machine, here: Here, function, seed: int, depth: int) -> None:
    made = Conditions(seed, function)
    agree(machine, here, Calls(made, machine.address + MEMORY), made.condition(depth), 4)


@pytest.mark.parametrize("symbol", condition_cases.POINTING)
@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 1 << 40), depth=st.integers(0, 3))
def test_they_agree_on_what_pointers_lead_to(machine: Machine, here: Here, symbol: str, seed: int, depth: int) -> None:
    made = Conditions(seed, condition_cases.TABLE.functions[symbol], words=True)
    agree(machine, here, Calls(made, machine.address + MEMORY), made.counting(depth), 12)


def test_they_agree_on_callers_threads_and_counts(machine: Machine, here: Here) -> None:
    """As many true answers as false ones, else the agreement says little."""
    answers = []
    for seed in range(400):
        made = Conditions(seed, condition_cases.NARROW, words=True)
        answers += agree(machine, here, Calls(made, machine.address + MEMORY), made.counting(1), 12)
    assert 0.15 < answers.count(True) / len(answers) < 0.6


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ("caller in elsewhere", True),
        ("!(caller in elsewhere)", True),
        ("!!(caller in elsewhere)", True),
        ("caller in elsewhere && {large}", True),
        ("caller in elsewhere && {small}", False),
        ("{small} && !(caller in elsewhere)", False),
        ("!(caller in elsewhere) && {large}", True),
        ("!(caller in elsewhere && {large})", True),
        ("!(caller in elsewhere || {large})", False),
        ("!(caller in here || {large})", False),
        ("caller in here,elsewhere && {small}", False),
    ],
)
def test_a_caller_that_is_no_range_is_left_to_the_debugger(
    machine: Machine, here: Here, text: str, holds: bool
) -> None:
    """True: it may hold. What does not hold whoever calls is found out in the process."""
    function = condition_cases.TABLE.functions["cuMemAlloc_v2"]
    wanted = text.format(large="bytesize > 5", small="bytesize < 5")
    parsed = condition.parse(wanted, condition_cases.TABLE, [function])
    entry = machine.write(0, compiled(parsed, function, here).assemble(machine.address))
    assert called(machine, entry, {"rdi": 0, "rsi": 9}, bytes(STACK)) is holds


@pytest.mark.parametrize(
    ("text", "name", "holds"),
    [
        ('symbol == "cuInit"', b"cuInit", True),
        ('symbol == "cuInit"', b"cuInit_v2", False),
        ('symbol == "cuInit"', b"cuIni", False),
        ('symbol == "cuMem*"', b"cuMem", True),
        ('symbol == "cuMem*"', b"cuMe", False),
        ('symbol != "cuMem*"', b"cuMemAlloc", False),
        ('symbol == "*"', b"", True),
        ('symbol == "*"', None, False),
        ('symbol != "x" && cudaVersion == 12000', b"y", True),
        ('(symbol == "y") + (cudaVersion / 2 == 6000) == 2', b"y", True),
    ],
)
def test_strings(machine: Machine, text: str, name: bytes | None, holds: bool) -> None:
    function = condition_cases.TABLE.functions["cuGetProcAddress_v2"]
    parsed = condition.parse(text, condition_cases.TABLE, [function])
    at = machine.write(SIZE - 4096, name + b"\0") if name is not None else 0
    assert answer(machine, parsed, function, {"rdi": at, "rdx": 12000}) is holds


def test_one_comparison_is_two_instructions() -> None:
    """The price of a false guard: nothing is saved, nothing loaded."""
    function = condition_cases.TABLE.functions["cuMemAlloc_v2"]
    parsed = condition.parse("bytesize > 1G", condition_cases.TABLE, [function])
    assert bytes(compiled(parsed, function).bytes[:9]) == b"\x48\x81\xfe\x00\x00\x00\x40\x0f\x86"


@pytest.mark.parametrize("text", ["caller in hook", "thread == 2", "nth == 3"])
def test_no_code_without_the_process(text: str) -> None:
    function = condition_cases.TABLE.functions["cuMemAlloc_v2"]
    with pytest.raises(translate.NoMachineCode, match=r"^the (caller|thread|count) is not known here$"):
        compiled(condition.parse(text, condition_cases.TABLE, [function]), function)


def test_a_string_on_the_stack(machine: Machine) -> None:
    function = condition_cases.function("int a;int b;int c;int d;int e;int f;const char * name")
    parsed = condition.parse('name == "a"', condition_cases.TABLE, [function])
    for text, holds in ((b"a\0", True), (b"ab\0", False)):
        at = machine.write(MEMORY, text)
        assert answer(machine, parsed, function, {}, at.to_bytes(8, "little")) is holds


@pytest.fixture(scope="module")
def edge() -> Iterator[mmap.mmap]:
    """A page that can be read, and behind it one that cannot."""
    found = mmap.mmap(-1, 2 * mmap.PAGESIZE)
    view = ctypes.c_char.from_buffer(found)
    assert ctypes.CDLL(None).mprotect(ctypes.c_void_p(ctypes.addressof(view) + mmap.PAGESIZE), mmap.PAGESIZE, 0) == 0
    yield found
    del view


@pytest.mark.parametrize(
    ("text", "there", "holds"),
    [
        ('symbol == "cuInit"', b"cuInit\0", True),
        ('symbol == "cuInit"', b"cuIn", None),  # gdb has to look
        ('symbol == "cuI*"', b"cuI", True),
        ('symbol == "cuInit"', b"", False),
        ('symbol != "cuInit"', b"", True),
        ("*symbol == 99", b"c", True),
        ("symbol[1] == 117", b"c", None),
    ],
)
def test_no_byte_behind_the_last_page(machine: Machine, edge, text: str, there: bytes, holds: bool | None) -> None:
    function = condition_cases.TABLE.functions["cuGetProcAddress_v2"]
    parsed = condition.parse(text, condition_cases.TABLE, [function])
    end = ctypes.addressof(ctypes.c_char.from_buffer(edge)) + mmap.PAGESIZE
    edge[mmap.PAGESIZE - len(there) : mmap.PAGESIZE] = there
    assert answer(machine, parsed, function, {"rdi": end - len(there)}) is holds


def test_a_number_across_two_pages_is_left_to_gdb(machine: Machine, edge) -> None:
    function = condition_cases.TABLE.functions["cuMemcpy2D_v2"]
    parsed = condition.parse("pCopy->srcXInBytes == 0", condition_cases.TABLE, [function])
    end = ctypes.addressof(ctypes.c_char.from_buffer(edge)) + mmap.PAGESIZE
    edge[mmap.PAGESIZE - 8 : mmap.PAGESIZE] = bytes(8)
    found = [answer(machine, parsed, function, {"rdi": end - size}) for size in (8, 4, 0)]
    assert found == [True, None, None]


def spinning(entry: int) -> Code:
    """Calls LOOPS times; how often it came back with the carry flag set."""
    code = Code()
    code.emit(b"\x53\x41\x54\x45\x31\xe4\xbb" + LOOPS.to_bytes(4, "little"))  # push rbx, r12; r12 = 0; rbx = LOOPS
    code.label("again")
    code.emit(b"\xe8")
    code.distance(entry)
    code.emit(b"\x49\x83\xd4\x00\xff\xcb")  # adc r12, 0; dec ebx
    code.jump("ne", "again")
    code.emit(b"\x4c\x89\xe0\x41\x5c\x5b\xc3")  # rax = r12; pop r12, rbx; ret
    return code


def test_threads_count_together(machine: Machine, here: Here) -> None:
    """The count is one step: no two calls have the same number."""
    function = condition_cases.TABLE.functions["cuMemAlloc_v2"]
    parsed = condition.parse("nth == 1500", condition_cases.TABLE, [function])
    here.forget()
    code = compiled(parsed, function, here)
    entry = machine.write(0, code.assemble(machine.address))
    call = ctypes.CFUNCTYPE(ctypes.c_long)(machine.write(1024, spinning(entry).assemble(machine.address + 1024)))
    with concurrent.futures.ThreadPoolExecutor(4) as threads:  # ctypes lets the others run meanwhile
        hits = list(threads.map(lambda _: call(), range(4)))
    assert sum(hits) == 1 and machine.words[COUNTER] == 4 * LOOPS


def test_a_thread_that_comes_later(machine: Machine, here: Here) -> None:
    """As the word says at the time of the call, whatever it was when the code was written."""
    function = condition_cases.TABLE.functions["cuMemAlloc_v2"]
    for text, holds in (("thread == 1", [False, True, False]), ("thread != 1", [True, False, True])):
        code = compiled(condition.parse(text, condition_cases.TABLE, [function]), function, here)
        entry, found = machine.write(0, code.assemble(machine.address)), []
        for block in (0, here.block, here.block ^ 1 << 40):
            machine.words[1] = block
            found.append(called(machine, entry, {}, b""))
        assert found == holds

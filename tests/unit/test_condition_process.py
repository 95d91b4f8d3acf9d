"""The gdb back end against the Python one in a real process: conditions with every word, as a breakpoint has them.

A program calls API functions with random arguments, from three functions and three threads; at each call one gdb
evaluates all conditions on that function, `$_cuda_…` among them, and the answers are compared with the predicate's.
"""

from __future__ import annotations

import json
import platform
import shutil
import struct
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

import condition_cases
import pytest
from condition_calls import STACK, Calls
from condition_cases import Conditions
from test_condition_gdb import GDB

from gdbcuda import abi, condition
from gdbcuda.errors import UserError

pytestmark = [
    pytest.mark.skipif(shutil.which(GDB) is None or shutil.which("gcc") is None, reason="needs gdb and gcc"),
    pytest.mark.skipif(platform.machine() != "x86_64", reason="gives arguments by x86-64's registers"),
]
ROOT = Path(__file__).resolve().parents[2]
ARENA = 0x4000000000
ROUNDS, CONDITIONS = 8, 30
REGISTERS = (*abi.convention("x86-64").integers, "xmm0", "xmm1")
WORDS = STACK // 8

PROGRAM = """
#include <pthread.h>
#include <stdio.h>
#include <sys/mman.h>
typedef unsigned long W;
typedef int F(W, W, W, W, W, W, double, double%(stack_types)s);
struct call { F *function; int caller, thread; W words[6]; double fractions[2]; W stack[%(words)d]; };
%(functions)s
#define CALL(NAME) __attribute__((noipa)) int NAME(struct call *c) { \\
    int found = c->function(c->words[0], c->words[1], c->words[2], c->words[3], c->words[4], c->words[5], \\
                            c->fractions[0], c->fractions[1]%(stack)s); \\
    return found + 1; }
CALL(here)
CALL(there)
CALL(nowhere)
static int (*const callers[])(struct call *) = {here, there};
static F *const functions[] = {%(names)s};
static struct call calls[%(count)d];
static volatile int turn;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t moved = PTHREAD_COND_INITIALIZER;
static void *work(void *me)
{
    pthread_mutex_lock(&mutex);
    while (turn < %(count)d)
        if (calls[turn].thread == (long)me) {
            callers[calls[turn].caller](&calls[turn]);
            turn++;
            pthread_cond_broadcast(&moved);
        } else
            pthread_cond_wait(&moved, &mutex);
    pthread_mutex_unlock(&mutex);
    return NULL;
}
int main(int count, char **words)
{
    pthread_t threads[2];
    FILE *file = fopen(words[1], "rb");
    void *arena = mmap((void *)%(arena)dUL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (arena != (void *)%(arena)dUL)
        return 2;
    if (fread(arena, %(arena_size)d, 1, file) != 1 || fread(calls, sizeof calls, 1, file) != 1)
        return 1;
    for (int i = 0; i < %(count)d; i++)
        calls[i].function = functions[(long)calls[i].function];
    for (long i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, work, (void *)(i + 2));
    work((void *)1);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
"""

SCRIPT = """
import json
wanted = json.load(open(FILE))
for name in wanted:
    gdb.execute("break *" + name, to_string=True)
gdb.execute("run", to_string=True)
answers = []
while gdb.selected_inferior().pid:
    name = gdb.selected_frame().name()
    answers.append([name, [int(gdb.parse_and_eval("(" + text + ") ? 1 : 0")) for text in wanted[name]]])
    gdb.execute("continue", to_string=True)
json.dump(answers, open(FILE + ".answers", "w"))
"""


@dataclass
class Case:
    """One condition on one function, and what it has counted."""

    text: str
    parsed: condition.Condition
    number: int
    counted: int = 0

    def expression(self, function) -> str:
        native = self.parsed.to_gdb(function, abi.locate(function))
        count = [f"$_cuda_count({self.number}, {json.dumps(native.count)})"] if native.count else []
        return " && ".join([*native.terms, *count])


@dataclass
class Made:
    """One call as the program makes it. (`Surroundings` of a case's predicate.)"""

    symbol: str
    caller: str
    number: int
    registers: dict[str, int]
    stack: bytes
    raws: list[bytes]
    case: Case | None = field(default=None)

    def is_from(self, words) -> bool:
        return self.caller in words

    def thread(self) -> int:
        return self.number

    def count(self) -> int:
        assert self.case is not None
        self.case.counted += 1
        return self.case.counted

    def packed(self, functions: list[str]) -> bytes:
        caller = ("here", "there").index(self.caller)
        words = [self.registers.get(name, 0) for name in REGISTERS]
        return struct.pack("<QII8Q", functions.index(self.symbol), caller, self.number, *words) + self.stack


def cases_of(made: Conditions, first: int) -> list[Case]:
    found: list[Case] = []
    while len(found) < CONDITIONS:
        text = made.counting(made.random.randint(0, 2))
        try:
            found.append(Case(text, condition.parse(text, condition_cases.TABLE, [made.target]), first + len(found)))
        except UserError:
            continue
    return found


def build(folder: Path, symbols: list[str], count: int) -> Path:
    text = PROGRAM % {
        "stack_types": ", W" * WORDS,
        "stack": "".join(f", c->stack[{index}]" for index in range(WORDS)),
        "words": WORDS,
        "functions": "\n".join(f"__attribute__((noipa)) int {s}() {{ return 0; }}" for s in symbols),
        "names": ", ".join(f"(F *){s}" for s in symbols),
        "count": count,
        "arena": ARENA,
        "arena_size": 2048,
    }
    (folder / "calls.c").write_text(text)
    subprocess.run(["gcc", "-O1", "-w", "-pthread", "-o", "calls", "calls.c"], cwd=folder, check=True)
    return folder / "calls"


def answers_of(folder: Path, program: Path, data: bytes, wanted: dict[str, list[str]]) -> list[tuple[str, list[int]]]:
    (folder / "data").write_bytes(data)
    (folder / "wanted").write_text(json.dumps(wanted))
    (folder / "script.py").write_text(f"FILE = {str(folder / 'wanted')!r}\n{SCRIPT}")
    line = [
        GDB,
        "-nx",
        "-batch",
        "-x",
        ROOT / "gdbcuda.py",
        "-x",
        folder / "script.py",
        "--args",
        program,
        folder / "data",
    ]
    done = subprocess.run(line, capture_output=True, text=True, timeout=300)
    assert (folder / "wanted.answers").exists(), done.stdout[-2000:] + done.stderr[-2000:]
    return json.loads((folder / "wanted.answers").read_text())


def test_gdb_and_python_agree_on_calls_of_a_process(tmp_path: Path) -> None:
    made = {
        symbol: Conditions(11, condition_cases.TABLE.functions[symbol], True) for symbol in condition_cases.POINTING
    }
    cases = {symbol: cases_of(one, 1000 * index) for index, (symbol, one) in enumerate(made.items(), 1)}
    calls, arena = [], Calls(made["cuMemcpy2D_v2"], ARENA)
    arena.fill()
    for _ in range(ROUNDS):
        for symbol, one in made.items():
            of = Calls(one, ARENA, arena.memory, arena.strings)
            registers, stack, raws = of.call()
            caller, thread = one.random.choice(["here", "there"]), one.random.choice([1, 2, 3])
            calls.append(Made(symbol, caller, thread, registers, stack, raws))
    symbols = list(made)
    data = arena.memory + b"".join(call.packed(symbols) for call in calls)
    wanted = {s: [case.expression(made[s].target) for case in found] for s, found in cases.items()}
    found = answers_of(tmp_path, build(tmp_path, symbols, len(calls)), data, wanted)
    assert [name for name, _ in found] == [call.symbol for call in calls]
    for call, (symbol, answers) in zip(calls, found):
        memory = Calls(made[symbol], ARENA, arena.memory).reader(call.stack)
        for case, answer in zip(cases[symbol], answers):
            call.case = case
            holds = case.parsed.holds(made[symbol].target, call.raws, memory, call)
            assert holds == bool(answer), (symbol, case.text, case.expression(made[symbol].target))
    assert 0.2 < sum(sum(answers) for _, answers in found) / (len(found) * CONDITIONS) < 0.8

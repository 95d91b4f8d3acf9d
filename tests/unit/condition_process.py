"""A process under a real gdb that makes the calls it is told, for one condition after the other.

The program reads a memory and a call from a pipe: which function, with what registers and stack, from which of its
functions and threads. gdb stops at the function's first instruction and evaluates an expression there. One session
answers some thousand questions.
"""

from __future__ import annotations

import json
import os
import struct
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from condition_calls import ARENA, STACK

from gdbcuda.machine import abi

GDB = os.environ.get("GDBCUDA_GDB", "gdb")
NO_LIBC_SOURCE = ("-iex", "set debug-file-directory")  # which takes longer to read than all that is asked here
ROOT = Path(__file__).resolve().parents[2]
ADDRESS = 0x4000000000  # of the memory that pointers lead to
CALLERS, THREADS = ("here", "there"), (1, 2, 3)
REGISTERS = (*abi.convention("x86-64").integers, "xmm0", "xmm1")
WORDS = STACK // 8

PROGRAM = """
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
typedef unsigned long W;
typedef int F(W, W, W, W, W, W, double, double%(stack_types)s);
static struct { int function, caller, thread, unused; W words[6]; double fractions[2]; W stack[%(words)d]; } call;
%(functions)s
static F *const functions[] = {%(names)s};
#define CALLER(NAME) __attribute__((noipa)) int NAME(void) { \\
    int found = functions[call.function](call.words[0], call.words[1], call.words[2], call.words[3], call.words[4], \\
                                         call.words[5], call.fractions[0], call.fractions[1]%(stack)s); \\
    return found + 1; }
CALLER(here)
CALLER(there)
CALLER(nowhere)
static int (*const callers[])(void) = {here, there};
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t moved = PTHREAD_COND_INITIALIZER;
static void *work(void *me)
{
    pthread_mutex_lock(&mutex);
    for (;; pthread_cond_wait(&moved, &mutex))
        if (call.thread == (long)me) {
            callers[call.caller]();
            call.thread = 0;
            pthread_cond_broadcast(&moved);
        }
}
static void fill(int file, char *to, long size)
{
    for (long found; size > 0; to += found, size -= found)
        if ((found = read(file, to, size)) <= 0)
            exit(0);
}
__attribute__((noipa)) void ready(void) {}
int main(int count, char **words)
{
    char *memory = mmap((void *)%(address)dUL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    pthread_t thread;
    if (memory != (void *)%(address)dUL)
        return 2;
    pthread_mutex_lock(&mutex);
    for (long i = 2; i <= 3; i++)
        pthread_create(&thread, NULL, work, (void *)i);
    ready();
    for (;;) {
        fill(atoi(words[1]), memory, %(memory)d);
        fill(atoi(words[1]), (char *)&call, sizeof call);
        if (call.thread == 1)
            callers[call.caller]();
        else
            for (pthread_cond_broadcast(&moved); call.thread; pthread_cond_wait(&moved, &mutex))
                ;
    }
}
"""

SCRIPT = """
import json, os
for name in ("ready", *NAMES):
    gdb.execute("break *" + name, to_string=True)
gdb.execute("run", to_string=True)
with os.fdopen(QUESTIONS) as questions, os.fdopen(ANSWERS, "w") as answers:
    for line in questions:
        gdb.execute("continue", to_string=True)
        try:
            answer = int(gdb.parse_and_eval("(" + json.loads(line) + ") ? 1 : 0"))
        except gdb.error as problem:
            answer = str(problem)
        print(json.dumps([gdb.selected_frame().name(), answer]), file=answers, flush=True)
gdb.execute("kill", to_string=True)
"""


@dataclass(frozen=True)
class Made:
    """One call of a function by its ELF symbol; ``caller`` and ``thread`` as in CALLERS and THREADS."""

    symbol: str
    caller: str
    thread: int
    registers: Mapping[str, int]
    stack: bytes

    def packed(self, symbols: Sequence[str]) -> bytes:
        words = [self.registers.get(name, 0) for name in REGISTERS]
        which = symbols.index(self.symbol), CALLERS.index(self.caller), self.thread, 0
        return struct.pack("<4i8Q", *which, *words) + self.stack


class Process:
    """``close`` it."""

    def __init__(self, folder: Path, symbols: Sequence[str]) -> None:
        self.symbols = symbols
        calls, self.calls = os.pipe()
        questions, to_gdb = os.pipe()
        from_gdb, answers = os.pipe()
        names = f"NAMES, QUESTIONS, ANSWERS = {tuple(symbols)!r}, {questions}, {answers}\n"
        (folder / "script.py").write_text(names + SCRIPT)
        line = [GDB, "-nx", "-q", "-batch", *NO_LIBC_SOURCE, "-x", ROOT / "gdbcuda.py", "-x", folder / "script.py"]
        self.gdb = subprocess.Popen(
            [*line, "--args", build(folder, symbols), str(calls)],
            stdin=subprocess.DEVNULL, stdout=(folder / "log").open("w"), stderr=subprocess.STDOUT,
            pass_fds=(calls, questions, answers),
        )  # fmt: skip
        self.log = folder / "log"
        for end in (calls, questions, answers):
            os.close(end)
        self.questions, self.answers = os.fdopen(to_gdb, "w"), os.fdopen(from_gdb)

    def evaluate(self, made: Made, memory: bytes, expression: str) -> bool | None:
        """What gdb says at the first instruction of the call; None where it could not read the memory."""
        os.write(self.calls, memory + made.packed(self.symbols))
        print(json.dumps(expression), file=self.questions, flush=True)
        line = self.answers.readline()
        assert line, self.log.read_text()[-2000:]
        symbol, answer = json.loads(line)
        is_unreadable = str(answer).startswith(("Cannot access memory", "cannot read"))  # gdb's words, ours
        assert symbol == made.symbol and (is_unreadable or answer in (0, 1)), (symbol, answer, expression)
        return None if is_unreadable else answer == 1

    def close(self) -> None:
        self.questions.close()
        self.gdb.wait(timeout=60)
        self.answers.close()
        os.close(self.calls)


def build(folder: Path, symbols: Sequence[str]) -> Path:
    text = PROGRAM % {
        "stack_types": ", W" * WORDS,
        "stack": "".join(f", call.stack[{index}]" for index in range(WORDS)),
        "words": WORDS,
        "functions": "\n".join(f"__attribute__((noipa)) int {symbol}() {{ return 0; }}" for symbol in symbols),
        "names": ", ".join(f"(F *){symbol}" for symbol in symbols),
        "address": ADDRESS,
        "memory": ARENA,
    }
    (folder / "calls.c").write_text(text)
    subprocess.run(["gcc", "-O1", "-w", "-pthread", "-o", "calls", "calls.c"], cwd=folder, check=True)
    return folder / "calls"

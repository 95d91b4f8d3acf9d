"""What a real compiler does with arguments: C callers whose callees only write down registers and stack."""

from __future__ import annotations

import shutil
import struct
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from shim_support import OLDER_LIBC

from gdbcuda import api
from gdbcuda.api.functions import declare
from gdbcuda.memory import DictMemory
from gdbcuda.rings.ring_functions import RecordedFunction

STACK = 16384  # bytes of stack that are captured: stack arguments, and what the caller passes the address of
COMPILERS = {"x86-64": ["gcc"], "aarch64": ["aarch64-linux-gnu-gcc", "-static"]}
RUNNERS = {"x86-64": [], "aarch64": ["qemu-aarch64"]}
INTEGERS = {
    "x86-64": ["rdi", "rsi", "rdx", "rcx", "r8", "r9", "rax"],
    "aarch64": [f"x{i}" for i in range(9)],
}
FLOATS = {"x86-64": [f"xmm{i}" for i in range(8)], "aarch64": [f"v{i}" for i in range(8)]}

# `capture`: the callee of every argument test. `capture_result`: calls its argument and writes down what is
# where after the return; a large result goes to `place`.
X86_64 = (
    [".globl capture", "capture:"]
    + [f"movq %{name}, seen+{8 * i}(%rip)" for i, name in enumerate(INTEGERS["x86-64"])]
    + [f"movups %{name}, seen+{128 + 16 * i}(%rip)" for i, name in enumerate(FLOATS["x86-64"])]
    + ["movq %rsp, seen+120(%rip)", "leaq seen+256(%rip), %r11", "movl $0, %r10d"]
    + ["1: movq (%rsp,%r10,8), %rax", "movq %rax, (%r11,%r10,8)"]
    + ["incl %r10d", f"cmpl ${STACK // 8}, %r10d", "jne 1b", "movq %rdi, %rax", "ret"]
    + [".globl capture_result", "capture_result:", "pushq %rbx", "movq %rdi, %rax"]
    + ["leaq place(%rip), %rdi", "call *%rax", "movq %rax, seen+48(%rip)", "movq %rdx, seen+16(%rip)"]
    + ["movups %xmm0, seen+128(%rip)", "movups %xmm1, seen+144(%rip)", "popq %rbx", "ret"]
)
AARCH64 = (
    [".globl capture", "capture:", "adrp x9, seen", "add x9, x9, :lo12:seen"]
    + [f"str {name}, [x9, {8 * i}]" for i, name in enumerate(INTEGERS["aarch64"])]
    + [f"str q{i}, [x9, {128 + 16 * i}]" for i in range(8)]
    + ["mov x10, sp", "str x10, [x9, 120]", f"add x11, x10, {STACK}", "add x9, x9, 256"]
    + ["1: ldr x12, [x10], 8", "str x12, [x9], 8", "cmp x10, x11", "b.ne 1b", "ret"]
    + [".globl capture_result", "capture_result:", "stp x29, x30, [sp, -16]!"]
    + ["adrp x8, place", "add x8, x8, :lo12:place", "adrp x9, seen", "add x9, x9, :lo12:seen"]
    + ["str x8, [x9, 64]", "blr x0", "adrp x9, seen", "add x9, x9, :lo12:seen", "str x0, [x9]"]
    + ["str x1, [x9, 8]", *(f"str q{i}, [x9, {128 + 16 * i}]" for i in range(4))]
    + ["ldp x29, x30, [sp], 16", "ret"]
)
ASSEMBLY = {"x86-64": X86_64, "aarch64": AARCH64}
PROLOGUE = f"""
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
unsigned char seen[{256 + STACK}] __attribute__((aligned(16))), place[4096] __attribute__((aligned(16)));
void capture_result(void *function);
static void fill(void *to, size_t size) {{
  static unsigned state = 1;
  for (unsigned char *at = to; size--; at++) {{ state = state * 1103515245 + 12345; *at = state >> 16; }}
}}
static void put(const void *data, size_t size) {{ fwrite(data, 1, size, stdout); }}
static void put_place(void) {{ void *address = place; put(&address, 8); put(place, sizeof place); }}
"""


RECORDER = """
#include <stdint.h>
#include "ring_layout.h"
extern uint64_t gdbcuda_recorder_v1[], gdbcuda_functions_v1[];
extern char gdbcuda_slots_v1[];
void capture(void);
static const uint64_t table[][FUNCTION_SIZE] = {
TABLE};
static void fill_slots(void) {
  gdbcuda_recorder_v1[STATE_RECORDS] = 4096;
  memcpy(gdbcuda_functions_v1, table, sizeof table);
  for (size_t i = 0; i < sizeof table / sizeof *table; i++)
    gdbcuda_functions_v1[i * FUNCTION_SIZE + FUNCTION_ORIGINAL] = (uint64_t)capture;
}
static void put_memory(uint64_t address, uint64_t size) { put(&address, 8); put(&size, 8); put((void *)address, size); }
static void put_rings(void) {
  uint64_t state = (uint64_t)gdbcuda_recorder_v1;
  put(&state, 8);
  put_memory(state, STATE_SIZE * 8);
  for (uint64_t i = 0; i < gdbcuda_recorder_v1[STATE_COUNT]; i++) {
    uint64_t *ring = (uint64_t *)gdbcuda_recorder_v1[STATE_RINGS + i];
    put_memory((uint64_t)ring, (RING_HEADER + ring[RING_RECORDS] * RING_RECORD + PAST_ROOM) * 8);
  }
}
"""


@dataclass
class Capture:
    """One call: the bytes of each argument (or of the result), and all that the machine showed of them."""

    sent: list[bytes]
    registers: dict[str, int]
    stack_pointer: int
    memory: DictMemory


def has_compiler(machine: str) -> bool:
    tools = [COMPILERS[machine][0], *RUNNERS[machine][:1]]
    return all(shutil.which(tool) for tool in tools)


def arguments(functions: Sequence[api.Function], machine: str, header: str, folder: Path) -> list[Capture]:
    """A capture of one call of each function, with other bytes in every argument."""
    calls = "".join(_caller(function, i) for i, function in enumerate(functions))
    symbols = [f".globl {f.symbol}\n.set {f.symbol}, capture" for f in functions]
    output = _run(machine, header, calls, len(functions), symbols, folder)
    sizes = [[parameter.type.size for parameter in function.parameters] for function in functions]
    return _captures(output, sizes, machine, has_place=False)


def through_recorder(
    functions: Sequence[api.Function], header: str, folder: Path, build: Path
) -> tuple[list[Capture], bytes]:
    """The same where each call goes through its slot of the recorder, and then all that the recorder has written:
    its state's address, and (address, size, bytes) of its memory."""
    words = [", ".join(map(hex, RecordedFunction(function).words(0))) for function in functions]
    table = "".join(f"{{{row}}},\n" for row in words)
    begin = RECORDER.replace("TABLE", table) + "".join(
        _caller(function, i, f"((__typeof__(&{function.symbol}))(gdbcuda_slots_v1 + {i} * SLOT_SIZE))")
        for i, function in enumerate(functions)
    )
    symbols = [f".globl {f.symbol}\n.set {f.symbol}, capture" for f in functions]
    flags = ["-fPIC", "-pie", f"-I{build}/agent", str(build / "libgdbcuda.so"), f"-Wl,-rpath,{build}", *OLDER_LIBC]
    output = _run("x86-64", header, begin, len(functions), symbols, folder, flags, "fill_slots();", "put_rings();")
    sizes = [[parameter.type.size for parameter in function.parameters] for function in functions]
    found, end = _captures_until(output, sizes, "x86-64", has_place=False)
    return found, output[end:]


def results(functions: Sequence[api.Function], machine: str, header: str, folder: Path) -> list[Capture]:
    """A capture of the return of each function (none of which takes arguments)."""
    calls = "".join(_callee(function, i) for i, function in enumerate(functions))
    output = _run(machine, header, calls, len(functions), [], folder)
    sizes = [[function.result.size] for function in functions]
    return _captures(output, sizes, machine, has_place=True)


def _caller(function: api.Function, number: int, called: str = "") -> str:
    spellings = [parameter.type.spelling for parameter in function.parameters]
    values = [f"union {{ {declare(text, 'v')}; char b[1]; }} a{i};" for i, text in enumerate(spellings)]
    fills = [f"fill(&a{i}, sizeof a{i}.v); put(&a{i}, sizeof a{i}.v);" for i in range(len(spellings))]
    call = f"{called or function.symbol}({', '.join(f'a{i}.v' for i in range(len(spellings)))});"
    return f"static void call_{number}(void) {{ {' '.join([*values, *fills, call])} put(seen, sizeof seen); }}\n"


def _callee(function: api.Function, number: int) -> str:
    result = f"result_{number}"
    return (
        f"static {function.result.spelling} {result};\n{function.result.spelling} {function.symbol}(void) "
        f"{{ return {result}; }}\nstatic void call_{number}(void) {{ fill(&{result}, sizeof {result}); "
        f"put(&{result}, sizeof {result}); capture_result((void *){function.symbol}); "
        "put(seen, sizeof seen); put_place(); }\n"
    )


def _run(
    machine: str, header: str, calls: str, count: int, symbols: list[str], folder: Path, flags: Sequence[str] = (),
    first: str = "", last: str = "",
) -> bytes:  # fmt: skip
    main = "".join(f"call_{i}(); " for i in range(count))
    pad = f"volatile char pad[{2 * STACK}]; pad[0] = 0; "  # so that a whole capture lies within the stack
    source = header + PROLOGUE + calls + f"int main(void) {{ {pad} {first} {main} {last} return 0; }}\n"
    assembly = [*ASSEMBLY[machine], *symbols, '.section .note.GNU-stack,""', ""]
    (folder / "calls.c").write_text(source)
    (folder / "capture.s").write_text("\n".join(assembly))
    build = [*COMPILERS[machine], "-O1", "-fno-pie", "-no-pie", "-w", "-o", "calls", "calls.c", "capture.s", *flags]
    subprocess.run(build, cwd=folder, check=True)
    return subprocess.run([*RUNNERS[machine], "./calls"], cwd=folder, check=True, stdout=subprocess.PIPE).stdout


def _captures(output: bytes, sizes: list[list[int]], machine: str, has_place: bool) -> list[Capture]:
    found, end = _captures_until(output, sizes, machine, has_place)
    assert end == len(output)
    return found


def _captures_until(
    output: bytes, sizes: list[list[int]], machine: str, has_place: bool
) -> tuple[list[Capture], int]:
    """And where in the output they end."""
    at, found = 0, []

    def take(size: int) -> bytes:
        nonlocal at
        at += size
        return output[at - size : at]

    for call in sizes:
        sent = [take(size) for size in call]
        words = dict(zip(INTEGERS[machine], struct.unpack("<15Q", take(120))))
        (stack_pointer,) = struct.unpack("<Q", take(8))
        words.update((name, int.from_bytes(take(16), "little")) for name in FLOATS[machine])
        segments = {stack_pointer: take(STACK)}
        if has_place:
            (place,) = struct.unpack("<Q", take(8))
            segments = {place: take(4096)}
        found.append(Capture(sent, words, stack_pointer, DictMemory(segments)))
    return found, at

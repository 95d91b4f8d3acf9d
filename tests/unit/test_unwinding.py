"""The tables for unwinders: by instruction, and read by the C library's unwinder at every instruction of real calls."""

from __future__ import annotations

import platform
import subprocess
from pathlib import Path

import condition_cases
import pytest
from shim_support import OLDER_LIBC

from gdbcuda import condition
from gdbcuda.condition.machine_code import translate
from gdbcuda.faults.effects import Delay, Effect, Fail, Fault, Replace, Written
from gdbcuda.faults.fault_code import Faults
from gdbcuda.machine import abi, call_through, detour, trampoline, unwinding

HERE = Path(__file__).resolve().parent
SIZE = 1 << 18
COUNTERS = 2048  # behind the entry
DECLARED = "size_t z;double d;const char * s"
PROLOGUES = {  # its bytes, where gdb stops
    "frame pointer": ("55 4889e5 4883ec30 48897dd8 c9 c3", 8),
    "endbr": ("f30f1efa 55 4889e5 4157 4156 4155 4154 53 4883ec28 4883c428 5b 415c 415d 415e 415f 5d c3", 8),
    "pushes": ("4154 55 53 4989fc 31ed 31db 5b 5d 415c c3", 0),
    "all pushes": ("4157 4156 4155 4154 55 53 4883ec18 4531ff 4883c418 5b 5d 415c 415d 415e 415f c3", 14),
    "sub": ("4883ec18 31c0 9090 4883c418 c3", 0),
    "large sub": ("4881ec00100000 31c0 9090 4881c400100000 c3", 7),
    "lea": ("488d6424e8 31c0 9090 488d642418 c3", 0),
    "aligned": ("55 4889e5 4883e4c0 4883ec40 90 c9 c3", 8),
    "saved by mov": ("48895c24e8 48896c24f0 4883ec18 31ed 31db 488b1c24 488b6c2408 4883c418 c3", 14),
    "no frame": ("4889f8 4801f0 90 90 c3", 0),
    "call": ("4883ec08 31c0 e805000000 4883c408 c3 c3", 6),
    "branch": ("4885ff 740a 53 89fb 90 90 90 5b c3 90 90 31c0 c3", 0),
}
CONDITIONS = ("z == 5", "z * 3 > 9", "d > 0.5 && z % 2 == 1", 's == "cuInit"', 's == "cu*" || z + 1 == 3')


def raw(text: str) -> bytes:
    return bytes.fromhex(text.replace(" ", ""))


@pytest.fixture(scope="module")
def unwound(shim: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    program = tmp_path_factory.mktemp("unwound") / "unwound"
    flags = ("-Wall", "-Wextra", "-Werror", "-O0", "-fexceptions")
    subprocess.run(["gcc", *flags, "-o", str(program), str(HERE / "unwound.c"), *OLDER_LIBC], check=True)
    return program


def run(
    program: Path, shim: Path, text: str, stop: int, said: str, with_tables: bool = True, stack: int | None = None,
    effect: Effect | None = None,
) -> str:  # fmt: skip
    """``stack``: who passes the test is called from `call_through`, with so many words of arguments there. ``effect``:
    of a fault that means them instead."""
    started = subprocess.Popen(
        [str(program)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        env={"LD_PRELOAD": str(shim / "libgdbcuda.so")},
    )  # fmt: skip
    assert started.stdin is not None and started.stdout is not None
    area, entry = (int(word, 16) for word in started.stdout.readline().split())
    found = detour.plan(entry, raw(text), entry + stop)
    through = call_through.build(found, ("rdi", "xmm0", "rsi"), stack or 0, area + 4096)
    tests, failing = [guard(said)], None
    if stack is not None:
        tests, failing = [], trampoline.FailingCalls(tests, through.address)
    faults = None
    if effect is not None:
        meant = [Fault(guard(said), effect, entry + COUNTERS + 8 * index, 1 << 40) for index in range(2)]
        tests, failing, faults = [], None, Faults(meant, stack or 0)
    made = trampoline.build(found, tests, area + 64, failing=failing, faults=faults)
    written = [(entry, raw(text)), (entry, found.jump_to(made.address))]
    for code in (made, through):
        written.append((code.address, code.raw))
        for index, table in enumerate(unwinding.tables(code.raw) if with_tables else (), 1):
            written.append((code.address + index * SIZE, table))
    if found.stops_inside:
        written.append((made.hit, made.passing_on()))
    lines = "".join(f"{at:x} {bytes_.hex()}\n" for at, bytes_ in written)
    output, _ = started.communicate(lines + "\n", timeout=60)
    return output.strip() or f"ended with {started.returncode}"


def guard(text: str) -> trampoline.Test:
    function = condition_cases.function(DECLARED)
    tree = condition.parse(text, condition_cases.TABLE, [function]).trees["made"]

    def test(code, true, false, pushed):
        translate.branch(code, tree, abi.locate(function), true, false, pushed)

    return test


needs_x86 = pytest.mark.skipif(platform.machine() != "x86_64", reason="runs x86-64 machine code")


@needs_x86
@pytest.mark.parametrize("kind", PROLOGUES)
def test_the_caller_is_found_at_every_instruction(unwound: Path, shim: Path, kind: str) -> None:
    """And with it the values of the registers that a function has to keep."""
    for said in CONDITIONS:
        output = run(unwound, shim, *PROLOGUES[kind], said)
        steps, lost, wrong = (int(word) for word in output.split()[1::2])
        assert steps > 16 * 5 and (lost, wrong) == (0, 0), f"{said}: {output}"


@needs_x86
@pytest.mark.parametrize("kind", PROLOGUES)
def test_who_is_called_for_its_result_has_its_caller(unwound: Path, shim: Path, kind: str) -> None:
    for stack in (1, 2):
        output = run(unwound, shim, *PROLOGUES[kind], CONDITIONS[1], stack=stack)
        steps, lost, wrong = (int(word) for word in output.split()[1::2])
        assert steps > 16 * 10 and (lost, wrong) == (0, 0), output


EFFECTS = {
    "fail": Fail(3),
    "delay": Delay(1),
    "result": Replace((), 3),
    "written": Replace((Written(abi.Piece("rdx", None, 8), 0, bytes(8)),)),
}


@needs_x86
@pytest.mark.parametrize("kind", ["frame pointer", "pushes", "no frame"])
@pytest.mark.parametrize("effect", EFFECTS)
def test_where_a_fault_is_done_the_caller_is_found(unwound: Path, shim: Path, kind: str, effect: str) -> None:
    for stack in (0, 1, 2):
        output = run(unwound, shim, *PROLOGUES[kind], CONDITIONS[1], stack=stack, effect=EFFECTS[effect])
        steps, lost, wrong = (int(word) for word in output.split()[1::2])
        assert steps > 16 * 10 and (lost, wrong) == (0, 0), output


@needs_x86
def test_without_tables_it_is_lost(unwound: Path, shim: Path) -> None:
    """Or worse: the unwinder takes what it finds for addresses."""
    output = run(unwound, shim, *PROLOGUES["pushes"], "z * 3 > 9", with_tables=False)
    assert output == "ended with -11" or " lost 0 " not in output


@pytest.mark.parametrize(
    "text",
    [
        "4883e4c0 c3",  # and: nothing says where it was
        "55 4889e5 4883e4c0 31ed c3",
        "4889fc c3",
        "480fc8 5c c3",
        "87e0 c3",
        "488b6424 08 c3",
        "4883ec04 c3",
        "4889e5 c3",  # a frame pointer in the place of a value that is nowhere else
        "c9 c3",
        "58 58 c3",
        "4885ff 7401 53 c3",  # one way has pushed, the other one has not
        "4881ec00001000 c3",
        "06",
    ],
)
def test_where_the_frame_cannot_be_known(text: str) -> None:
    with pytest.raises(unwinding.UnknownFrame):
        unwinding.tables(raw(text))


def test_what_only_looks_at_the_stack_pointer() -> None:
    """cmp with it, mov from it, xor with it; and the same numbers where they mean r12 or an address."""
    for text in ("643b2425 30000000", "4889e0", "4c33d4", "4989c4", "4c8b24 24", "89442408", "660fefe4", "f30f7e24 24"):
        assert unwinding.tables(raw(text + "c3")) == [bytes(len(raw(text)) + 1)] * unwinding.TABLES

"""The gdb back end against the Python one, by the real gdb, on random conditions and random registers."""

from __future__ import annotations

import math
import os
import re
import shutil
import struct
import subprocess
from dataclasses import dataclass
from pathlib import Path

import condition_cases
import pytest
from condition_cases import Conditions

from gdbcuda import api, condition
from gdbcuda.errors import UserError
from gdbcuda.machine import abi
from gdbcuda.memory import DictMemory

GDB = os.environ.get("GDBCUDA_GDB", "gdb")
pytestmark = pytest.mark.skipif(shutil.which(GDB) is None, reason="needs gdb")
CASES = 700
REGISTER = re.compile(r"\$(xmm\d+|[a-z]\w*)(?:\.v\d_(float|double)\[0\])?")


class Gdb:
    """One gdb run for many expressions; registers become convenience variables of the registers' types."""

    def __init__(self) -> None:
        self.script = ["set architecture i386:x86-64"]  # a gdb without a program thinks that long has 32 bits

    def add(self, expression: str, registers: dict[str, int], floats: dict[str, float]) -> None:
        for name, value in registers.items():
            self.script.append(f"set $r_{name} = (long){value}ul")
        for name, number in floats.items():
            self.script.append(f"set $f_{name} = {abs(number)!r} * {math.copysign(1, number)}")

        def variable(match: re.Match[str]) -> str:
            name, width = match.groups()
            return f"(({width})$f_{name})" if width else f"$r_{name}"

        self.script += [
            f"if {REGISTER.sub(variable, expression)}",
            "  echo 1\\n",
            "else",
            "  echo 0\\n",
            "end",
        ]

    def answers(self, folder: Path) -> list[bool]:
        (folder / "script").write_text("\n".join(self.script) + "\n")
        return answers(folder / "script")


def answers(script: Path, *program: str) -> list[bool]:
    command = [GDB, "-nx", "-batch", "-x", str(script), *program]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert "Error in sourced command file" not in done.stderr, done.stderr[-2000:]
    return [line == "1" for line in done.stdout.splitlines() if line in ("0", "1")]


@dataclass
class Case:
    """One condition on one call, and what Python says."""

    text: str
    expression: str
    holds: bool


def random_condition(made: Conditions, target: api.Function) -> tuple[str, condition.Condition]:
    while True:
        text = made.condition(made.random.randint(0, 3))
        try:
            return text, condition.parse(text, condition_cases.TABLE, [target])
        except UserError as reason:
            assert re.search("is never|no finite|fraction", str(reason)), (text, reason)


def random_arguments(made: Conditions, target: api.Function) -> tuple[dict[str, int], dict[str, float], list[bytes]]:
    """Registers of integers, registers of fractions, and the bytes of each argument."""
    registers, floats, raws = {}, {}, []
    for parameter, location in zip(target.parameters, abi.locate(target)):
        (register,) = (piece.register for piece in location.pieces)
        assert register is not None
        if parameter.type.kind == "float":
            raws.append(made.float_register(parameter.type.size))
            (floats[register],) = struct.unpack("<f" if parameter.type.size == 4 else "<d", raws[-1])
        else:
            registers[register] = made.register()
            raws.append(location.read(registers.__getitem__, None, DictMemory({})))
    return registers, floats, raws


def case_of(text: str, parsed: condition.Condition, target: api.Function, raws: list[bytes]) -> Case:
    native = parsed.to_gdb(target, abi.locate(target))
    assert not native.why, (text, native.why)
    return Case(text, " && ".join(native.terms), parsed.holds(target, raws, DictMemory({})))


def check(cases: list[Case], found: list[bool]) -> None:
    assert len(found) == len(cases)
    assert 0.2 < sum(found) / len(found) < 0.8
    wrong = [case for case, answer in zip(cases, found) if case.holds != answer]
    assert not wrong, "\n".join(map(str, wrong[:5]))


@pytest.mark.parametrize("target", [condition_cases.WIDE, condition_cases.NARROW], ids=["wide", "narrow"])
def test_gdb_and_python_agree(target: api.Function, tmp_path: Path) -> None:
    made, gdb, cases = Conditions(3, target), Gdb(), []
    for _ in range(CASES):
        registers, floats, raws = random_arguments(made, target)
        cases.append(case_of(*random_condition(made, target), target, raws))
        gdb.add(cases[-1].expression, registers, floats)
    check(cases, gdb.answers(tmp_path))


@pytest.mark.skipif(shutil.which("gcc") is None, reason="needs gcc")
@pytest.mark.parametrize("target", [condition_cases.WIDE, condition_cases.NARROW], ids=["wide", "narrow"])
def test_gdb_and_python_agree_in_a_program_without_symbols(target: api.Function, tmp_path: Path) -> None:
    """Real registers, with noise above what a parameter takes of them, and no debug info at all."""
    made = Conditions(5, target)
    calls = [random_arguments(made, target) for _ in range(12)]
    conditions = [random_condition(made, target) for _ in range(40)]
    build_caller([(registers, floats) for registers, floats, _ in calls], tmp_path)
    script, cases = ["break *made", "run"], []
    for _, _, raws in calls:
        here = [case_of(text, parsed, target, raws) for text, parsed in conditions]
        script += [f"if {case.expression}\necho 1\\n\nelse\necho 0\\n\nend" for case in here]
        script.append("continue")
        cases += here
    (tmp_path / "script").write_text("\n".join(script) + "\n")
    check(cases, answers(tmp_path / "script", str(tmp_path / "calls")))


def build_caller(calls: list[tuple[dict[str, int], dict[str, float]]], folder: Path) -> None:
    """A stripped program that calls `made` with these registers: every integer is given in full."""
    lines = []
    for registers, floats in calls:
        whole = [f"{value}ull" for value in registers.values()]
        single, double = (value.hex() for value in floats.values())
        lines.append(f"made({', '.join([*whole, f'(float){single}', double])});")
    parameters = ", ".join(f"{kind} p{n}" for n, kind in enumerate(["unsigned long"] * 6 + ["float", "double"]))
    (folder / "calls.c").write_text(
        f"__attribute__((noipa)) void made({parameters}) {{}}\nint main(void) {{ {' '.join(lines)} return 0; }}\n"
    )
    subprocess.run(["gcc", "-O1", "-s", "-rdynamic", "-o", "calls", "calls.c"], cwd=folder, check=True)

"""The gdb back end against the Python one, by the real gdb, on random conditions and random registers."""

from __future__ import annotations

import math
import re
import shutil
import struct
import subprocess
from pathlib import Path

import condition_cases
import pytest
from condition_cases import Conditions

from gdbcuda import abi, api, condition
from gdbcuda.errors import UserError
from gdbcuda.memory import DictMemory

pytestmark = pytest.mark.skipif(shutil.which("gdb") is None, reason="needs gdb")
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
        done = subprocess.run(
            ["gdb", "-nx", "-batch", "-x", "script"], cwd=folder, capture_output=True, text=True, timeout=300
        )
        assert not done.stderr, done.stderr[:2000]
        return [line == "1" for line in done.stdout.splitlines() if line in ("0", "1")]


@pytest.mark.parametrize("target", [condition_cases.WIDE, condition_cases.NARROW], ids=["wide", "narrow"])
def test_gdb_and_python_agree(target: api.Function, tmp_path: Path) -> None:
    made, gdb, cases = Conditions(3, target), Gdb(), []
    locations = abi.locate(target)
    while len(cases) < CASES:
        text = made.condition(made.random.randint(0, 3))
        try:
            parsed = condition.parse(text, condition_cases.TABLE, [target])
        except UserError as reason:
            assert re.search("is never|no finite|fraction", str(reason)), (text, reason)
            continue
        expression = parsed.to_gdb(target, locations)
        assert expression is not None, (text, parsed.why)
        registers, floats, raws = {}, {}, []
        for parameter, location in zip(target.parameters, locations):
            (register,) = (piece.register for piece in location.pieces)
            assert register is not None
            if parameter.type.kind == "float":
                raws.append(made.float_register(parameter.type.size))
                (floats[register],) = struct.unpack("<f" if parameter.type.size == 4 else "<d", raws[-1])
            else:
                registers[register] = made.register()
                raws.append(location.read(registers.__getitem__, None, DictMemory({})))
        gdb.add(expression, registers, floats)
        cases.append((text, expression, registers, floats, parsed.holds(target, raws, DictMemory({}))))
    answers = gdb.answers(tmp_path)
    assert len(answers) == CASES
    assert 0.2 < sum(answers) / CASES < 0.8
    wrong = [case for case, answer in zip(cases, answers) if case[-1] != answer]
    assert not wrong, "\n".join(map(str, wrong[:5]))

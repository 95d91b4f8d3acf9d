"""What the hook library says about memory: how a program asks, and what it said."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from gdbcuda import api
from gdbcuda.data_classes import dataclass, field

STEP, SAID = re.compile(r"step (\d+) (-?\d+)$"), re.compile(r"says (\w+) (-?\d+)((?: \w+ \d+)*)$")
KEPT = ("free", "total", "used", "reserved")
SUCCESS = 0


class Said(NamedTuple):
    """By one function; -1 for what it does not say."""

    free: int
    total: int
    used: int = -1
    reserved: int = 0

    @property
    def taken(self) -> int:
        return self.used if self.used >= 0 else self.total - self.free


@dataclass
class Observed:
    """After one step: its result, and what each function says."""

    number: int
    result: int
    said: dict[str, Said] = field(default_factory=dict)


def asking(functions: Iterable[api.Function]) -> str:
    """``numbers()`` in C: a line for each function."""
    return "\n".join(["static void numbers(void)", "{", *(query(one) for one in functions), "}"])


def query(function: api.Function) -> str:
    outs = [p for p in function.parameters if p.direction in ("out", "inout") and p.type.target]
    record = outs[0].type.target if outs else None
    if record is not None and record.kind == "struct":
        return of_struct(function, record)
    names = [p.name for p in outs]
    declared = "".join(f"        {p.type.target.spelling} {p.name} = 0;\n" for p in outs if p.type.target)
    return "    {\n" + declared + said(function, ", ".join(f"&{name}" for name in names), names, "") + "    }"


def of_struct(function: api.Function, record: api.Type) -> str:
    names = [one.name for one in record.fields if one.name in KEPT]
    versioned = any(one.name == "version" for one in record.fields)
    start = f"{{.version = {record.spelling.removesuffix('_t')}}}" if versioned else "{0}"
    return (f"    {{\n        {record.spelling} memory = {start};\n"
            + said(function, "device, &memory", names, "memory.") + "    }")  # fmt: skip


def said(function: api.Function, arguments: str, names: Iterable[str], of: str) -> str:
    shown = list(names)
    text = "".join(f" {name} %llu" for name in shown)
    values = "".join(f", (unsigned long long){of}{name}" for name in shown)
    return (f"        long result = {function.symbol}({arguments});\n"
            f'        printf("says {function.symbol} %ld{text}\\n", result{values});\n')  # fmt: skip


def read(output: str) -> list[Observed]:
    """What a function that failed said is left out."""
    found: list[Observed] = []
    for line in output.splitlines():
        step, saying = STEP.match(line), SAID.match(line)
        if step:
            found.append(Observed(int(step[1]), int(step[2])))
        elif saying and found and int(saying[2]) == SUCCESS:
            words = saying[3].split()
            values = dict(zip(words[::2], map(int, words[1::2])))
            if "free" in values and "total" in values:
                found[-1].said[saying[1]] = Said(**values)
    return found

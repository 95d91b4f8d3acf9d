"""``--filter COND`` as what the process reads: for each function that the condition fits, machine code that asks."""

from __future__ import annotations

import struct
from collections.abc import Iterator

from gdbcuda import api
from gdbcuda.calls.references import References
from gdbcuda.condition import typed
from gdbcuda.condition.machine_code import translate
from gdbcuda.data_classes import dataclass, field
from gdbcuda.errors import UserError
from gdbcuda.log.selecting.where import Where
from gdbcuda.machine import abi
from gdbcuda.machine.x86.x86_write import Code
from gdbcuda.rings.ring_layout import FILTER, MAGIC, WORD

ELSEWHERE = (typed.CallerIn, typed.Thread, typed.Count, typed.Ordinal)
HEADER = 2 * WORD
TARGETS = 2 * WORD  # behind the code: the slot, and the function


@dataclass
class Filters:
    """``codes``: by symbol; b"" where the condition is asked when the log is read. ``why``: for one of those."""

    codes: dict[str, bytes] = field(default_factory=dict)
    why: str = ""

    @property
    def left_to_reader(self) -> int:
        return sum(not code for code in self.codes.values())

    def packed(self) -> bytes:
        """As `ring_layout.FILTER` has it."""
        at = HEADER + len(self.codes) * FILTER["SIZE"] * WORD
        head, room = struct.pack("<2Q", MAGIC, len(self.codes)), (FILTER["SIZE"] - FILTER["NAME"]) * WORD
        for symbol, code in self.codes.items():
            head += struct.pack(f"<2Q{room}s", at, len(code), symbol.encode())
            at += len(code)
        return head + b"".join(self.codes.values())


def filters(text: str, table: api.Table) -> Filters:
    """`UserError` where it is no condition, of no function, or on more than arguments."""
    where, found = Where(text, table, References()), Filters()
    for symbol, tree in trees(where, table):
        if any(isinstance(node, ELSEWHERE) for node in typed.nodes(tree)):
            raise UserError("--filter is on arguments alone; callers, threads and counts are asked of the log",
                            page="trace")  # fmt: skip
        try:
            found.codes[symbol] = machine_code(tree, table.functions[symbol])
        except translate.NoMachineCode as problem:
            found.codes[symbol], found.why = b"", f"{symbol}: {problem}"
    return found


def trees(where: Where, table: api.Table) -> Iterator[tuple[str, typed.Typed]]:
    for symbol in table.functions:
        bound = where.bind(symbol)
        if bound is not None:
            yield symbol, bound.trees[symbol]


def machine_code(tree: typed.Typed, function: api.Function) -> bytes:
    """It reads nothing through a pointer: to ask the kernel whether it can would cost more than the record."""
    if translate.may_read(tree):
        raise translate.NoMachineCode("the condition reads through a pointer")
    code = Code()
    translate.branch(code, tree, abi.locate(function, "x86-64"), "true", "false")
    ends = []
    for label in ("true", "false"):
        code.label(label)
        code.emit(b"\xff\x25" + bytes(4))  # jmp *target(%rip)
        ends.append(len(code.bytes))
    raw = bytearray(code.assemble(0))
    raw += bytes(-len(raw) % WORD)
    for index, end in enumerate(ends):
        raw[end - 4 : end] = struct.pack("<i", len(raw) + index * WORD - end)
    return bytes(raw) + bytes(TARGETS)

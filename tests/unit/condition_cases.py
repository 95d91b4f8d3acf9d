"""Random conditions over one function with parameters of every kind, and random arguments for it."""

from __future__ import annotations

import random
import struct

from gdbcuda import api
from gdbcuda.api.functions import Function
from gdbcuda.api.notes import Notes

TABLE = api.load()
EDGES = (0, 1, 2, 7, 63, 64, 127, 128, 255, 1 << 15, (1 << 16) - 1, (1 << 31) - 1, 1 << 31, (1 << 32) - 1,
         1 << 32, (1 << 63) - 1, 1 << 63, (1 << 64) - 2, (1 << 64) - 1)  # fmt: skip
FLOATS = (0.0, -0.0, 0.5, 1.0, -1.5, 3.0, 1e10, -1e10, 1e300, 9007199254740993.0, 1.8446744073709552e19)
BITWISE, SUMS = ("&", "|", "^", "<<", ">>", "%"), ("+", "-", "*", "/")
COMPARISONS = ("==", "!=", "<", "<=", ">", ">=")


def function(text: str) -> Function:
    """A function of our own: "int a;size_t b"."""
    parameters = (declaration.rsplit(" ", 1) for declaration in text.split(";"))
    named = ";".join(f"{name} {spelling}" for spelling, name in parameters)
    return Function("made", "driver", f"CUresult;{named}", TABLE.types, Notes())


WIDE = function("int i;unsigned int u;size_t z;long long l;CUdeviceptr p;cudaMemcpyKind e;float f;double d")
NARROW = function("char c;unsigned char b;short s;unsigned short w;void * p;size_t z;float f;double d")


class Conditions:
    """Texts that parse; every operator, at any depth, with constants at the edges of the types."""

    def __init__(self, seed: int, target: Function) -> None:
        self.random = random.Random(seed)
        kinds = {p.name: p.type.kind for p in target.parameters}
        self.whole = [name for name, kind in kinds.items() if kind != "float"]
        self.fractions = [name for name, kind in kinds.items() if kind == "float"]

    def condition(self, depth: int) -> str:
        choice = self.random.random()
        if depth == 0 or choice < 0.5:
            return self.comparison(depth)
        if choice < 0.6:
            return f"!({self.condition(depth - 1)})"
        if choice < 0.7:
            return f"({self.value(depth)})"
        op = self.random.choice(["&&", "||"])
        return f"({self.condition(depth - 1)}) {op} ({self.condition(depth - 1)})"

    def comparison(self, depth: int) -> str:
        left, right = (self.value(depth) for _ in "lr")
        return f"({left}) {self.random.choice(COMPARISONS)} ({right})"

    def value(self, depth: int) -> str:
        return self.fraction(depth) if self.random.random() < 0.2 else self.integer(depth)

    def integer(self, depth: int) -> str:
        choice = self.random.random()
        if depth == 0 or choice < 0.2:
            return self.random.choice([*self.whole, *self.whole, self.constant()])
        if choice < 0.3:
            return f"{self.random.choice('-~')}({self.integer(depth - 1)})"
        if choice < 0.35:
            return f"({self.condition(depth - 1)})"
        op = self.random.choice([*BITWISE, *SUMS])
        return f"({self.integer(depth - 1)}) {op} ({self.integer(depth - 1)})"

    def constant(self) -> str:
        edge = str(self.random.choice(EDGES))
        return self.random.choice([edge, f"-{edge}", f"{edge}u", "cudaMemcpyDeviceToHost", "NULL", "4K"])

    def fraction(self, depth: int) -> str:
        if depth == 0 or self.random.random() < 0.3:
            return self.random.choice([*self.fractions, *self.fractions, repr(self.random.choice(FLOATS))])
        operand = self.random.choice([self.fraction, self.integer])
        return f"({self.fraction(depth - 1)}) {self.random.choice(SUMS)} ({operand(depth - 1)})"

    def register(self) -> int:
        """64 bits as a register may hold them: an edge, noise, or an edge under noise."""
        edge, noise = self.random.choice(EDGES), self.random.getrandbits(64)
        mask = self.random.choice([0xFF, 0xFFFF, 0xFFFFFFFF])
        return self.random.choice([edge, noise, edge & mask | noise & ~mask])

    def float_register(self, size: int) -> bytes:
        value = self.random.choice(FLOATS)
        small = value if abs(value) < 1e30 or size == 8 else 1.0
        return struct.pack("<f" if size == 4 else "<d", small)

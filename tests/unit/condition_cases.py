"""Random conditions over one function with parameters of every kind, and random arguments for it."""

from __future__ import annotations

import random
import struct
from collections.abc import Iterator
from functools import cache

from gdbcuda import api, condition
from gdbcuda.api.functions import Function
from gdbcuda.api.notes import ApiNotes
from gdbcuda.errors import UserError

TABLE = api.load()
EDGES = (0, 1, 2, 7, 63, 64, 127, 128, 255, 1 << 15, (1 << 16) - 1, (1 << 31) - 1, 1 << 31, (1 << 32) - 1,
         1 << 32, (1 << 63) - 1, 1 << 63, (1 << 64) - 2, (1 << 64) - 1)  # fmt: skip
FLOATS = (0.0, -0.0, 0.5, 1.0, -1.5, 3.0, 1e10, -1e10, 1e300, 9007199254740993.0, 1.8446744073709552e19)
BITWISE, SUMS = ("&", "|", "^", "<<", ">>", "%"), ("+", "-", "*", "/")
STRINGS = (
    "",
    "c",
    "cu",
    "cuInit",
    "cuMemAlloc",
    "cuMemAlloc_v2",
    'a "b" c',
    "back\\slash",
    "ends in *",
    "a\tb\n",
    "größe",
)
WORDS = (
    "NULL", "nullptr", "true", "false", "4K", "2GiB", "1.5K", "0x7fffffff", "+3", "cudaMemcpyDeviceToHost",
    "CU_EVENT_DISABLE_TIMING", "CU_STREAM_NON_BLOCKING", "CUDA_ERROR_OUT_OF_MEMORY", "NVML_MEMORY_ERROR_TYPE_COUNT",
)  # fmt: skip
CALLERS = ("here", "there", "nowhere")
COMPARISONS = ("==", "!=", "<", "<=", ">", ">=")


def function(text: str) -> Function:
    """A function of our own: "int a;size_t b"."""
    parameters = (declaration.rsplit(" ", 1) for declaration in text.split(";"))
    named = ";".join(f"{name} {spelling}" for spelling, name in parameters)
    return Function("made", "driver", f"CUresult;{named}", TABLE.types, ApiNotes())


# Real ones with pointers: to numbers, structs, unions and arrays of them, strings; and with structs by value, with
# fractions, with arguments on the stack.
POINTING = (
    "cuMemcpy2D_v2", "cuGraphGetNodes", "cuStreamBatchMemOp_v2", "cuTexRefSetBorderColor", "cudaMemcpy3D",
    "cuGetProcAddress_v2", "cudaSetValidDevices", "cudaLaunchKernel", "cuLaunchKernelEx", "cuMemRangeGetAttributes",
    "nvmlDeviceGetFieldValues", "cuGraphAddKernelNode_v2", "cudaMallocArray", "cuCoredumpSetAttribute",
    "cuTexRefSetMipmapLevelBias", "cuLaunchKernel", "cuModuleGetFunction",
)  # fmt: skip
WIDE = function("int i;unsigned int u;size_t z;long long l;CUdeviceptr p;cudaMemcpyKind e;float f;double d")
NARROW = function("char c;unsigned char b;short s;unsigned short w;void * p;size_t z;float f;double d")


@cache
def operands(target: Function) -> tuple[list[str], list[str], list[str]]:
    """What can stand in a condition: integers, fractions, and the names of strings."""
    strings = [p.name for p in target.parameters if p.string and p.direction == "in"]
    whole, fractions = [], []
    for text in dict.fromkeys(found for parameter in target.parameters for found in paths(parameter)):
        if parses(text, target):
            (whole if parses(f"{text} & 1", target) else fractions).append(text)
    return whole, fractions, strings


def parses(text: str, target: Function) -> bool:
    try:
        condition.parse(text, TABLE, [target])
    except UserError:
        return False
    return True


def written(text: str) -> str:
    """As it stands between quotes in a condition."""
    for character, escape in (("\\", "\\\\"), ('"', '\\"'), ("*", "\\*"), ("\n", "\\n"), ("\t", "\\t")):
        text = text.replace(character, escape)
    return text


def paths(parameter: api.Parameter) -> Iterator[str]:
    """The parameter, what it points to, and some of the scalars inside, whether or not they may be read."""
    kind, name = parameter.type, parameter.name
    yield name
    if kind.kind in ("pointer", "array") and kind.target is not None:
        for index in (0, 1, 3):
            yield from (f"{name}[{index}]{inner}" for inner in inside(kind.target))
    else:
        yield from (f"{name}{inner}" for inner in inside(kind))


def inside(kind: api.Type, depth: int = 3) -> Iterator[str]:
    if kind.kind in ("struct", "union") and depth:
        for field in kind.fields[:12] if depth == 3 else kind.fields[-3:]:
            yield from (f".{field.name}{inner}" for inner in inside(field.type, depth - 1) if field.name)
    elif kind.kind == "array" and kind.target is not None and depth:
        for index in (0, (kind.count or 1) - 1):
            yield from (f"[{index}]{inner}" for inner in inside(kind.target, depth - 1))
    else:
        yield ""


class Conditions:
    """Texts that parse; every operator, at any depth, with constants at the edges of the types."""

    def __init__(self, seed: int, target: Function, words: bool = False) -> None:
        self.random = random.Random(seed)
        self.words = words
        self.target = target
        self.whole, self.fractions, self.strings = operands(target)

    def counting(self, depth: int) -> str:
        """A condition with the words that are no parameters, counting ones among them."""
        counting = [self.count() for _ in range(self.random.choice([0, 0, 1, 1, 2]))]
        terms = [*counting, self.condition(depth)]
        self.random.shuffle(terms)
        return " && ".join(term if term in counting else f"({term})" for term in terms)

    def count(self) -> str:
        number = self.random.choice([1, 2, 3, 4, 7])
        written = [f"nth {op} {number}" for op in COMPARISONS]
        return self.random.choice([*written, f"{number} == nth", *[f"every {number}", f"after {number}"] * 3])

    def condition(self, depth: int) -> str:
        choice = self.random.random()
        if self.words and choice < 0.15:
            return self.word()
        if depth == 0 or choice < 0.5:
            return self.comparison(depth)
        if choice < 0.6:
            return f"!({self.condition(depth - 1)})"
        if choice < 0.7:
            return f"({self.value(depth)})"
        op = self.random.choice(["&&", "||"])
        return f"({self.condition(depth - 1)}) {op} ({self.condition(depth - 1)})"

    def word(self) -> str:
        """Asks for the caller or the thread."""
        names = ",".join(self.random.sample(CALLERS, self.random.choice([1, 1, 2])))
        thread = f"thread {self.random.choice(['==', '!='])} {self.random.choice([1, 2, 3])}"
        return self.random.choice([f"caller in {names}", f"!(caller in {names})", thread])

    def text_comparison(self) -> str:
        """Of a string, or of one of its characters."""
        name, text = self.random.choice(self.strings), self.random.choice(STRINGS)
        if self.random.random() < 0.3:
            return f"{name}[{self.random.randint(0, 4)}] {self.random.choice(COMPARISONS)} {ord('c')}"
        cut = written(text[: self.random.randint(0, len(text))]) + "*"
        sides = [name, f'"{self.random.choice([written(text), cut])}"']
        return f" {self.random.choice(['==', '!='])} ".join(sides[:: self.random.choice([1, 1, -1])])

    def comparison(self, depth: int) -> str:
        if self.strings and self.random.random() < 0.5:
            return self.text_comparison()
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
        return self.random.choice([edge, f"-{edge}", f"{edge}u", *self.random.sample(WORDS, 3)])

    def fraction(self, depth: int) -> str:
        if depth == 0 or self.random.random() < 0.3:
            return self.random.choice([*self.fractions * 2, repr(self.random.choice(FLOATS))])
        if self.random.random() < 0.2:
            return f"-({self.fraction(depth - 1)})"
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

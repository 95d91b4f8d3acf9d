"""Where the arguments and the result of a function are, by the C calling convention of the machine.

x86-64: System V ABI, AMD64 supplement, 3.2.3 "Parameter Passing". aarch64: AAPCS64, 6.8 and 6.9, as on Linux.
Everything holds at the function's first instruction; argument registers live on for a few instructions more.
Both machines are little-endian. Plain ``char`` as a number is signed here, as on x86-64.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import NamedTuple

from gdbcuda import api
from gdbcuda.errors import Unreadable, UserError
from gdbcuda.memory import Memory

WORD = 8
_FLOATS = {4: "<f", 8: "<d"}


class Piece(NamedTuple):
    """``size`` bytes of a value: the low ones of ``register``, or those ``stack`` bytes above the stack
    pointer at entry. Registers go by gdb's names. ``indirect``: the address of the bytes is there.
    """

    register: str | None
    stack: int | None
    size: int
    indirect: bool = False

    def read(self, registers: Callable[[str], int], entry_sp: int | None, memory: Memory) -> bytes:
        size = WORD if self.indirect else self.size
        if self.register is not None:
            found = (registers(self.register) & ((1 << 8 * size) - 1)).to_bytes(size, "little")
        elif entry_sp is None or self.stack is None:
            raise Unreadable(0, size)
        else:
            found = memory.read(entry_sp + self.stack, size)
        return memory.read(int.from_bytes(found, "little"), self.size) if self.indirect else found


class ValuePlace(NamedTuple):
    """The pieces that make up one value, lowest bytes first."""

    pieces: tuple[Piece, ...]

    @property
    def size(self) -> int:
        return sum(piece.size for piece in self.pieces)

    def read(self, registers: Callable[[str], int], entry_sp: int | None, memory: Memory) -> bytes:
        """The value's bytes. ``registers`` gives a register as an integer, ``entry_sp`` is the stack pointer
        at the first instruction; `Unreadable` if that is None and needed, or memory cannot be read."""
        return b"".join(piece.read(registers, entry_sp, memory) for piece in self.pieces)

    def piece_at(self, offset: int, size: int) -> tuple[Piece, int] | None:
        """The piece that holds these bytes of the value, and where in it they begin; None if no piece has them all."""
        start = 0
        for piece in self.pieces:
            if start <= offset and offset + size <= start + piece.size:
                return piece, offset - start
            start += piece.size
        return None


class Free:
    """The registers and the stack that the arguments laid out so far have left over."""

    def __init__(self, integers: Sequence[str], floats: Sequence[str], stack: int) -> None:
        self.registers = {"integer": list(integers), "float": list(floats)}
        self.bottom = stack
        self.used = 0  # bytes of stack arguments; the first one is aligned to 16

    def take(self, kind: str, sizes: list[int]) -> tuple[Piece, ...]:
        return tuple(Piece(self.registers[kind].pop(0), None, size) for size in sizes)

    def push(self, size: int, align: int) -> Piece:
        start = _round_up(self.used, max(align, WORD))
        self.used = start + _round_up(size, WORD)
        return Piece(None, self.bottom + start, size)


class Convention(NamedTuple):
    """What differs by machine: registers, where the stack arguments begin, how one value is placed."""

    integers: tuple[str, ...]
    floats: tuple[str, ...]
    results: tuple[tuple[str, ...], tuple[str, ...]]
    stack: int
    place: Callable[[TypeShape, Free], tuple[Piece, ...]]
    hidden: str  # where the caller passes the address for a large result, ...
    hidden_result: str  # ... and where that address is after the return


def locate(function: api.Function, machine: str = "x86-64") -> tuple[ValuePlace, ...]:
    """One location for each parameter; `UserError` for a machine not in `MACHINES`."""
    return located(function, machine)


@cache
def located(function: api.Function, machine: str) -> tuple[ValuePlace, ...]:
    rules = convention(machine)
    free = Free(rules.integers, rules.floats, rules.stack)
    if is_result_in_memory(function, rules) and rules.hidden in rules.integers:
        free.take("integer", [WORD])
    return tuple(ValuePlace(rules.place(shape(parameter.type), free)) for parameter in function.parameters)


@cache
def result(function: api.Function, machine: str = "x86-64") -> ValuePlace | None:
    """Where the result is right after the return; None for ``void``.

    A large struct is indirect: through rax on x86-64, on aarch64 through what x8 was *at the entry*.
    """
    rules = convention(machine)
    if function.result.kind == "void":
        return None
    if is_result_in_memory(function, rules):
        return ValuePlace((Piece(rules.hidden_result, None, function.result.size, indirect=True),))
    return ValuePlace(rules.place(shape(function.result), Free(*rules.results, stack=0)))


@cache
def stack_words(function: api.Function, machine: str = "x86-64") -> int:
    """How many words of arguments are on the stack, in a row."""
    pieces = [piece for place in locate(function, machine) for piece in place.pieces]
    ends = [piece.stack + piece.size - convention(machine).stack for piece in pieces if piece.stack is not None]
    return -(-max(ends, default=0) // WORD)


def is_result_in_memory(function: api.Function, rules: Convention) -> bool:
    """Whether the caller passes the address for the result: it would not go into the result registers."""
    if function.result.kind == "void":
        return False
    pieces = rules.place(shape(function.result), Free(*rules.results, stack=0))
    return any(piece.stack is not None or piece.indirect for piece in pieces)


def convention(machine: str) -> Convention:
    if machine not in CONVENTIONS:
        raise UserError(f"no calling convention known for {machine}; known are {', '.join(MACHINES)}", page="limits")
    return CONVENTIONS[machine]


def number(kind: api.Type, raw: bytes) -> int | float:
    """The value of a scalar of type ``kind`` (not a struct, union or array) whose bytes are ``raw``."""
    if kind.kind == "float" and len(raw) in _FLOATS:
        return float(struct.unpack(_FLOATS[len(raw)], raw)[0])
    return int.from_bytes(raw, "little", signed=is_signed(kind))


def is_signed(kind: api.Type) -> bool:
    """Whether C takes the scalar's highest bit for its sign; an enum has one if a value is negative."""
    behind = kind.target if kind.kind == "enum" else kind
    return behind is not None and behind.kind in ("int", "char", "float")


class TypeShape(NamedTuple):
    """What a calling convention wants to know of a type. ``scalars``: offset, size, is it floating point."""

    size: int
    align: int
    scalars: tuple[tuple[int, int, bool], ...]

    def equal_floats(self) -> int:
        """The number of members of a homogeneous floating-point aggregate (1: a lone float); else 0."""
        kinds = {(size, is_float) for _, size, is_float in self.scalars}
        if len(kinds) != 1 or not self.scalars[0][2]:
            return 0
        count = len({offset for offset, _, _ in self.scalars})
        return count if count <= 4 and self.size == count * self.scalars[0][1] else 0

    def eightbytes(self) -> list[str] | None:
        """The register class of each eightbyte; None where the value is passed in memory."""
        if self.size > 16 or any(offset % size for offset, size, _ in self.scalars):
            return None
        whole = {offset // WORD for offset, _, is_float in self.scalars if not is_float}
        return ["integer" if i in whole else "float" for i in range(_round_up(self.size, WORD) // WORD)]


POINTER = TypeShape(WORD, WORD, ((0, WORD, False),))


@cache
def shape(kind: api.Type) -> TypeShape:
    """The shape of a parameter or result; arrays and functions as parameters are pointers."""
    if kind.kind in ("array", "function"):
        return POINTER
    return TypeShape(kind.size, kind.align, tuple(_scalars(kind, 0)))


def _scalars(kind: api.Type, offset: int) -> Iterator[tuple[int, int, bool]]:
    if kind.kind in ("struct", "union"):
        for field in kind.fields:
            yield from _scalars(field.type, offset + field.offset)
    elif kind.kind == "array" and kind.target is not None:
        for i in range(kind.count or 0):
            yield from _scalars(kind.target, offset + i * kind.target.size)
    else:
        yield offset, kind.size, kind.kind == "float"


def _x86_64(value: TypeShape, free: Free) -> tuple[Piece, ...]:
    if len(value.scalars) == 1 and value.size <= WORD:  # nearly all are
        kind = "float" if value.scalars[0][2] else "integer"
        return free.take(kind, [value.size]) if free.registers[kind] else (free.push(value.size, value.align),)
    classes = value.eightbytes()
    if classes is None or any(classes.count(name) > len(left) for name, left in free.registers.items()):
        return (free.push(value.size, value.align),)
    sizes = [min(WORD, value.size - WORD * i) for i in range(len(classes))]
    return tuple(piece for name, size in zip(classes, sizes) for piece in free.take(name, [size]))


def _aarch64(value: TypeShape, free: Free) -> tuple[Piece, ...]:
    if value.equal_floats():
        return _in_a_row("float", value, [value.size // value.equal_floats()] * value.equal_floats(), free)
    if value.size > 16:
        address = _in_a_row("integer", POINTER, [WORD], free)[0]
        return (Piece(address.register, address.stack, value.size, indirect=True),)
    if value.align == 16 and len(free.registers["integer"]) % 2:
        free.take("integer", [WORD])
    sizes = [min(WORD, value.size - at) for at in range(0, value.size, WORD)]
    return _in_a_row("integer", value, sizes, free)


def _in_a_row(kind: str, value: TypeShape, sizes: list[int], free: Free) -> tuple[Piece, ...]:
    """A value wholly in registers; once one does not fit, the others stay unused (AAPCS64, C.3, C.13)."""
    if len(sizes) <= len(free.registers[kind]):
        return free.take(kind, sizes)
    free.registers[kind].clear()
    return (free.push(value.size, value.align),)


def _round_up(size: int, align: int) -> int:
    return (size + align - 1) // align * align


CONVENTIONS = {
    "x86-64": Convention(
        integers=("rdi", "rsi", "rdx", "rcx", "r8", "r9"),
        floats=tuple(f"xmm{i}" for i in range(8)),
        results=(("rax", "rdx"), ("xmm0", "xmm1")),
        stack=WORD,  # above the return address
        place=_x86_64,
        hidden="rdi",
        hidden_result="rax",
    ),
    "aarch64": Convention(
        integers=tuple(f"x{i}" for i in range(8)),
        floats=tuple(f"v{i}" for i in range(8)),
        results=(("x0", "x1"), ("v0", "v1", "v2", "v3")),
        stack=0,
        place=_aarch64,
        hidden="x8",
        hidden_result="x8",
    ),
}
MACHINES = tuple(CONVENTIONS)

"""What a slot of the recorder in the process stands for, which words and bytes of its calls are recorded, and the
values that these make when somebody asks for them."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator
from typing import Any, cast

from gdbcuda import api, decode
from gdbcuda.calls.record import Call
from gdbcuda.data_classes import dataclass
from gdbcuda.gpu.causing import makes_work
from gdbcuda.machine import abi
from gdbcuda.memory import RecordedMemory
from gdbcuda.rings import prepared_words, ring
from gdbcuda.rings.ring import Record
from gdbcuda.rings.ring_layout import (
    FLOATS,
    FUNCTION,
    IN_WORDS,
    IS_TEXT,
    MOST_INS,
    MOST_OUTS,
    OUT_WORDS,
    REGISTERS,
    STACK_WORDS,
    WORD,
)
from gdbcuda.rings.ring_words import Words

LARGEST_OUT, LARGEST_IN, LONGEST_TEXT = 256, 200, 119  # bytes; no struct is as large as a text
integers = abi.convention("x86-64").integers
xmm = abi.convention("x86-64").floats


def recorded_symbols(table: api.Table) -> set[str]:
    """Of all functions that recorders note where nobody names some: OpenGL's and what nvcc makes of <<<>>> as well."""
    return set(table.functions) | {one.symbol for one in table.extras.values() if not registers_code(one)}


def registers_code(function: api.Function) -> bool:
    """What nvcc's start-up code calls: 50,000 times before PyTorch's first line, and nobody has written one of them."""
    return function.role == "module" and function.symbol.startswith("__cuda")


@dataclass(frozen=True)
class RecordedFunction:
    """What a slot stands for."""

    function: api.Function
    layer: str = ""
    object: str = ""

    @functools.cached_property
    def outs(self) -> list[tuple[int, int]]:
        """(index of the argument word, bytes) of what it writes, as far as a record has room for it."""
        return fitting(self.pointed_to("out", "inout"), MOST_OUTS, OUT_WORDS)

    @functools.cached_property
    def ins(self) -> list[tuple[int, int]]:
        """The same of the strings and structs that it is given."""
        return fitting(self.pointed_to("in"), MOST_INS, IN_WORDS)

    def pointed_to(self, *directions: str) -> Iterator[tuple[int, int]]:
        for parameter, place in zip(self.function.parameters, abi.locate(self.function)):
            index, size = word_index(place.pieces[0]), pointee_size(parameter)
            if parameter.direction in directions and size and index is not None:
                yield index, size

    def words(self, original: int, address: int = 0) -> list[int]:
        """As `ring_layout.FUNCTION` has it."""
        found = list(described(self.function))
        found[FUNCTION["ORIGINAL"]], found[FUNCTION["ADDRESS"]] = original, address
        return found


@functools.cache  # it is in several objects: a hook library has what the driver has
def described(function: api.Function) -> tuple[int, ...]:
    return prepared_words.of(function) or found_out(function)


def found_out(function: api.Function) -> tuple[int, ...]:
    one, found = RecordedFunction(function), [0] * FUNCTION["SIZE"]
    pieces = [piece for place in abi.locate(function) for piece in place.pieces]
    found[FUNCTION["STACK"]] = abi.stack_words(function)
    found[FUNCTION["FLOATS"]] = sum(piece.register in xmm for piece in pieces)
    found[FUNCTION["MAKES_WORK"]] = int(makes_work(function) and not found[FUNCTION["FLOATS"]])
    found[FUNCTION["OUT_COUNT"]], found[FUNCTION["IN_COUNT"]] = len(one.outs), len(one.ins)
    for part, wanted in (("OUTS", one.outs), ("INS", one.ins)):
        for at, (index, size) in enumerate(wanted):
            found[FUNCTION[part] + at] = index | size << 8 | (IS_TEXT if size == LONGEST_TEXT else 0)
    return tuple(found)


def pointee_size(parameter: api.Parameter) -> int:
    """Bytes behind the pointer that are recorded; 0 where it is not known what they are."""
    target = parameter.type.target
    if target is None:
        return 0
    if parameter.string and target.kind != "pointer" and (parameter.length is None or parameter.direction != "in"):
        return LONGEST_TEXT
    if parameter.direction != "in":
        return target.size if target.size <= LARGEST_OUT else 0
    is_one = target.kind in ("struct", "union") and not target.incomplete and parameter.length is None
    return target.size if is_one and target.size <= LARGEST_IN else 0


def fitting(found: Iterable[tuple[int, int]], most: int, room: int) -> list[tuple[int, int]]:
    """Those that a record has room for."""
    kept: list[tuple[int, int]] = []
    for index, size in found:
        words = 1 + -(-size // WORD)
        if len(kept) < most and words <= room:
            kept.append((index, size))
            room -= words
    return kept


def word_index(piece: abi.Piece) -> int | None:
    """Among the words of a record, behind which the vector registers are; None where the value is not in it."""
    if piece.register is not None and piece.register in integers:
        return integers.index(piece.register)
    if piece.register is not None:
        number = xmm.index(piece.register)
        return REGISTERS + STACK_WORDS + number if number < FLOATS else None
    index = REGISTERS + (piece.stack or 0) // WORD - 1
    return index if index < REGISTERS + STACK_WORDS else None


def word_by_word(piece: abi.Piece) -> Iterator[abi.Piece]:
    """A struct on the stack is one piece of several words."""
    if piece.stack is None:
        yield piece
        return
    for at in range(0, piece.size, WORD):
        yield piece._replace(stack=piece.stack + at, size=min(WORD, piece.size - at))


@functools.cache
def recorded_words(function: api.Function) -> tuple[tuple[tuple[int, int], ...] | None, ...]:
    """For each parameter the words of a record (registers, stack, vector registers) and how many bytes of each; None
    where a record has not all of them."""
    found = []
    for place in abi.locate(function):
        words = [(word_index(one), one.size) for piece in place.pieces for one in word_by_word(piece)]
        known = tuple((index, size) for index, size in words if index is not None)
        is_whole = len(known) == len(words) and not any(piece.indirect for piece in place.pieces)
        found.append(known if is_whole else None)
    return tuple(found)


NOTHING = RecordedMemory({})
ARGUMENTS, ADDRESSES, OUT = (vars(Call)[name] for name in ("arguments", "addresses", "out"))  # its slots
Recorded = tuple[RecordedFunction, Record, api.Table]


def arguments(function: api.Function, one: Record) -> list[bytes | None]:
    """The bytes of each; None for one that is further up the stack than a record reaches."""
    words = one.words + one.floats
    return [joined(words, places) if places is not None else None for places in recorded_words(function)]


def joined(words: Words, places: Iterable[tuple[int, int]]) -> bytes:
    pieces = [words[index].to_bytes(WORD, "little")[:size] for index, size in places]
    return pieces[0] if len(pieces) == 1 else b"".join(pieces)


def written(known: RecordedFunction, one: Record) -> RecordedMemory:
    """What the call has left behind its pointers."""
    return behind(one, one.outs, known.outs)


def given(known: RecordedFunction, one: Record) -> RecordedMemory:
    """What was behind its pointers when it began."""
    return behind(one, one.ins, known.ins)


def behind(one: Record, words: Words, wanted: list[tuple[int, int]]) -> RecordedMemory:
    if not wanted:
        return NOTHING
    values = ring.pointees(words, [size for _, size in wanted])
    told = {one.words[index]: raw for (index, _), raw in zip(wanted, values)}
    return RecordedMemory({at: raw for at, raw in told.items() if raw}, [at for at, raw in told.items() if raw is None])


def out_data(known: RecordedFunction, one: Record, table: api.Table) -> dict[str, Any]:
    if not known.outs:
        return {}
    memory, function = written(known, one), known.function
    there = {one.words[index] for index, _ in known.outs} & memory.segments.keys()
    raws = arguments(function, one)
    positions = [at for at, (parameter, raw) in enumerate(zip(function.parameters, raws))
                 if parameter.direction != "in" and raw and int.from_bytes(raw, "little") in there]  # fmt: skip
    found = decode.some_arguments(function, raws, memory, table, positions)
    return {argument.name: argument.data for argument in found}


class RingCall(Call):
    """Its values are made of the records when somebody asks for them: most views ask a few calls, or none."""

    __slots__ = ("entered", "returned")
    entered: Recorded | None
    returned: Recorded | None

    def without_values(self) -> None:
        """There is no dict of a value that nobody has asked for."""
        self.entered = self.returned = None

    @property
    def arguments(self) -> dict[str, Any]:
        self.look_at_entry()
        return cast("dict[str, Any]", ARGUMENTS.__get__(self))

    @arguments.setter
    def arguments(self, values: dict[str, Any]) -> None:
        ARGUMENTS.__set__(self, values)

    @property
    def addresses(self) -> dict[str, int]:
        self.look_at_entry()
        return cast("dict[str, int]", ADDRESSES.__get__(self))

    @addresses.setter
    def addresses(self, values: dict[str, int]) -> None:
        ADDRESSES.__set__(self, values)

    @property
    def out(self) -> dict[str, Any]:
        if self.returned is not None:
            (known, one, table), self.returned = self.returned, None
            self.out = out_data(known, one, table)
        try:
            return cast("dict[str, Any]", OUT.__get__(self))
        except AttributeError:  # it has not returned, or not with success
            self.out = {}
            return self.out

    @out.setter
    def out(self, values: dict[str, Any]) -> None:
        OUT.__set__(self, values)

    def look_at_entry(self) -> None:
        if self.entered is None:
            return
        (known, one, table), self.entered = self.entered, None
        raws = arguments(known.function, one)
        decoded = decode.arguments(known.function, raws, given(known, one), table, phase="enter")
        self.arguments = {argument.name: argument.data for argument in decoded}
        self.addresses = decode.string_addresses(known.function, decoded)

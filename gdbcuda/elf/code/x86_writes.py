"""Pointers that x86-64 code writes through, on some way through it, without a test of theirs anywhere.

An argument is followed through registers and places on the stack, as far as mov goes. Whatever else looks at it counts
as its test, and so does a branch behind a call that it was passed to: that may be the call's status. What a function
writes for its caller is the caller's. (System V ABI for x86-64, section 3.2; Intel SDM, volume 2.)
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Set
from functools import lru_cache
from typing import Callable, NamedTuple, Union

from gdbcuda.data_classes import dataclass, field
from gdbcuda.elf.code.x86_read import PREFIXES, Instruction, UnknownInstruction, decode, has_operand, is_bare

_ARGUMENTS = (7, 6, 2, 1, 8, 9)  # rdi, rsi, rdx, rcx, r8, r9
_LOST_BY_CALLS = (0, 1, 2, 6, 7, 8, 9, 10, 11)
_STACK = (4, 5)  # rsp, rbp
_IMPLIED = (0, 1, 2, 6, 7)  # registers that instructions without operands mean
_STORES = frozenset((
    b"\x88", b"\x89", b"\xc6", b"\xc7",
    b"\x0f\x11", b"\x0f\x13", b"\x0f\x17", b"\x0f\x29", b"\x0f\x7f", b"\x0f\xd6",  # of vector registers
))  # fmt: skip
_LOADS = frozenset((b"\x8a", b"\x8b", b"\x63", b"\x8d", b"\x0f\xb6", b"\x0f\xb7", b"\x0f\xbe", b"\x0f\xbf"))
_MOVES = (b"\x88", b"\x89", b"\xc6", b"\xc7")
_CLEARS = (b"\x31", b"\x33", b"\x29", b"\x2b")  # xor and sub of a register with itself
_NOTHING = frozenset((b"\x0f\x1e", b"\x0f\x1f"))  # endbr64, nop
# the field is part of these opcodes
_GROUPS = frozenset(b"\x80\x81\x83\xc0\xc1\xc6\xc7\xd0\xd1\xd2\xd3\xf6\xf7\xfe\xff")
_ADD = 16  # the first of such a group: behind all registers
_NEAR = 4096  # bytes: page 0 is mapped nowhere
_SHORT = 4096  # bytes of a function that is remembered
_STEPS = 1000  # of all ways through a function together
_SIZE, _NUMBER = 2, b"\xba"  # rdx, of memset and its like; mov of a number to edx

Place = Union[int, tuple[int, int]]  # a register; what is so far from where rsp or rbp points


class _Operands(NamedTuple):
    """``field`` and ``register``: numbers of registers, -1 for none. ``memory``: its base and displacement."""

    opcode: bytes
    wide: bool
    field: int = -1
    register: int = -1
    memory: tuple[int, int] | None = None


class Callees(NamedTuple):
    """Whom a function calls, by the distance from its start. ``writers``: the pointers that each writes through without
    a test, by their numbers; ``fills``: those of memset and its like."""

    writers: Mapping[int, Set[int]] = {}
    fills: Set[int] = frozenset()


NO_CALLEES = Callees()


class _State(NamedTuple):
    """What is known where a way has come to. ``passed``: arguments that some call may have looked at; ``doubted``:
    those of them that a branch, perhaps on its status, came behind; ``is_sized``: the third argument is a number."""

    held: Mapping[Place, int]
    passed: frozenset[int] = frozenset()
    doubted: frozenset[int] = frozenset()
    is_shared: bool = False  # the address of something on the stack was made
    is_sized: bool = False

    def without(self, *places: Place) -> _State:
        gone = [place for place in self.held if place in places or (isinstance(place, tuple) and place[0] in places)]
        left = {place: one for place, one in self.held.items() if place not in gone} if gone else self.held
        return self._replace(held=left) if gone else self

    def with_copy(self, source: Place, target: Place) -> _State:
        left = self.without(target)
        return left._replace(held={**left.held, target: self.held[source]}) if source in self.held else left

    def called(self) -> _State:
        seen = self.held.values() if self.is_shared else (self.held[one] for one in _ARGUMENTS if one in self.held)
        return self.without(*_LOST_BY_CALLS)._replace(passed=self.passed | {*seen}, is_sized=False)

    def sharing(self, base: int) -> _State:
        """Of an address made of that register."""
        return self._replace(is_shared=True) if base in _STACK and base not in self.held else self

    def key(self) -> tuple[object, ...]:
        return (frozenset(self.held.items()), *self[1:])


@dataclass
class _Walk:
    code: bytes
    callees: Callees = NO_CALLEES
    written: set[tuple[int, int]] = field(default_factory=set)  # offsets of instructions, with the argument
    doubted: set[tuple[int, int]] = field(default_factory=set)  # the same, where some way to them makes it so
    tested: set[int] = field(default_factory=set)

    def unchecked(self) -> set[int]:
        return {number for _, number in self.written - self.doubted} - self.tested if self.all_ways() else set()

    def all_ways(self) -> bool:
        """Whether there were not too many."""
        ways = [(0, _State({register: number for number, register in enumerate(_ARGUMENTS)}))]
        seen: set[tuple[object, ...]] = set()
        while ways and len(seen) < _STEPS:
            at, state = ways.pop()
            here = at, state.key()
            if here in seen or not state.held or not 0 <= at < len(self.code):
                continue
            seen.add(here)
            try:
                ways += self.step(at, decode(self.code, at), state)
            except UnknownInstruction:
                continue
        return not ways

    def step(self, at: int, found: Instruction, state: _State) -> list[tuple[int, _State]]:
        end = at + len(found.raw)
        target = end + (found.distance or 0)
        if found.kind == "call" or (found.kind == "jump" and not 0 <= target < len(self.code)):
            self.calls(at, target, state)
            return [(end, state.called())] if found.kind == "call" else []
        if found.kind == "branch":
            behind = state._replace(doubted=state.passed)
            return [(end, behind), (target, behind)]
        if found.kind:
            return [(target, state)] if found.kind == "jump" and found.distance is not None else []
        one = _operands(found.raw)
        is_sized = one.opcode == _NUMBER or (state.is_sized and _SIZE not in (one.field, one.register))
        return [(end, self.after(at, one, state if is_sized == state.is_sized else state._replace(is_sized=is_sized)))]

    def calls(self, at: int, target: int, state: _State) -> None:
        """Who has passed the pointer to another call before may give the writer that one's status to look at."""
        for place in self.callees.writers.get(target, ()):
            number = state.held.get(_ARGUMENTS[place])
            if number is not None and number not in state.passed:
                self.written.add((at, number))
        if target in self.callees.fills and state.is_sized and _ARGUMENTS[0] in state.held:
            self.writes(at, state.held[_ARGUMENTS[0]], state)

    def writes(self, at: int, number: int, state: _State) -> None:
        (self.doubted if number in state.doubted else self.written).add((at, number))

    def after(self, at: int, one: _Operands, state: _State) -> _State:
        if one.opcode in _NOTHING:
            return state
        if one.field < 0:
            return self.bare(one, state)
        if one.opcode in _STORES and one.memory:
            return self.stored(at, one, one.memory, state)
        if one.opcode in (b"\x89", b"\x8b") and one.wide:
            source, target = (one.field, one.register) if one.opcode == b"\x89" else (one.register, one.field)
            copied = state.with_copy(source if source >= 0 else one.memory or -1, target)
            return copied.sharing(source) if target not in _STACK else copied
        if one.opcode in _LOADS:
            base = one.memory[0] if one.memory and one.opcode == b"\x8d" else -1  # lea: of a member
            return state.with_copy(base, one.field).sharing(base)
        if one.opcode in (b"\x81", b"\x83") and one.wide and one.field == _ADD:  # a member's address
            return state
        if one.opcode in _MOVES:
            return state.without(one.register)
        if one.opcode in _CLEARS and one.field == one.register:
            return state.without(one.field)
        return self.looked_at(state, one.field, one.register, one.memory or -1)

    def stored(self, at: int, one: _Operands, memory: tuple[int, int], state: _State) -> _State:
        base, displacement = memory
        is_whole = one.opcode == b"\x89" and one.wide
        if base in _STACK and base not in state.held:  # rbp may be a register as others
            return state.with_copy(one.field, memory) if is_whole else state.without(memory)
        if base in state.held and 0 <= displacement < _NEAR:
            self.writes(at, state.held[base], state)
        if is_whole and one.field in state.held:  # others can look at it there
            return state._replace(passed=state.passed | {state.held[one.field]})
        return state

    def looked_at(self, state: _State, *places: Place) -> _State:
        self.tested |= {state.held[place] for place in places if place in state.held}
        return state.without(*places)

    def bare(self, one: _Operands, state: _State) -> _State:
        """Without operands behind the opcode: a register is part of it, or it means some."""
        first = one.opcode[0]
        if first < 0x40 or first in (0xA8, 0xA9):  # rax with a number
            return self.looked_at(state, 0)
        if 0x50 <= first <= 0x57:  # push
            return state.without(4)
        if 0x58 <= first <= 0x5F:  # pop
            return state.without(4, one.register)
        if 0xB0 <= first <= 0xBF:  # mov of a number
            return state.without(one.register)
        return state.without(*(_STACK if first == 0xC9 else _IMPLIED), one.register)  # leave


def unchecked_writes(code: bytes, callees: Callees = NO_CALLEES) -> set[int]:
    if any(callees):
        return _Walk(code, callees).unchecked()
    if not _ELSEWHERE.search(code):
        return set()
    return set(_of_short(code)) if len(code) < _SHORT else _Walk(code).unchecked()


@lru_cache(maxsize=4096)  # of one library, which is asked about at its load and again when it is checked
def _of_short(code: bytes) -> frozenset[int]:
    return frozenset(_Walk(code).unchecked())


def _bytes(is_one: Callable[[int], bool]) -> bytes:
    return b"[" + b"".join(re.escape(bytes([one])) for one in range(256) if is_one(one)) + b"]"


def _any(opcodes: frozenset[bytes]) -> bytes:
    return b"(?:" + b"|".join(map(re.escape, sorted(opcodes))) + b")"


# Bytes without which nothing is written but the function's own stack, wherever its instructions begin: most wrappers
# have none of them, and are not walked. The byte behind an opcode is mode << 6 | field << 3 | base; in mode 1 the next
# is a displacement, and none below 0 counts: else mov %rax,%rdi with call *%r8 behind it (89 c7 41 ff d0) would do.
_ELSEWHERE = re.compile(b"|".join((
    _any(_STORES) + _bytes(lambda one: one >> 6 in (0, 2) and one & 7 not in _STACK),
    _any(_STORES) + _bytes(lambda one: one >> 6 == 1 and one & 7 not in _STACK) + b"[\0-\x7f]",
    _any(_STORES) + _bytes(lambda one: one < 0xC0 and one & 7 == 4) + _bytes(lambda one: one & 7 != 4),  # an index
    # r12 or r13
    _bytes(lambda one: one & 0xF1 == 0x41) + _any(_STORES) + _bytes(lambda one: one < 0xC0 and one & 7 in _STACK),
    # rsp or rbp becomes what it is not elsewhere: a mov of one of them to the other is none
    b"\x89" + _bytes(lambda one: one >= 0xC0 and one & 7 in _STACK and one not in b"\xe5\xec"),
    _bytes(lambda one: one & 0xF4 == 0x44) + b"\x89[\xe5\xec]",  # but of r12, r13
    _any(_LOADS) + _bytes(lambda one: one >> 3 & 7 in _STACK),
)), re.DOTALL)  # fmt: skip


@lru_cache(maxsize=4096)  # compilers write few others
def _operands(raw: bytes) -> _Operands:
    at = next(at for at, byte in enumerate(raw) if byte not in PREFIXES)
    rex = raw[at] if raw[at] & 0xF0 == 0x40 else 0
    at += bool(rex)
    size = 2 if raw[at] == 0x0F else 1
    opcode, rest = raw[at : at + size], raw[at + size :]
    if raw[at] in (0xC4, 0xC5, 0x62) or opcode in (b"\x0f\x38", b"\x0f\x3a") or (size == 2 and is_bare(opcode[1])):
        raise UnknownInstruction("vectors, cpuid and their like")
    if size == 1 and not has_operand(opcode[0]):
        return _Operands(opcode, bool(rex & 8), register=opcode[-1] & 7 | (rex & 1) << 3)
    mode, register, base = rest[0] >> 6, rest[0] >> 3 & 7 | (rex & 4) << 1, rest[0] & 7
    register += _ADD if size == 1 and opcode[0] in _GROUPS else 0
    if mode == 3:
        return _Operands(opcode, bool(rex & 8), register, base | (rex & 1) << 3)
    return _Operands(opcode, bool(rex & 8), register, memory=_memory(rest, mode, base, rex))


def _memory(rest: bytes, mode: int, base: int, rex: int) -> tuple[int, int] | None:
    """None with an index, and for what is named by its place."""
    behind = 1
    if base == 4:
        base, behind = rest[1] & 7, 2
        if rest[1] >> 3 & 7 != 4 or rex & 2:
            return None
    if mode == 0 and base == 5:
        return None
    displacement = int.from_bytes(rest[behind : behind + (0, 1, 4)[mode]], "little", signed=True)
    return base | (rex & 1) << 3, displacement

"""Questions to the machine code of a function that need no disassembler.

Whom does it call, does it return -1, what does it pass on, which arguments does it never look at: each is
answered from exact bytes, such as a compiler writes them. What is not recognised is simply not found.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Set
from typing import Protocol

from gdbcuda.elf.code import arm, x86
from gdbcuda.elf.code.x86_writes import Callees
from gdbcuda.elf.layout import Addresses
from gdbcuda.errors import UserError

_LARGEST_FUNCTION = 1 << 20
_LONGEST_STUB = 24  # bytes of a PLT entry
_LONGEST_TEXT, _OVERLAP = 256, 64
_FILLS = frozenset(("memset", "memcpy", "memmove", "__memset_chk", "__memcpy_chk", "__memmove_chk"))


class InstructionSet(Protocol):
    """What is known of the instructions of one machine: code_x86 and code_arm."""

    def calls(self, code: bytes, at: int) -> Iterator[tuple[int, bool]]:
        """(target, the target is a slot that holds the address) of each call and jump."""

    def stub_slot(self, code: bytes, at: int) -> int | None:
        """The slot that the PLT entry at this address jumps through."""

    def minus_one_returned(self, code: bytes) -> int | None:
        """Offset of an instruction that makes the 32-bit result -1, if the function returns right after it."""

    def passes_minus_one(self, code: bytes) -> bool:
        """Whether -1 (64 bits; RTLD_NEXT) is the first argument of some call."""

    def constants_passed(self, code: bytes, at: int) -> Iterator[tuple[int, bool, int]]:
        """(target, it is a slot, address of a constant) of calls whose first argument is one."""

    def compares_with_null(self, code: bytes) -> bool:
        """Whether any pointer is compared with NULL."""

    def compares_next_with_null(self, code: bytes) -> bool:
        """Whether one is behind the call that is given RTLD_NEXT: before, it may be what an earlier call has kept."""

    def returned_calls(self, code: bytes, at: int) -> Iterator[tuple[int, int]]:
        """Where the calls lead whose result the function returns, and its jumps to elsewhere; the offset of each."""

    def arguments_returned(self, code: bytes) -> set[int]:
        """Numbers of the 32-bit arguments that may be returned as they came."""

    def minus_ones_passed(self, code: bytes, call: int) -> set[int]:
        """Numbers of the 32-bit arguments that may be -1 of the call at this offset."""

    def unchecked_writes(self, code: bytes, callees: Callees) -> set[int]:
        """Numbers of the pointer arguments that are written through without a test of theirs or of a status."""

    def only_jumps_on(self, code: bytes) -> bool:
        """A jump through a register or a slot is in it, and no call through one."""

    def unused_arguments(self, code: bytes) -> set[int]:
        """Numbers of the integer arguments that unoptimised code puts on the stack and never looks at."""


_MACHINES: dict[str, InstructionSet] = {"x86-64": x86, "aarch64": arm}


class FileCode:
    """Functions of one file. ``slots``: address of a GOT slot -> the symbol that the loader puts there."""

    def __init__(self, machine: str, addresses: Addresses, slots: Mapping[int, str]) -> None:
        self._machine = _MACHINES.get(machine)
        self._addresses = addresses
        self._slots = slots

    def bytes(self, address: int, size: int) -> bytes:
        """The code of a function; b"" where it cannot be read, or is of a machine that is not known."""
        if self._machine is None:
            return b""
        try:
            return self._addresses.read(address, min(size, _LARGEST_FUNCTION), "code")
        except UserError:
            return b""

    def called(self, address: int, size: int, known: Mapping[int, str]) -> set[str]:
        """Names of what the function at ``address`` calls: at ``known`` addresses, through the PLT or GOT."""
        names = set()
        code = self.bytes(address, size)
        for target, is_slot in self._machine.calls(code, address) if self._machine else ():
            names.add(self._slots.get(target) if is_slot else known.get(target) or self.stub_name(target))
        return {name for name in names if name}

    def strings_passed(self, known: Mapping[int, str], to: Container[str]) -> Iterator[tuple[str, str]]:
        """(function, text) of calls anywhere in the file's code: of functions with these names, at ``known`` addresses
        or through the PLT or GOT, whose first argument is a text of the file."""
        for start, size in self._pieces():
            for target, is_slot, constant in self._constants_passed(start, size):
                name = (self._slots.get(target) if is_slot else known.get(target) or self.stub_name(target)) or ""
                text = self._text(constant) if name in to else ""
                if text:
                    yield name, text

    def passes_constant(self, address: int, size: int) -> bool:
        """Whether some call in it has a constant for its first argument; True where that cannot be known."""
        return not self._machine or any(True for _ in self._constants_passed(address, size))

    def _constants_passed(self, address: int, size: int) -> Iterator[tuple[int, bool, int]]:
        code = self.bytes(address, size)
        return self._machine.constants_passed(code, address) if self._machine else iter(())

    def _pieces(self) -> Iterator[tuple[int, int]]:
        """All code of the file, in pieces that overlap by as much as an instruction and its arguments need."""
        for start, size in self._addresses.code():
            for at in range(0, size, _LARGEST_FUNCTION - _OVERLAP):
                yield start + at, min(_LARGEST_FUNCTION, size - at)

    def _text(self, address: int) -> str:
        try:
            room = self._addresses.extent_in_file(address)[1]
            raw = self._addresses.read(address, min(room, _LONGEST_TEXT), "a text")
        except UserError:
            return ""
        text, end, _ = raw.partition(b"\0")
        return text.decode("ascii", "replace") if end else ""

    def calls_anything(self, address: int, size: int) -> bool:
        """Whether there is any call (or jump to somewhere else): a stub that only returns has none."""
        calls = self._machine.calls(self.bytes(address, size), address) if self._machine else iter(())
        return any(is_slot or not address <= target < address + size for target, is_slot in calls)

    def returns_minus_one(self, address: int, size: int) -> int | None:
        """Offset of the instruction in the function, or None."""
        return self._machine.minus_one_returned(self.bytes(address, size)) if self._machine else None

    def passes_next(self, address: int, size: int) -> bool:
        """Whether RTLD_NEXT is the first argument of some call."""
        return bool(self._machine and self._machine.passes_minus_one(self.bytes(address, size)))

    def compares_with_null(self, address: int, size: int) -> bool:
        """Whether any pointer is compared with NULL; True where that cannot be known."""
        return not self._machine or self._machine.compares_with_null(self.bytes(address, size))

    def compares_next_with_null(self, address: int, size: int) -> bool:
        """Whether any is behind the call that is given RTLD_NEXT."""
        return bool(self._machine and self._machine.compares_next_with_null(self.bytes(address, size)))

    def returned_calls(self, address: int, size: int) -> list[tuple[int, int]]:
        """Addresses of what is called for the result that the function returns, and the offsets of the calls; [] where
        that is not seen."""
        return list(self._machine.returned_calls(self.bytes(address, size), address)) if self._machine else []

    def arguments_returned(self, address: int, size: int) -> set[int]:
        """Numbers, from 0, of 32-bit arguments that the function may return as they came."""
        return self._machine.arguments_returned(self.bytes(address, size)) if self._machine else set()

    def minus_ones_passed(self, address: int, size: int, call: int) -> set[int]:
        """Numbers, from 0, of 32-bit arguments that may be -1 of the call at this offset in the function."""
        return self._machine.minus_ones_passed(self.bytes(address, size), call) if self._machine else set()

    def called_directly(self, address: int, size: int) -> set[int]:
        """Addresses of what the function calls, or jumps to, and not by a slot."""
        calls = self._machine.calls(self.bytes(address, size), address) if self._machine else iter(())
        return {target for target, is_slot in calls if not is_slot}

    def unchecked_writes(self, address: int, size: int, writers: Mapping[int, Set[int]]) -> set[int]:
        """Numbers, from 0, of pointers that are written through and not tested for NULL, as far as that is seen.
        ``writers``: the same of what it calls, by address."""
        if self._machine is None:
            return set()
        code = self.bytes(address, size)
        fills = frozenset(target - address for target, is_slot in self._machine.calls(code, address)
                          if (self._slots.get(target) if is_slot else self.stub_name(target)) in _FILLS)  # fmt: skip
        callees = Callees({target - address: numbers for target, numbers in writers.items()}, fills)
        return self._machine.unchecked_writes(code, callees)

    def only_jumps_on(self, address: int, size: int) -> bool:
        """Whether it hands its call on by a jump, so that who is called sees its caller; False where that cannot be
        known."""
        return bool(self._machine and self._machine.only_jumps_on(self.bytes(address, size)))

    def unused_arguments(self, address: int, size: int) -> set[int]:
        """Numbers, from 0, of arguments that are never looked at; none of optimised code."""
        return self._machine.unused_arguments(self.bytes(address, size)) if self._machine else set()

    def stub_name(self, address: int) -> str | None:
        """The symbol that the PLT entry at this address leads to; None where there is no entry."""
        slot = self._machine.stub_slot(self.bytes(address, _LONGEST_STUB), address) if self._machine else None
        return self._slots.get(slot) if slot is not None else None

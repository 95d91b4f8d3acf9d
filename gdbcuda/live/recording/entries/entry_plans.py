"""How the entries of thousands of functions become jumps: their code is read object by object, not one by one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress

from gdbcuda.data_classes import dataclass
from gdbcuda.errors import Unreadable
from gdbcuda.linkage import Linkage
from gdbcuda.live import process
from gdbcuda.live.layers.code import answering_code
from gdbcuda.live.patching import detours
from gdbcuda.live.recording.base.planting import PlantingSpot
from gdbcuda.machine import entry_detour
from gdbcuda.machine.detour import Detour, NoDetour

PIECE = 1 << 20  # bytes that are read at once
GAP = 1 << 14  # between functions of one piece


@dataclass(frozen=True)
class CodePiece:
    """Code as it is in the process, and in the file (as far as that is known)."""

    start: int
    code: bytes
    in_file: bytes | None

    def of(self, address: int, size: int) -> tuple[bytes, bytes | None]:
        at = address - self.start
        return self.code[at : at + size], self.in_file and self.in_file[at : at + size]


def plans(linkage: Linkage, spots: Sequence[PlantingSpot]) -> Iterator[tuple[PlantingSpot, Detour | str]]:
    """Of functions of one object; the reason instead where one is left alone."""
    sizes = sizes_of(linkage, spots)
    are_split = any(map(process.has_cold_parts, {spot.file for spot in spots}))
    for piece, members in pieces(linkage, sorted(spots), sizes):
        for spot in members:
            try:
                yield spot, plan(spot.address, sizes[spot.address], piece, are_split)
            except NoDetour as reason:
                yield spot, str(reason)


def require(found: Detour | str) -> Detour:
    if isinstance(found, str):
        raise NoDetour(found)
    return found


def sizes_of(linkage: Linkage, spots: Iterable[PlantingSpot]) -> dict[int, int]:
    """By address; 0 where it is not known."""
    named = linkage.symbols.defined({spot.symbol for spot in spots})
    exported = {one.address: one.size for found in named.values() for one in found}
    return {spot.address: exported.get(spot.address) or detours.function_size(spot.address) for spot in spots}


def pieces(
    linkage: Linkage, spots: Sequence[PlantingSpot], sizes: dict[int, int]
) -> Iterator[tuple[CodePiece, list[PlantingSpot]]]:
    """Functions that are near each other, with their code."""
    members: list[PlantingSpot] = []
    end = 0
    for spot in spots:
        if members and (spot.address - end > GAP or spot.address - members[0].address > PIECE):
            yield piece(linkage, members[0].address, end), members
            members = []
        members.append(spot)
        end = max(end, spot.address + min(sizes[spot.address], detours.LARGEST_FUNCTION))
    if members:
        yield piece(linkage, members[0].address, end), members


def piece(linkage: Linkage, start: int, end: int) -> CodePiece:
    in_file = None
    if process.connection() == "native":
        with suppress(OSError):
            in_file = process.bytes_in_file(linkage.image, start, end - start)
    try:
        return CodePiece(start, process.original_code(start, end - start), in_file)
    except Unreadable:
        return CodePiece(start, b"", None)


def plan(function: int, size: int, piece: CodePiece, may_be_split: bool) -> Detour:
    if not size:
        raise NoDetour("the size of the function is not known")
    if size > detours.LARGEST_FUNCTION:
        raise NoDetour("the function is too large to look at")
    code, in_file = piece.of(function, size)
    if len(code) < size:
        raise NoDetour("the function cannot be read")
    if in_file and in_file[: detours.FIRST_BYTES] != code[: detours.FIRST_BYTES]:
        is_hooks = answering_code.is_overwritten(function)
        raise NoDetour("a hook library has overwritten its entry; what comes in behind is in a log without --fast"
                       if is_hooks else detours.why_patched(code, in_file))  # fmt: skip
    detours.refuse_int3(code)
    found = entry_detour.plan(function, code, detours.cold_part(function) if may_be_split else ())
    if process.is_second_line_within(function, function + len(found.original)):
        raise NoDetour("a step into it would stop among the bytes of the jump")
    return found

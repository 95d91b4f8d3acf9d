"""Functions of the process by address: their symbols, and where gdb breaks on them.
(gdb manual: "Symbol Tables In Python", "Examining the Symbol Table".)
"""

from __future__ import annotations

from typing import Callable

import gdb

from gdbcuda.live.process.caching import until_objects_change
from gdbcuda.live.process.memory import original_code
from gdbcuda.live.process.objects.loaded_objects import exports, object_of
from gdbcuda.live.process.state import machine, program_space
from gdbcuda.text.demangling import demangled
from gdbcuda.text.patterns import pattern

SYMBOL = pattern(r"<(.+?)(?:\+(\d+))?(?: (?:at .*:\d+|in .*))?>$")  # <cuMemAlloc_v2+4>, <main+8 at main.c:12>


def symbol_of(address: int) -> tuple[str, int]:
    """Function or ELF symbol at or before the address and the distance from it; ("", 0) where there is none."""
    found = SYMBOL.search(gdb.Value(address).format_string(format="a"))  # no type is named: languages have other ones
    return (demangled(found.group(1)), int(found.group(2) or 0)) if found else ("", 0)


def function_start(address: int) -> int | None:
    """Address of the ELF symbol that the address is in; None where there is no symbol."""
    name, distance = symbol_of(address)
    return address - distance if name else None


def block_of_function(block: gdb.Block | None) -> gdb.Block | None:
    """The block of the function that the block is in."""
    while block is not None and block.function is None:
        block = block.superblock
    return block


@until_objects_change
def inlined_at(address: int) -> tuple[str, ...]:
    """The functions whose code the compiler has put there, innermost first, and the one that it was put into; ()
    where nothing was, or no debug info says so."""
    block, found = program_space().block_for_pc(address), []
    while (block := block_of_function(block)) is not None:
        found.append(block.function.print_name if block.function is not None else "")
        block = block.superblock
    return tuple(found) if len(found) > 1 else ()


def inlined_block(address: int, is_wanted: Callable[[str], bool]) -> tuple[int, int] | None:
    """(start, end) of the innermost block there of an inlined function whose name is wanted."""
    block = block_of_function(program_space().block_for_pc(address))
    while block is not None and block_of_function(block.superblock) is not None:
        if block.function is not None and is_wanted(block.function.print_name):
            return block.start, block.end
        block = block_of_function(block.superblock)
    return None


# [endbr64] [nops, as -fpatchable-function-entry leaves them] [push %rbp; mov %rsp,%rbp in either encoding]
PROLOGUE = pattern(rb"(\xf3\x0f\x1e\xfa)?(\x90{0,5}|\x0f\x1f\x44\x00\x00)(\x55(\x48\x89\xe5|\x48\x8b\xec)?)?")
FRAME, LONGEST = 4, 16
LLVM = "clang "  # "clang LLVM (rustc version 1.92.0 …)"


@until_objects_change
def behind_prologue(start: int) -> int:
    """Where gdb puts a breakpoint on the function that begins at ``start``: at its second line, if it sets up a frame
    and has one; where there are no line numbers, behind the instructions that set up the frame."""
    second, is_x86 = second_line(start), machine() == "x86-64"
    if second is not None and function_start(second) != start:
        return start  # a macro's is one line
    if second is not None and is_llvms(start):
        return second
    found = PROLOGUE.match(original_code(start, LONGEST)) if is_x86 else None
    if second is not None:
        return second if not is_x86 or (found and found[FRAME]) else start
    return start + (found.end() if found else LONGEST)  # aarch64: behind stp and mov of x29, x30


@until_objects_change
def is_llvms(address: int) -> bool:
    """clang and rustc tell by lines where the prologue ends, and gdb takes their word, frame pointer or not.
    (gdb's amd64-tdep.c: amd64_skip_prologue.)"""
    symtab = program_space().find_pc_line(address).symtab
    return symtab is not None and (getattr(symtab, "producer", None) or "").startswith(LLVM)


@until_objects_change
def second_line(start: int) -> int | None:
    line = program_space().find_pc_line(start)
    return int(line.last) + 1 if line.symtab is not None and line.last else None


def is_second_line_within(start: int, end: int) -> bool:
    """A step into the function that begins there, which gdb knows source lines of, stops behind its first instruction
    and in front of ``end``. (Of thousands nearly all have longer first lines: no more is read of those.)"""
    second = second_line(start)
    return second is not None and start < second < end and behind_prologue(start) == second


def may_be_in_prologue(start: int, pc: int) -> bool:
    """By the line numbers alone: at most stops nothing of the process has to be read."""
    return pc <= (second_line(start) or start + LONGEST)


@until_objects_change
def decoded(function: str) -> tuple[int, ...]:
    """Every address where gdb would break on the function (its linespec), in all objects."""
    try:
        rest, found = gdb.decode_line(function)
    except gdb.error:
        return ()
    if rest:  # of "main,use" it has read the beginning
        return ()
    addresses = tuple(line.pc for line in found or ())
    if len(gdb.progspaces()) == 1:
        return addresses
    return tuple(one for one in addresses if is_named(one, function))


def whole(address: int, function: str) -> int:
    """The full address of a location of a breakpoint on the function. (gdb 10 shows only 32 bits of it in objects with
    sections that its BFD does not know, such as .relr.dyn.)"""
    if object_of(address):
        return address
    return next((one for one in decoded(function) if one & 0xFFFFFFFF == address), address)


def is_named(address: int, function: str) -> bool:
    """Whether the function is at that address in the selected inferior. gdb looks names up in all inferiors at once."""
    return symbol_of(address)[0] == function or bool(exports(object_of(address), function, address))

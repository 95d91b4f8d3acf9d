"""The variables of a hook library, through its debug info: those of its files, of its classes, and the static ones of
its functions.

What is static in a function has a name that only its function knows, and gcc's symbol table calls it ``real.0``: it is
looked for in the blocks of the function. (gdb manual: "Symbols In Python", "Blocks In Python".)
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

import gdb

from gdbcuda.live import process
from gdbcuda.live.layers import this_snapshot
from gdbcuda.text import cplusplus
from gdbcuda.text.patterns import pattern

OF_DATA = pattern(r"^\[ *\d+\] [DBdb] (0x[0-9a-f]+) (\S+)(?!\S| section \.t(?:data|bss)\b)", re.MULTILINE)
NO_VARIABLE = pattern(r"_ZT|_ZG|.*@plt$")  # tables of classes, guards of static variables
STEP, MOST_CODE = 8, 4 << 10  # bytes of a function
OF_THE_API = pattern(r"(?:cu|cuda|nvml)[A-Z]")


class HookVariable(NamedTuple):
    """``name``: "reals", "real::cuInit", "cuInit::real". ``function``: the one that a static variable is in."""

    name: str
    function: str
    type: gdb.Type
    address: int


@process.until_objects_change
def variables(file: str) -> tuple[HookVariable, ...]:
    """Of the object with that file name, as the loader names it."""
    objfile = process.objfile_of(file)
    if objfile is None or not objfile.filename:
        return ()
    return (*of_files(objfile), *of_functions(this_snapshot.symbol_table(objfile.filename)))


def is_told_of(file: str, of_the_api: bool = True) -> bool:
    """Has gdb debug info of some function, of the API or not, in the object?"""
    functions = this_snapshot.symbol_table(file)
    wanted = (address for name, address in functions if OF_THE_API.search(name) or not of_the_api)
    return any(gdb.find_pc_line(address).symtab is not None for address in wanted)


def of_files(objfile: gdb.Objfile) -> Iterator[HookVariable]:
    for address, name in OF_DATA.findall(this_snapshot.minimal_symbols(objfile.filename or "")):
        if NO_VARIABLE.match(name):
            continue
        plain = process.demangled(name)
        symbol = looked_up(objfile, name) or looked_up(objfile, plain)
        if symbol is None and "<" in plain:
            symbol = by_address(objfile.filename or "").get(int(address, 16))
        if symbol is not None and symbol.addr_class == gdb.SYMBOL_LOC_UNRESOLVED and symbol.type is not None:
            # It is only declared where gdb found it: for the value gdb 16 would ask gdbserver which object is first.
            yield HookVariable(plain, "", symbol.type.strip_typedefs(), int(address, 16))
        elif symbol is not None:
            yield from with_place(symbol, plain)


def looked_up(objfile: gdb.Objfile, name: str) -> gdb.Symbol | None:
    return objfile.lookup_static_symbol(name) or objfile.lookup_global_symbol(name)


@process.until_objects_change
def by_address(file: str) -> dict[int, gdb.Symbol]:
    """Variables outside of functions, in files that have a function. (A template's argument that is a pointer to a
    function is called in gdb otherwise than in a symbol table.)"""
    starts = (address for _, address in this_snapshot.symbol_table(file))
    tables = {one.filename: one for one in (gdb.find_pc_line(at).symtab for at in starts) if one is not None}
    blocks = (block for table in tables.values() for block in (table.global_block(), table.static_block()))
    known = (one for block in blocks for one in block)
    placed = ((one, with_place(one, "")) for one in known if one.is_variable)
    return {place.address: one for one, places in placed for place in places}


def with_place(symbol: gdb.Symbol, name: str, function: str = "") -> Iterator[HookVariable]:
    """Nothing of what is optimised out, or is each thread's own."""
    try:
        address = symbol.value().address
    except (gdb.error, TypeError):  # TypeError: it is a type
        return
    if address is not None and symbol.type is not None:
        yield HookVariable(name, function, symbol.type.strip_typedefs(), int(address))


def of_functions(functions: list[tuple[str, int]]) -> Iterator[HookVariable]:
    """Of those whose names have the name of an API function in them: hooked_cuInit."""
    seen: set[int] = set()
    for _, start in (one for one in functions if OF_THE_API.search(one[0])):
        for block in blocks(start):
            for symbol in block:
                if symbol.is_variable and symbol.addr_class == gdb.SYMBOL_LOC_STATIC:
                    function = of_block(block)
                    found = [*with_place(symbol, f"{function}::{symbol.name.rpartition('::')[2]}", function)]
                    yield from (one for one in found if one.address not in seen)
                    seen.update(one.address for one in found)


def blocks(start: int) -> Iterator[gdb.Block]:
    """The block of the function that begins there, and those inside of it. gdb tells only of the innermost around an
    address: such a block has some instructions."""
    whole = process.block_of_function(block_at(start))
    if whole is None or whole.start != start:
        return
    seen = set()
    for address in range(start, min(whole.end, start + MOST_CODE), STEP):
        block = block_at(address)
        while block is not None and not block.is_static and not block.is_global:
            place = (block.start, block.end, len([*block]))
            if place in seen:
                break
            seen.add(place)
            yield block
            block = block.superblock


def block_at(address: int) -> gdb.Block | None:
    try:
        return gdb.block_for_pc(address)
    except (gdb.error, RuntimeError):
        return None


def of_block(block: gdb.Block) -> str:
    """The function that the block is in, without its arguments."""
    whole = process.block_of_function(block)
    name = whole.function.name if whole is not None and whole.function is not None else ""
    return cplusplus.plain(name)

"""Functions of Rust and of Fortran's modules by a part of their name. gdb looks C++'s up so, and these by the whole
name alone: grow is app::pool::Pool<u64>::grow, or pool::grow.
(gdb's symtab.c: language_defn::get_symbol_name_matcher_inner.)
"""

from __future__ import annotations

from collections.abc import Iterable

from gdbcuda.live import process
from gdbcuda.live.layers import this_snapshot
from gdbcuda.text import cplusplus
from gdbcuda.text.demangling import is_of_module


@process.until_objects_change
def called(name: str) -> dict[str, int]:
    """gdb's names of the functions of the program and the hook library that may be called so, with their addresses."""
    part = cplusplus.last_identifier(name)
    if not part:
        return {}
    files = (process.program(), *this_snapshot.hook_files())
    rows = (row for file in files for row in this_snapshot.symbol_table(file) if part in row[0])
    found = {written(address): address for symbol, address in rows if is_of_module(symbol)}
    return {whole: address for whole, address in found.items() if cplusplus.is_called(whole, name)}


def spelled(name: str, not_loaded: Iterable[str]) -> list[str]:
    """How gdb's break wants them; [] where they are none of these. ``not_loaded``: symbols of files that gdb has not
    read, which do not say what it will call a method of a trait."""
    part = cplusplus.last_identifier(name)
    wholes = (process.demangled(one) for one in not_loaded if part and part in one and is_of_module(one))
    later = {whole for whole in wholes if whole[0] not in "_<" and cplusplus.is_called(whole, name)}
    return sorted(called(name)) or sorted(later)


def written(address: int) -> str:
    """What its author has called the function there."""
    block = process.block_of_function(process.program_space().block_for_pc(address))
    return str(block.function.print_name) if block is not None and block.function is not None else ""

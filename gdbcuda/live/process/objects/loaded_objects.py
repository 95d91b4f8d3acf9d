"""The objects of the process: the program and its shared objects, by the names that the loader knows them by.
(gdb manual: "Progspaces In Python", "Objfiles In Python".)
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from contextlib import suppress

import gdb

from gdbcuda.api import vendor
from gdbcuda.errors import Unreadable, UserError
from gdbcuda.files import places
from gdbcuda.linkage import image
from gdbcuda.linkage.image import Image
from gdbcuda.live.process.auxiliary_vector import auxiliary
from gdbcuda.live.process.caching import forget, until_objects_change
from gdbcuda.live.process.memory import InferiorMemory, in_pages
from gdbcuda.live.process.objects import core_contents
from gdbcuda.live.process.state import connection, is_alive, is_remote, program, strip_prefix

PF_X = 1
MOST_NAMESPACES = 16  # as glibc has (DL_NNS)
R_STATE, RT_ADD = 24, 1  # <link.h>, struct r_debug


@until_objects_change
def images() -> list[Image]:
    """The loader's own list, in search order, the program first (its name is ""); [] without one."""
    values = auxiliary()
    if "AT_PHDR" not in values or "AT_PHNUM" not in values:
        return []
    found = image.images(in_pages(InferiorMemory()), values["AT_PHDR"], values["AT_PHNUM"])
    if connection() == "core":
        core_contents.mark(found)
    return found


@until_objects_change
def images_elsewhere() -> list[list[Image]]:
    """Those of each further namespace (dlmopen), which no search of the program's finds. glibc 2.35 and later tell."""
    memory, first = in_pages(InferiorMemory()), images()
    debug, found = first[0].entries.get(image.DT_DEBUG, 0) if first else 0, []
    with suppress(Unreadable):
        for _ in range(MOST_NAMESPACES):
            version = struct.unpack("<i", memory.read(debug, 4))[0] if debug else 0
            debug = struct.unpack("<Q", memory.read(debug + 40, 8))[0] if version >= 2 else 0
            if not debug:
                break
            start = struct.unpack("<Q", memory.read(debug + 8, 8))[0]
            found.append([one for one in image.link_maps(memory, start) if one.name])
    return found


def is_load_beginning() -> bool:
    """Does the loader say that it will change its list, and has not yet? False where nobody knows, and over a link,
    which it would cost a packet."""
    values = auxiliary() if not is_remote() else {}
    with suppress(Unreadable):
        memory = in_pages(InferiorMemory())
        start = image.program_dynamic(memory, values.get("AT_PHDR", 0), values.get("AT_PHNUM", 0)) if values else None
        debug = image.debug_address(memory, start)
        return bool(debug) and struct.unpack("<i", memory.read(debug + R_STATE, 4))[0] == RT_ADD
    return False


def lasting_images() -> Iterator[Image]:
    """Those that are never unloaded: all that were loaded with the program, and what is marked so. glibc keeps ld.so
    among the former, for libc needs it, and appends what is loaded later. (elf/rtld.c, dl_main; elf/dl-close.c)"""
    found = images()
    loader = next((i for i, one in enumerate(found) if vendor.is_loader(one.name)), 0)
    return (one for i, one in enumerate(found) if i <= loader or one.is_nodelete)


@until_objects_change
def own_code() -> tuple[tuple[int, int], ...]:
    """(start, end) of the code of our own library, () where the process has not got it."""
    own = [one for one in images() if os.path.basename(one.name) == places.AGENT]
    return tuple((start, end) for one in own for start, end, flags in one.segments if flags & PF_X)


def in_own_code(address: int) -> bool:
    return any(start <= address < end for start, end in own_code())


def shared_objects() -> list[str]:
    """File names of all loaded shared objects, ld.so and the vdso included, in the order in which ld.so searches."""
    return [one.name for one in images() if one.name]


def search_order() -> list[str]:
    """The same without ld.so and the vdso, which define nothing that a hook library would."""
    return [name for name in shared_objects() if not vendor.is_loader(name) and not vendor.is_vdso(name)]


@until_objects_change
def object_of(address: int) -> str:
    """File name of the object that the address is in, as the loader knows it, wherever gdb has found the file; "" if it
    is in none."""
    shared = gdb.solib_name(address)
    if shared:
        return loader_name(strip_prefix(shared))
    if in_program(address):
        return strip_prefix(program())
    if connection() != "core":
        return ""
    return next((one.name for one in images() if one.lacking and one.holds(address)), "")  # gdb has not its file


@until_objects_change
def loader_name(found: str) -> str:
    """The loader's name of a file that gdb has found: gdb's is longer by the sysroot, or quite another one where it was
    found by solib-search-path."""
    names = shared_objects()
    if found in names:
        return found
    same = [name for name in names if found.endswith(name)] or [name for name in names if is_file_of(found, name)]
    return same[0] if same else found


@until_objects_change
def objfile_of(file: str) -> gdb.Objfile | None:
    """What gdb has read of the object with that name (the loader's, or the program's file name)."""
    known, end = objfiles(), os.path.basename(file)
    if file in known:
        return known[file]
    return next((one for name, one in known.items() if name.endswith(end) and loader_name(name) == file), None)


@until_objects_change
def objfiles() -> dict[str, gdb.Objfile]:
    """By name, the first of each: a process asks for each of its objects at each load."""
    found: dict[str, gdb.Objfile] = {}
    for one in gdb.objfiles():
        if one.filename and one.owner is None:
            found.setdefault(strip_prefix(one.filename), one)
    return found


def is_file_of(found: str, name: str) -> bool:
    return os.path.basename(found) == os.path.basename(name)


def in_program(address: int) -> bool:
    return any(low <= address < high for low, high in program_ranges())


@until_objects_change
def program_ranges() -> list[tuple[int, int]]:
    """Address ranges of the program's own segments; before it runs as they are in its file."""
    if not is_alive():
        return ranges_in_file(program())
    values = auxiliary()
    try:
        return image.mapped(InferiorMemory(), values.get("AT_PHDR", 0), values.get("AT_PHNUM", 0))
    except Unreadable:
        return []


def ranges_in_file(name: str) -> list[tuple[int, int]]:
    from gdbcuda import elf  # 20 ms, and only a breakpoint before the run needs it

    try:
        segments = elf.open(strip_prefix(name)).segments
    except UserError:  # none, or on another machine
        return []
    return [(one.address, one.address + one.memory_size) for one in segments if one.type == "PT_LOAD"]


@until_objects_change
def exports(file: str, name: str, address: int) -> bool:
    """Is the address in a function that the object exports under that name, of whatever version?"""
    owner = loaded(file)
    found = [one for _, one in owner.matches(name)] if owner is not None else []
    return any(one.address <= address < one.address + max(one.size, 1) for one in found)


def is_indirect(file: str, name: str) -> bool:
    """Does the object export a function of that name that says at run time which code it stands for (IFUNC)?"""
    found = exported(file, name)
    return found is not None and found.is_indirect


def exported(file: str, name: str) -> image.LoadedSymbol | None:
    owner = loaded(file)
    return owner.lookup(name) if owner is not None else None


def loaded(file: str) -> image.Image | None:
    return next((one for one in images() if (one.name or strip_prefix(program())) == file), None)


def on_stop(event: object) -> None:
    """gdb tells of loaded objects only where it has ld.so's file; without it they are asked for at every stop."""
    if is_remote() and not shared_objects():
        forget()

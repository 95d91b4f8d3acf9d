"""The process as `gdbcuda.routes` sees it: objects and layers of this moment, tables while they are mapped."""

from __future__ import annotations

import os
import re
from typing import Any, Callable

import gdb

from gdbcuda.errors import UserError
from gdbcuda.linkage import Linkage, Linkages
from gdbcuda.live import layers, process
from gdbcuda.live.host import gdb_cli
from gdbcuda.live.host.expressions import quoted
from gdbcuda.live.host.inferiors import PerInferior
from gdbcuda.live.layers import jumping_entries, noticed, table_version
from gdbcuda.live.placing import unloading
from gdbcuda.routes.snapshot import ProcessSnapshot

# dlopen of one object leaves what is known of the others; the next process may map other files at the same places
_linkages: PerInferior[dict[tuple[int, str, int], Linkage]] = PerInferior(dict)


def linkage_of(image: Any) -> Linkage:
    return _linkages().setdefault((image.handle, image.name, image.base), Linkage(image))


def forget_unloaded(addresses: set[int]) -> None:
    """Another build of an object may come to the same place."""
    known = _linkages()
    there = unloading.still_there({key: one.image.dynamic for key, one in known.items()})
    for key in known.keys() - there.keys():
        del known[key]


unloading.ON_UNLOADED.append(forget_unloaded)


@process.until_objects_change
def objects() -> Linkages:
    """The loaded objects; UserError with the reason where there are none."""
    if not process.is_alive():
        raise UserError("no process: run the program first, or open a core file")
    found = process.images()
    if not found and process.auxiliary().get("AT_BASE") == 0:
        raise UserError("the program is static: there is no loader in it, and no library comes")
    if not found:
        raise UserError("the loader has not mapped any library yet; go on to main first")
    return Linkages(map(linkage_of, found))


def objects_elsewhere() -> list[Linkage]:
    """Those of further namespaces (dlmopen), which are in nobody's search order. Not those that gdb does not know: it
    would not hear that they go. (Before gdb 13 it knows the first namespace alone.)"""
    found = [one for namespace in process.images_elsewhere() for one in namespace]
    return [linkage_of(one) for one in found if gdb.solib_name(one.dynamic)]


def file_of(linkage: Linkage) -> str:
    return linkage.image.name or process.strip_prefix(process.program())


def layer_of(linkage: Linkage) -> str:
    return layer_teller()(linkage)


def layer_teller() -> Callable[[Linkage], str]:
    """`layer_of`, for many in one go."""
    tell, program = layers.layer_teller(), process.strip_prefix(process.program())
    return lambda linkage: tell(linkage.image.name or program) if linkage.image.name or program else "app"


def hooks() -> list[Linkage]:
    """Those of `now`, for less."""
    layer = layer_teller()
    return [one for one in objects().all if layer(one) == "hook"]


def symbol_at(address: int) -> str:
    """gdb's name for exactly this address: what stands in a symbol table or in debug info."""
    name, distance = process.symbol_of(address)
    return name if not distance else ""


def is_hidden(name: str) -> bool:
    """A hook library has the function in its symbol table, and does not export it."""
    return any(name in static_functions(file) for file in hook_files())


@process.until_objects_change
def hook_files() -> tuple[str, ...]:
    names = [objfile.filename for objfile in gdb.objfiles() if objfile.filename]
    return tuple(n for n in names if layers.layer_of_object(process.strip_prefix(n)) == "hook")


def minimal_symbols(file: str) -> str:
    """A line each, as gdb prints them. It takes a name with the end of a line in it for two commands."""
    if "\n" in file:
        return ""
    try:
        return gdb_cli.execute(f"maintenance print msymbols -objfile {quoted(file)}")
    except gdb.error:
        return ""


class StaticFunctions:
    """Functions and addresses of an object as gdb has read them. They stay as they are when other objects come."""

    def __init__(self, file: str, objfile: gdb.Objfile | None) -> None:
        self.objfile = objfile
        known_as = (objfile.filename if objfile is not None else None) or file  # to gdb, which may say target:
        found = re.findall(r"^\[ *\d+\] [Ttf] (0x[0-9a-f]+) (\S+)", minimal_symbols(known_as), re.MULTILINE)
        self.rows = [(name, int(address, 16)) for address, name in found]
        self.by_name = dict(self.rows)


_tables: PerInferior[dict[str, StaticFunctions]] = PerInferior(dict)


@process.until_objects_change
def table_of(file: str) -> StaticFunctions:
    known, objfile = _tables().get(file), process.objfile_of(process.strip_prefix(file))
    if known is None or objfile is None or known.objfile is not objfile:
        known = _tables()[file] = StaticFunctions(file, objfile)
    return known


def symbol_table(file: str) -> list[tuple[str, int]]:
    """A lookup by gdb costs packets for each name."""
    return table_of(file).rows


def static_functions(file: str) -> dict[str, int]:
    """The same by name."""
    return table_of(file).by_name


@process.until_objects_change
def static_runtime() -> dict[str, int]:
    """The runtime's functions that are linked into the program, with their addresses; {} where it has none inside."""
    table, found = table_version.table(), static_functions(process.program())
    if "__cudaRegisterFatBinary" not in found:
        return {}
    known = {name: table.functions[name] for name in found.keys() & table.functions.keys()}
    return {name: found[name] for name, function in known.items() if function.api == "runtime"}


def variable_at(address: int) -> str:
    """ "in hook_entries+48"; the bare address where nothing has a name."""
    name, distance = process.symbol_of(address)
    return f"in {name}+{distance}" if distance and name else f"in {name}" if name else f"at {address:#x}"


def code_readers() -> list[Callable[[int, int], bytes]]:
    """What the program has written over a breakpoint of gdb's only the raw memory shows; what is under one gdb does."""
    raw = process.raw_memory()
    readers = [process.OriginalCode(memory) for memory in (process.InferiorMemory(), raw) if memory is not None]
    return [process.in_pages(one).read for one in readers]


def in_other_namespace(address: int) -> tuple[str, str, int]:
    """File, layer and base; "" where gdb does not know of it."""
    file = process.object_of(address)
    images = (one for namespace in process.images_elsewhere() for one in namespace) if file else ()
    return file, layers.layer_of_object(file), next((one.base for one in images if one.holds(address)), 0)


def base_of(address: int) -> int:
    """Where the object was loaded whose code is there, in whatever namespace; 0 where nobody knows."""
    try:
        holder = objects().holder(address)
    except UserError:  # the loader has not begun, or there is none
        return 0
    return holder.image.base if holder is not None else in_other_namespace(address)[2]


def now() -> ProcessSnapshot:
    """The process at this stop: pointers and slots are read anew."""
    memory = process.in_pages(process.InferiorMemory())
    found = ProcessSnapshot(
        objects(), memory, table_version.table(), layer_teller(), file_of, symbol_at, is_hidden, variable_at,
        code_readers(), in_other_namespace, jumping_entries.among, process.InferiorMemory().read,
    )
    searched = {file_of(one) for one in found.objects.all}
    found.unsearched_hooks = tuple(os.path.basename(file) for file in noticed.hooks() if file not in searched)
    return found

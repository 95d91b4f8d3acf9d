"""What routes are judged against: the objects with their layers, the API table, and a name for every address."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence, Set
from functools import cached_property, lru_cache
from typing import Any, Callable, NamedTuple

from gdbcuda import api
from gdbcuda.cpython.interpreters import RUNTIME
from gdbcuda.errors import Unreadable
from gdbcuda.linkage import Definition, Linkage, Linkages
from gdbcuda.machine import entry_jump
from gdbcuda.memory import Memory
from gdbcuda.routes import recorder_slots
from gdbcuda.text.demangling import readable
from gdbcuda.text.sentences import short_paths

LOADERS_RESOLVERS = ("dlsym", "dlvsym", "__libc_dlsym", "_dl_sym")
API_RESOLVERS = ("cuGetProcAddress", "cudaGetDriverEntryPoint", "cudaGetDriverEntryPointByVersion", "cuGetExportTable",
                 "cudaGetExportTable")  # base names  # fmt: skip
VENDORS = ("driver", "runtime")
PATCHING = frozenset(("mprotect", "pkey_mprotect"))  # nobody overwrites code without one of them


class Reached(NamedTuple):
    """The code at an address. ``names`` are all that the object gives it, API names first; () where it has none.
    ``learned`` is the name under which it was handed out, where the object tells none."""

    address: int
    names: tuple[str, ...]
    file: str
    layer: str
    offset: int = 0  # from the object's base, for an address without a name
    learned: str = ""

    @property
    def object(self) -> str:
        return os.path.basename(self.file)

    @property
    def name(self) -> str:
        """One name, as its author wrote it, or the place: "libvgpu.so+0x1139 (answered for cuMemAlloc_v2)"."""
        if self.names:
            return readable(self.names[0])
        place = f"{self.object}+{self.offset:#x}" if self.file and self.offset else f"{self.address:#x}"
        return f"{place} (answered for {self.learned})" if self.learned else place

    @property
    def text(self) -> str:
        """ "hook libvgpu.so cuMemAlloc_v2"."""
        where = f"{self.layer} {self.object}" if self.file else "unknown code"
        return f"{where} {self.name}" if self.names or not self.file else f"{self.layer} {self.name}"


class ProcessSnapshot:
    """The process at one moment.

    ``layer`` and ``file`` give an object's layer and path; ``symbol_at`` is the debugger's name for exactly that
    address, for objects whose dynamic symbols do not tell; ``is_hidden`` whether a hook library has a function of
    that name that it does not export, ``variable_at`` the variable that holds a stored pointer ("in real_alloc");
    ``code_at``: ways to read code without the debugger's own; ``code_now`` reads code that was made this moment;
    ``may_jump``: which of many functions may begin with a jump, where that can be told for less than by reading each;
    ``elsewhere``: file, layer and base of what has a namespace of its own; ``memory`` is read anew for each
    snapshot."""

    def __init__(
        self,
        objects: Linkages,
        memory: Memory,
        table: api.Table,
        layer: Callable[[Linkage], str],
        file: Callable[[Linkage], str] = lambda linkage: linkage.image.name,
        symbol_at: Callable[[int], str] = lambda address: "",
        is_hidden: Callable[[str], bool] = lambda name: False,
        variable_at: Callable[[int], str] = lambda address: "",
        code_at: Sequence[Callable[[int, int], bytes]] = (),
        elsewhere: Callable[[int], tuple[str, str, int]] = lambda address: ("", "", 0),
        may_jump: Callable[[Sequence[int]], Sequence[int]] = lambda addresses: addresses,
        code_now: Callable[[int, int], bytes] | None = None,
    ) -> None:
        self.objects, self.memory, self.table = objects, memory, table
        self.file_of, self._symbol_at, self.is_hidden, self.variable_at = file, symbol_at, is_hidden, variable_at
        self.layers = {linkage: layer(linkage) for linkage in objects.all}
        self._code_at, self._code_now = code_at or [memory.read], code_now or memory.read
        self.elsewhere, self.may_jump = elsewhere, may_jump
        self.learned: dict[int, str] = {}  # from answered requests
        self.unsearched_hooks: tuple[str, ...] = ()  # names of those in no search order: audit libraries
        self.collected: dict[Linkage, Any] = {}  # `collect.references` keeps there what it has found

    @property
    def api_names(self) -> frozenset[str]:
        return self.table.symbols

    @cached_property
    def resolver_names(self) -> Set[str]:
        """Everything that hands out functions by name."""
        variants = (f.symbol for base in API_RESOLVERS for f in self.table.find(base))
        return frozenset(LOADERS_RESOLVERS) | frozenset(variants)

    def in_layer(self, *layers: str) -> list[Linkage]:
        return [one for one in self.objects.all if self.layers[one] in layers]

    @cached_property
    def _names(self) -> dict[str, str]:
        return short_paths(map(self.file_of, self.objects.all))

    def name_of(self, linkage: Linkage) -> str:
        """Its file's, with the directory where another object's is called the same."""
        file = self.file_of(linkage)
        return self._names.get(file, os.path.basename(file))

    @cached_property
    def hooks(self) -> list[Linkage]:
        return self.in_layer("hook")

    @cached_property
    def hooked_names(self) -> dict[str, Linkage]:
        """API functions that a hook library exports, and the first that does."""
        found: dict[str, Linkage] = {}
        for hook in self.hooks:
            for name in hook.symbols.defined(self.api_names):
                found.setdefault(name, hook)
        return found

    def definitions(self, names: Iterable[str], objects: Sequence[Linkage]) -> dict[int, tuple[str, ...]]:
        """Address -> names, of those of the names that the objects export."""
        return by_address(frozenset(names), tuple(objects))

    @cached_property
    def functions(self) -> dict[int, tuple[str, ...]]:
        """Every API function that the hook, the runtime and the driver export, by address."""
        return self.definitions(self.api_names, self.in_layer("hook", *VENDORS))

    @cached_property
    def recorded(self) -> dict[int, int]:
        """What our own recorder has put in the place of functions: it calls just these, so they are what is reached."""
        return recorder_slots.stands_for(self.objects, self.memory)

    def reached(self, address: int, is_final: bool = False) -> Reached | None:
        """The code there, behind the jump of an overwritten entry unless the address ``is_final``; None for NULL."""
        if not address:
            return None
        address = self.recorded.get(address, address)
        address = address if is_final else self.behind_patch(address)
        holder = self.objects.holder(address)
        if holder is None and not is_final:
            address = self.behind_island(address) or address
            holder = self.objects.holder(address)
        if holder is None:
            file, layer, base = self.elsewhere(address)
            symbol, offset = self._symbol_at(address) if file else "", address - base if base else 0
            return Reached(address, (symbol,) if symbol else (), file, layer, offset, self.learned.get(address, ""))
        names = self.names_at(address, holder)
        learned = "" if names else self.learned.get(address, "")
        return Reached(address, names, self.file_of(holder), self.layers[holder], address - holder.image.base, learned)

    def behind_patch(self, address: int) -> int:
        return (self.patched(address) if address in self.functions else None) or address

    def behind_island(self, address: int) -> int | None:
        """Code of no object that a hook library has made to lead to its own."""
        return self.behind_jump(address, self._code_now) if not self.elsewhere(address)[0] else None

    def patched(self, address: int) -> int | None:
        """Where a function of the vendor's leads whose entry was overwritten with a jump into another object's code."""
        found = (self.behind_jump(address, read) for read in self._code_at if self.may_be_patched)
        return next(filter(None, found), None)

    def behind_jump(self, address: int, read: Callable[[int, int], bytes]) -> int | None:
        try:
            there = entry_jump.target(read, address, self.may_answer)
        except Unreadable:
            return None
        return there if there is not None and self.may_answer(there) else None

    def may_answer(self, address: int) -> bool:
        """Code of a hook library, or of the program."""
        owner = self.objects.holder(address)
        return owner is not None and self.layers[owner] not in (*VENDORS, "system")

    @cached_property
    def may_be_patched(self) -> bool:
        """Somebody here makes code writable: reading the entries of all functions costs a link a packet for each."""
        return any(makes_code_writable(one) for one in self.in_layer("hook", "app"))

    def names_at(self, address: int, holder: Linkage) -> tuple[str, ...]:
        names = self.functions.get(address) or holder.symbols.by_address.get(address, ())
        if not names:
            symbol = self._symbol_at(address)
            return (symbol,) if symbol else ()
        return names

    def reached_definition(self, linkage: Linkage, definition: Definition) -> Reached:
        there = self.behind_patch(definition.address)
        if there != definition.address:
            return self.reached(there) or Reached(there, (), "", "")
        names = self.functions.get(definition.address, ())
        names = (definition.name, *(name for name in names if name != definition.name))
        offset = definition.address - linkage.image.base
        return Reached(definition.address, names, self.file_of(linkage), self.layers[linkage], offset)


def makes_code_writable(one: Linkage) -> bool:
    """Of others: an interpreter of Python does so with code that it has made itself, since 3.12."""
    return bool(one.symbols.undefined(PATCHING)) and not one.symbols.exported(frozenset((RUNTIME,)))


@lru_cache(maxsize=4)  # the next snapshot is of the same objects, but for one
def by_address(names: frozenset[str], objects: tuple[Linkage, ...]) -> dict[int, tuple[str, ...]]:
    found: dict[int, tuple[str, ...]] = {}
    for one in objects:
        for name, definitions in one.symbols.defined(names).items():
            for address in dict.fromkeys(d.address for d in definitions):
                found[address] = (*found.get(address, ()), name)
    return found

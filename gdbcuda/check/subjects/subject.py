"""What the checks look at: the files, and what several checks want to know about them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

from gdbcuda import api, elf
from gdbcuda.check.subjects.uses import Uses
from gdbcuda.elf.dwarf.compile_units import Unit
from gdbcuda.elf.dwarf.function_names import TooMuch, defined_functions

# In this order things are named: what a hook library is mostly made for comes first.
IMPORTANT_ROLES = ("alloc", "free", "copy", "launch")


class Subject:
    """``file`` is what the report is about: the hook library or the program; the other may be None. ``maps``: rules of
    gdb's for sources, (directory in the debug info, directory here)."""

    def __init__(
        self,
        file: elf.Elf,
        library: elf.Elf | None,
        program: elf.Elf | None,
        table: api.Table,
        root: elf.Root,
        maps: tuple[tuple[str, str], ...] = (),
    ) -> None:
        self.file = file
        self.table = table
        self.root = root
        self.maps = maps
        self._library = library
        self._program = program

    @property
    def library(self) -> elf.Elf:
        """The hook library; asked for only by checks that are run when there is one."""
        assert self._library is not None
        return self._library

    @property
    def program(self) -> elf.Elf:
        assert self._program is not None
        return self._program

    @property
    def has_program(self) -> bool:
        return self._program is not None

    @cached_property
    def uses(self) -> Uses:
        """What of CUDA the program uses, and how."""
        return Uses(self.program, self.root, self.table)

    @cached_property
    def libraries(self) -> elf.Libraries:
        """What the file under check needs."""
        return elf.Libraries(self.file, self.root)

    @cached_property
    def libc(self) -> elf.Elf | None:
        """The C library that the hook library meets; its 3,000 symbols are read once."""
        return self.libraries.found.get("libc.so.6") or self.root.find("libc.so.6", self.library)

    # debug info

    @cached_property
    def debug_file(self) -> elf.Elf | None:
        """The separate debug file, if gdb would find it and take it."""
        return next(elf.debug_files(self.file, self.root.directory), None)

    @cached_property
    def units(self) -> list[Unit]:
        """The compilation units of the debug info, wherever it is."""
        return list((self.with_debug_info or self.file).dwarf.units())

    @property
    def with_debug_info(self) -> elf.Elf | None:
        """The file that holds the debug info; None without any."""
        for file in (self.file, self.debug_file):
            if file and ".debug_info" in file.dwarf.sections:
                return file
        return None

    # API functions of the hook library

    @cached_property
    def hooked(self) -> Mapping[str, api.Function]:
        """API functions that the hook library exports."""
        return self._of_api(self.library.exported)

    @cached_property
    def in_order(self) -> list[str]:
        """The exported API functions, the important ones first."""
        return important_first(self.hooked)

    @cached_property
    def variants(self) -> Mapping[str, list[str]]:
        """Base name -> all symbols of that function in the table."""
        found: dict[str, list[str]] = {}
        for symbol in self.table.functions:
            found.setdefault(api.base_name(symbol), []).append(symbol)
        return found

    @cached_property
    def not_hooked(self) -> Mapping[str, api.Function]:
        """Of the APIs that it hooks something of: what programs compiled today call, and no variant is hooked."""
        apis = {function.api for function in self.hooked.values()}
        bases = {api.base_name(symbol) for symbol in self.hooked}
        return {
            symbol: function
            for base, symbols in self.variants.items()
            if base not in bases
            and (symbol := self.table.source_symbol(base)) in symbols
            and (function := self.table.functions[symbol]).api in apis
        }

    @cached_property
    def hidden(self) -> Mapping[str, api.Function]:
        """API functions that it defines and nobody finds by name; {} also where that cannot be known."""
        names = self._defined_names or ()
        return {name: f for name, f in self._of_api(names).items() if name not in self.hooked}

    @cached_property
    def hidden_is_known(self) -> bool:
        return self._defined_names is not None

    @cached_property
    def answers_unknown(self) -> str:
        """Why the names of its functions do not tell what its dlsym answers with; "" where they do."""
        if not self.hidden_is_known:
            return "it is stripped"
        return "" if self.hooked or self.hidden else "its functions have other names"

    @cached_property
    def defined(self) -> frozenset[str]:
        """Names of the functions that the hook library defines, exported or not, as far as can be known."""
        return frozenset(self.library.exported) | (self._defined_names or frozenset())

    @cached_property
    def functions(self) -> Mapping[int, elf.Symbol]:
        """The hook library's functions by address, hidden ones too where it is not stripped."""
        library = self.library
        found = {symbol.value: symbol for symbol in library.exported.values() if symbol.is_function}
        return {symbol.value: symbol for symbol in library.symtab.defined() if symbol.is_function} | found

    def function_called(self, address: int) -> elf.Symbol | None:
        """The hook library's function there; or its own that a PLT entry there leads to, as to any exported one."""
        name = None if address in self.functions else self.library.code.stub_name(address)
        own = self.library.exported.get(name) if name else None
        return own if own is not None and own.is_function else self.functions.get(address)

    def _of_api(self, names: object) -> Mapping[str, api.Function]:
        assert hasattr(names, "__iter__")
        return {name: self.table.functions[name] for name in names if name in self.table.functions}

    @cached_property
    def _defined_names(self) -> frozenset[str] | None:
        return self._names_of(self.library)

    @cached_property
    def program_functions(self) -> frozenset[str] | None:
        """Names of the functions that the program defines; None where those that it does not export are gone."""
        return self._names_of(self.program)

    def _names_of(self, file: elf.Elf) -> frozenset[str] | None:
        """From .symtab of the file or of its debug file, else from the debug info; None where hidden ones are gone."""
        debug_file = self.debug_file if file is self.file else next(elf.debug_files(file, self.root.directory), None)
        return _names_in(file) or (_names_in(debug_file) if debug_file else None)


def _names_in(file: elf.Elf) -> frozenset[str] | None:
    if file.symtab.has_local_functions:
        return frozenset(symbol.name for symbol in file.symtab.defined() if symbol.is_function)
    if ".debug_info" not in file.dwarf.sections:
        return None
    try:
        return frozenset(defined_functions(file.dwarf))
    except TooMuch:
        return None


def important_first(functions: Mapping[str, api.Function]) -> list[str]:
    """Symbols, those that allocate, free, copy and launch first, and the plainest, with short names, before others."""

    def rank(symbol: str) -> tuple[int, int, str]:
        role = functions[symbol].role
        place = IMPORTANT_ROLES.index(role) if role in IMPORTANT_ROLES else len(IMPORTANT_ROLES)
        return place, len(symbol), symbol

    return sorted(functions, key=rank)

"""The table of one CUDA version and one NVML version, over the generated table.json.

The file holds, for "cuda" and for "nvml", sections of {name: text}, or {name: {"VERSION VERSION": text}}
where the versions differ:
  functions (sections named after the API, see `FUNCTION_SECTIONS`)  "RESULT;NAME TYPE;NAME TYPE"
  types      "typedef TYPE", for "enum TAG" "UNDERLYING;NAME VALUE;…", for "struct TAG" and "union TAG"
             "SIZE ALIGN;OFFSET NAME TYPE;OFFSET.BIT.WIDTH NAME TYPE", "" for an opaque one; a record
             without a tag is called after its place, "struct CUDA_RESOURCE_DESC_st.res.array"
  constants  macros: "VALUE" or, for a special handle, "VALUE TYPE"
  aliases    names in source code that a macro turns into another symbol
  proc       what cuGetProcAddress knows: "VERSION[STREAM] SYMBOL;…"
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from functools import cached_property
from typing import Any, Callable, Generic, NamedTuple, TypeVar

from gdbcuda.api.functions import Function, base_name, suffix_order
from gdbcuda.api.notes import ApiNotes
from gdbcuda.api.spelling import Types
from gdbcuda.api.types import Enum, Type
from gdbcuda.errors import UserError

# section -> the API it belongs to
FUNCTION_SECTIONS = {"driver": "driver", "runtime": "runtime", "nvml": "nvml"}
EXTRA_SECTIONS = {"driver-interop": "driver", "runtime-interop": "runtime", "runtime-startup": "runtime"}
STATUS_TYPES = {"driver": "CUresult", "runtime": "cudaError_t", "nvml": "nvmlReturn_t"}
CUDA_4 = 4000
PER_THREAD_STREAM = 2  # CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM

Texts = Mapping[str, str]
T = TypeVar("T")


class ProcVersion(NamedTuple):
    """From this driver version on (11030 is 11.3), for this kind of default stream, that symbol."""

    version: int
    stream: str
    symbol: str


class Lazy(Mapping[str, T], Generic[T]):
    """A mapping that builds each value when it is first asked for."""

    def __init__(self, texts: Texts, build: Callable[[str, str], T]) -> None:
        self._texts, self._build = texts, build
        self._built: dict[str, T] = {}

    def __getitem__(self, name: str) -> T:
        if name not in self._built:
            self._built[name] = self._build(name, self._texts[name])
        return self._built[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._texts)

    def __len__(self) -> int:
        return len(self._texts)

    def __contains__(self, name: object) -> bool:
        return name in self._texts


class Table:
    """Everything that is known about one CUDA and one NVML version. Make it with `api.load`.

    ``older``: of each library the versions whose functions are known as well, the newest first; a function or type that
    several have is the newest one's."""

    def __init__(self, data: Mapping[str, Any], cuda: str, nvml: str, notes: ApiNotes,
                 older: Mapping[str, Sequence[str]] | None = None) -> None:  # fmt: skip
        self.cuda, self.nvml = cuda, nvml
        self._data, self._notes, self._older = data, notes, older or {}
        self.types = Types({**self._with_older("types", "cuda"), **self._with_older("types", "nvml")})
        self.functions: Mapping[str, Function] = self._functions(FUNCTION_SECTIONS)
        # OpenGL, EGL and VDPAU interop, and what nvcc's start-up code calls (__cudaRegisterFatBinary …)
        self.extras: Mapping[str, Function] = self._functions(EXTRA_SECTIONS)

    def section(self, name: str, library: str) -> dict[str, str]:
        """The texts of the chosen version; empty where the library has no such section."""
        return self._section(name, library, self.cuda if library == "cuda" else self.nvml)

    def _with_older(self, name: str, library: str) -> dict[str, str]:
        found = self.section(name, library)
        for version in self._older.get(library, ()):
            found = {**self._section(name, library, version), **found}
        return found

    def _section(self, name: str, library: str, version: str) -> dict[str, str]:
        entries: Mapping[str, Any] = self._data[library].get(name, {})
        found = {}
        for key, text in entries.items():
            if not isinstance(text, str):
                text = next((t for versions, t in text.items() if version in versions.split()), None)
            if text is not None:
                found[key] = text
        return found

    def _functions(self, sections: Mapping[str, str]) -> Lazy[Function]:
        texts, apis = {}, {}
        for section, api in sections.items():
            entries = self._with_older(section, "nvml" if api == "nvml" else "cuda")
            texts.update(entries)
            apis.update(dict.fromkeys(entries, api))
        return Lazy(texts, lambda symbol, text: Function(symbol, apis[symbol], text, self.types, self._notes))

    @cached_property
    def symbols(self) -> frozenset[str]:
        """Of all functions, the extras included."""
        return frozenset(self.functions) | frozenset(self.extras)

    # -- functions -----------------------------------------------------------------------------------------

    def function(self, symbol: str) -> Function | None:
        """The function of exactly that ELF symbol, the extras included."""
        return self.functions.get(symbol) or self.extras.get(symbol)

    def of_role(self, role: str) -> list[Function]:
        """The functions, without the extras, that are about that."""
        may_have = self._notes.who_may_have(role)
        found = (self.functions[symbol] for symbol in self.functions if may_have(symbol, base_name(symbol)))
        return [one for one in found if one.role == role]

    def find(self, pattern: str, *, prefix: bool = False) -> list[Function]:
        """An exact suffixed symbol gives that one; a base name all its variants, the one without suffix
        first; a glob, or with `prefix` the beginning of a name, all that match."""
        if not pattern and not prefix:
            return []
        if prefix:
            matches = [symbol for symbol in self._symbols() if symbol.startswith(pattern)]
        elif set(pattern) & set("*?["):
            matches = [symbol for symbol in self._symbols() if fnmatchcase(symbol, pattern)]
        elif base_name(pattern) == pattern:
            matches = self._variants.get(pattern, [])
        else:
            matches = [pattern]
        found = (self.function(symbol) for symbol in sorted(matches, key=suffix_order))
        return [function for function in found if function is not None]

    @cached_property
    def _variants(self) -> dict[str, list[str]]:
        """Base name -> its symbols."""
        found: dict[str, list[str]] = {}
        for symbol in self._symbols():
            found.setdefault(base_name(symbol), []).append(symbol)
        return found

    def _symbols(self) -> Iterator[str]:
        yield from self.functions
        yield from self.extras

    def nearest(self, name: str, count: int = 3) -> list[str]:
        """Names that look like this one, best first, for "did you mean": base names, or full symbols if
        this one has a suffix."""
        from difflib import get_close_matches  # slow to import and rarely wanted

        spell = base_name if base_name(name) == name else str
        by_lower = {spell(symbol).lower(): spell(symbol) for symbol in self._symbols()}
        return [by_lower[match] for match in get_close_matches(name.lower(), list(by_lower), count, 0.6)]

    def source_symbol(self, name: str) -> str:
        """What a name in a program's source becomes in its ELF symbols: cuMemAlloc -> cuMemAlloc_v2."""
        return self._aliases.get(name, name)

    @cached_property
    def _aliases(self) -> Texts:
        return {**self.section("aliases", "cuda"), **self.section("aliases", "nvml")}

    # -- cuGetProcAddress ----------------------------------------------------------------------------------

    @cached_property
    def _proc(self) -> Texts:
        return self.section("proc", "cuda")

    def proc_versions(self, name: str) -> tuple[ProcVersion, ...]:
        """All that cuGetProcAddress can answer for the name, oldest first; () for an unknown name."""
        text = self._proc.get(name, "")
        return tuple(map(proc_version, text.split(";"))) if text else ()

    def proc_address(self, name: str, version: int, flags: int = 0) -> str | None:
        """The symbol that cuGetProcAddress gives a caller built for that version (11030 is 11.3): the
        newest entry that is not newer. Flag bit 1 asks for per-thread streams; a name that knows them
        then answers with one of those or not at all (measured on driver 580).
        Not the table's business: a driver refuses versions above its own."""
        known = self.proc_versions(name)
        per_thread = bool(flags & PER_THREAD_STREAM) and any(entry.stream for entry in known)
        entries = [e for e in known if e.version <= version and bool(e.stream) == per_thread]
        return max(entries).symbol if entries else None

    def is_ancient(self, symbol: str) -> bool:
        """Replaced by CUDA 4, where device addresses became 64 bits. The bare name of most of these has become
        another symbol's in C: only who asks dlsym for it gets it."""
        known = self.proc_versions(symbol)
        return symbol in (one.symbol for one in known) and any(
            one.symbol != symbol and not one.stream and one.version <= CUDA_4 for one in known
        )

    # -- types and constants -------------------------------------------------------------------------------

    def type(self, spelling: str) -> Type:
        """The type of a C spelling ("const CUdeviceptr *"); UserError if it names none of the API's."""
        found = self.types.get(spelling)
        if found is None:
            raise UserError(f"{spelling!r} is no type of the CUDA or NVML API")
        return found

    def struct(self, name: str) -> Type | None:
        found = self.types.get(name)
        return found if found is not None and found.kind in ("struct", "union") else None

    def enum(self, name: str) -> Enum | None:
        found = self.types.get(name)
        return found.enum if found is not None else None

    @cached_property
    def constants(self) -> Mapping[str, int]:
        """Enum constants and integer macros, special handles (cudaStreamPerThread) included."""
        found: dict[str, int] = {}
        for spelling in self.types.texts:
            if spelling.startswith("enum "):
                enum = self.types[spelling].enum
                found.update(enum.values if enum else {})
        for library in ("cuda", "nvml"):
            for name, text in self.section("constants", library).items():
                found[name] = int(text.partition(" ")[0])
        return found

    def constant(self, name: str) -> int | None:
        return self.constants.get(name)

    def flags(self, description: str) -> Enum | None:
        """The constants that `Parameter.flags` names, "A|B": an enum each, or all constants that begin so.
        None if this version has none of them."""
        values: dict[str, int] = {}
        for name in description.split("|"):
            enum = self.enum(name)
            values.update(enum.values if enum else self._constants_from(name))
        return Enum(description, values) if values else None

    def _constants_from(self, prefix: str) -> dict[str, int]:
        return {name: value for name, value in self.constants.items() if name.startswith(prefix)}

    def error_name(self, api: str, code: int) -> str | None:
        """The status constant of "driver", "runtime" or "nvml" with that value."""
        status = self.enum(STATUS_TYPES[api])
        return status.name_of(code) if status else None


def proc_version(text: str) -> ProcVersion:
    number, _, symbol = text.partition(" ")
    digits = number.rstrip("ptsdz")
    return ProcVersion(int(digits), number[len(digits) :], symbol)

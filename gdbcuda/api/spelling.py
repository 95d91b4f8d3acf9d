"""From a C spelling ("const CUdeviceptr *", "char[256]") to its `Type`, over the texts of the table."""

from __future__ import annotations

import re
from collections.abc import Mapping

from gdbcuda.api.types import Enum, Type

# name -> (kind, size); alignment equals size for all of them
BASE_TYPES: Mapping[str, tuple[str, int]] = {
    "void": ("void", 0),
    "_Bool": ("bool", 1),
    "bool": ("bool", 1),
    "char": ("char", 1),
    "signed char": ("int", 1),
    "unsigned char": ("uint", 1),
    "short": ("int", 2),
    "unsigned short": ("uint", 2),
    "int": ("int", 4),
    "unsigned int": ("uint", 4),
    "unsigned": ("uint", 4),
    "long": ("int", 8),
    "unsigned long": ("uint", 8),
    "long long": ("int", 8),
    "unsigned long long": ("uint", 8),
    "float": ("float", 4),
    "double": ("float", 8),
    "size_t": ("uint", 8),
    "uintptr_t": ("uint", 8),
    "intptr_t": ("int", 8),
    **{f"int{bits}_t": ("int", bits // 8) for bits in (8, 16, 32, 64)},
    **{f"uint{bits}_t": ("uint", bits // 8) for bits in (8, 16, 32, 64)},
}
POINTER_SIZE = 8


class Types:
    """All types of one version, by C spelling; the same spelling gives the same object."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        self.texts = texts
        self._built: dict[str, Type] = {}

    def __getitem__(self, spelling: str) -> Type:
        """KeyError if the spelling names no type of the API."""
        found = self.get(spelling)
        if found is None:
            raise KeyError(spelling)
        return found

    def __contains__(self, spelling: str) -> bool:
        return self.get(spelling) is not None

    def get(self, spelling: str) -> Type | None:
        found = self._built.get(spelling)
        if found is None:
            found = self._build(spelling)
            if found is not None:
                self._built[spelling] = found
        return found

    def _build(self, spelling: str) -> Type | None:
        canonical = normalise(spelling)
        if canonical != spelling:
            return self.get(canonical)
        if spelling.endswith("*const"):
            return self._pointer(spelling, spelling[: -len("*const")], const=True)
        if spelling.endswith("*"):
            return self._pointer(spelling, spelling[:-1])
        if spelling.endswith("]"):
            return self._array(spelling)
        if spelling.endswith(")"):
            return self._function(spelling)
        if spelling.startswith("const "):
            return self._derived(spelling, spelling[len("const ") :], const=True)
        return self._named(spelling)

    def _pointer(self, spelling: str, target: str, const: bool = False) -> Type | None:
        if self.get(target.strip()) is None:
            return None
        return Type(self, spelling, "pointer", POINTER_SIZE, POINTER_SIZE, const=const, target=target.strip())

    def _array(self, spelling: str) -> Type | None:
        head, _, rest = spelling.partition("[")
        count, _, inner = rest.partition("]")
        element = self.get(head + inner)
        if element is None or not count.isdigit():
            return None
        size = int(count) * element.size
        return Type(self, spelling, "array", size, element.align, target=head + inner, count=int(count))

    def _function(self, spelling: str) -> Type | None:
        pointer = " (*)("
        if pointer in spelling:
            return self._pointer(spelling, spelling.replace(pointer, " (", 1))
        result, _, arguments = spelling[:-1].partition(" (")
        if self.get(result) is None:
            return None
        parameters = tuple(arguments.split(", ")) if arguments != "void" else ()
        return Type(self, spelling, "function", target=result, parameters=parameters)

    def _named(self, spelling: str) -> Type | None:
        if spelling in BASE_TYPES:
            kind, size = BASE_TYPES[spelling]
            return Type(self, spelling, kind, size, size or 1)
        text = self.texts.get(spelling)
        if text is None:
            return self._tagless(spelling)
        if text.startswith("typedef "):
            return self._derived(spelling, text[len("typedef ") :])
        keyword, _, name = spelling.partition(" ")
        return self._enum(spelling, name, text) if keyword == "enum" else self._record(spelling, keyword, text)

    def _tagless(self, spelling: str) -> Type | None:
        """People write cudaDeviceProp where C wants struct cudaDeviceProp."""
        for keyword in ("struct", "enum", "union"):
            if f"{keyword} {spelling}" in self.texts:
                return self.get(f"{keyword} {spelling}")
        return None

    def _enum(self, spelling: str, name: str, text: str) -> Type:
        underlying, *constants = text.split(";")
        values = {constant: int(value) for constant, value in (entry.split(" ") for entry in constants)}
        size = self[underlying].size
        return Type(self, spelling, "enum", size, size, target=underlying, enum=Enum(name, values))

    def _record(self, spelling: str, kind: str, text: str) -> Type:
        layout, _, members = text.partition(";")
        size, align = [int(number) for number in layout.split(" ")] if layout else (0, 1)
        return Type(self, spelling, kind, size, align, members=members)

    def _derived(self, spelling: str, behind: str, const: bool = False) -> Type | None:
        """A typedef or a const version of another type: its own name, everything else the same."""
        base = self.get(behind)
        if base is None:
            return None
        return Type(
            self, spelling, base.kind, base.size, base.align, const=const or base.const, target=base._target,
            count=base.count, enum=base.enum, members=base._members, parameters=base.parameters,
        )  # fmt: skip


def normalise(spelling: str) -> str:
    """The spelling that the table uses: one space before the first star, none elsewhere."""
    spelling = " ".join(spelling.split())
    spelling = re.sub(r"\s*\*\s*(?=\*|const\b|$)", "*", spelling)
    spelling = re.sub(r"\s*([\[\]])\s*", r"\1", spelling)
    spelling = re.sub(r"^(.*?)\b(\w+) const(?=$|\s*\*)", r"const \1\2", spelling)
    return re.sub(r"(?<=[\w\)\]])\*", " *", spelling)

"""A C11 header of the API, written from the table: what the shim and the samples are compiled with.

Usage: python3 -m gdbcuda.api.header [--cuda 13.0] [--nvml 13.5] [--api driver,runtime,nvml] [-o FILE]

Types with their exact layout, enums, constants and the prototype of every symbol, suffixed ones included.
A program that defines GDBCUDA_API_SOURCE_NAMES first gets the vendor's aliases as well, by which
cuMemAlloc in its source becomes cuMemAlloc_v2.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence

from gdbcuda.api.functions import declare
from gdbcuda.api.spelling import BASE_TYPES
from gdbcuda.api.table import FUNCTION_SECTIONS, Table
from gdbcuda.api.types import Field, Type
from gdbcuda.api.versions import load
from gdbcuda.errors import UserError

LIBRARY_OF = {"driver": "cuda", "runtime": "cuda", "nvml": "nvml"}
WORD = re.compile(r"(?:(?:struct|union|enum) )?[\w.]+")
TOP = """\
/* CUDA {cuda} and NVML {nvml}, written by `python3 -m gdbcuda.api.header`. Do not edit. */
#ifndef GDBCUDA_API_H
#define GDBCUDA_API_H
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {{
#endif
"""
BOTTOM = """\
#ifdef __cplusplus
}
#endif
#endif
"""


def header(table: Table, apis: Sequence[str] = tuple(FUNCTION_SECTIONS)) -> str:
    """The text of the header for those of "driver", "runtime" and "nvml"."""
    libraries = sorted({LIBRARY_OF[api] for api in apis})
    functions = [f for f in (*table.functions.values(), *table.extras.values()) if f.api in apis]
    lines = [TOP.format(cuda=table.cuda, nvml=table.nvml)]
    for library in libraries:
        lines += TypeWriter(table, table.section("types", library)).lines()
        lines += constants(table.section("constants", library))
    lines += [f"{function};" for function in functions]
    for library in libraries:
        lines += aliases(table.section("aliases", library))
    return "\n".join([*lines, BOTTOM])


def constants(texts: Mapping[str, str]) -> Iterator[str]:
    for name, text in texts.items():
        value, _, spelling = text.partition(" ")
        yield f"#define {name} " + (f"(({spelling}){value})" if spelling else literal(int(value)))


def literal(value: int) -> str:
    suffix = "" if -(1 << 31) <= value < 1 << 31 else "u" if 0 <= value < 1 << 32 else "ull" if value > 0 else "ll"
    return f"({value}{suffix})" if value < 0 else f"{value}{suffix}"


def aliases(symbols: Mapping[str, str]) -> list[str]:
    lines = [f"#define {name} {symbol}" for name, symbol in symbols.items()]
    return ["#ifdef GDBCUDA_API_SOURCE_NAMES", *lines, "#endif"]


class TypeWriter:
    """Puts the declarations of one library in an order that C accepts."""

    def __init__(self, table: Table, texts: Mapping[str, str]) -> None:
        self.table = table
        self.texts = texts
        self.written: set[str] = set()
        self.output: list[str] = []

    def lines(self) -> list[str]:
        named = [key for key in self.texts if "." not in key]
        self.output += [f"{key};" for key in named if key.startswith(("struct ", "union "))]
        for key in sorted(named, key=lambda key: not key.startswith("enum ")):
            self.write(key)
        return self.output

    def write(self, key: str) -> None:
        """One typedef, enum, struct or union, after everything that it needs."""
        if key in self.written or key not in self.texts:
            return
        self.written.add(key)
        text = self.texts[key]
        if text.startswith("typedef "):
            self.write_typedef(key, text[len("typedef ") :])
        elif key.startswith("enum "):
            values = ", ".join(f"{n} = {literal(v)}" for n, v in self.enum_values(key))
            self.output.append(f"{key} {{ {values} }};")
        elif text:
            self.write_record(key)

    def enum_values(self, key: str) -> Iterable[tuple[str, int]]:
        enum = self.table.type(key).enum
        return enum.values.items() if enum else ()

    def write_typedef(self, name: str, spelling: str) -> None:
        self.write_names(spelling)
        function = re.match(r"([^()]+) \(([^*].*)\)$", spelling)
        declaration = f"{function[1]} {name}({function[2]})" if function else declare(spelling, name)
        self.output.append(f"typedef {declaration};")

    def write_names(self, spelling: str) -> None:
        """The typedefs in a spelling; tags have been declared before all else."""
        for word in WORD.findall(spelling):
            if " " not in word and word not in BASE_TYPES:
                self.write(word)

    def write_record(self, key: str) -> None:
        record = self.table.type(key)
        self.write_needed(record)
        self.output.append(f"{self.body(key, record)};")

    def write_needed(self, record: Type) -> None:
        """What the members of a struct or union need to be complete."""
        for field in record.fields:
            self.write_names(field.type.spelling)
            held = innermost(field.type)
            if held.kind in ("struct", "union"):
                self.write_needed(held) if is_nested(held) else self.write(self.tag_of(held))

    def tag_of(self, record: Type) -> str:
        """ "struct TAG" of a type that may be spelled by one of its typedefs."""
        spelling = record.spelling.replace("const ", "")
        while not spelling.startswith(("struct ", "union ")):
            spelling = self.texts[spelling][len("typedef ") :].replace("const ", "")
        return spelling

    def body(self, head: str, record: Type) -> str:
        natural = max((field.type.align for field in record.fields), default=1)
        keyword, _, tag = head.partition(" ")
        if record.align > natural:
            keyword += f" __attribute__((aligned({record.align})))"
        members = " ".join(f"{self.member(field)};" for field in record.fields)
        return f"{keyword} {tag}{' ' if tag else ''}{{ {members} }}"

    def member(self, field: Field) -> str:
        held = innermost(field.type)
        spelling = field.type.spelling
        if is_nested(held):
            dimensions = field.type.spelling[len(held.spelling) :]
            return f"{self.body(held.kind, held)} {field.name}{dimensions}".rstrip()
        if field.bit_width is not None:
            return f"{spelling} {field.name} : {field.bit_width}"
        return declare(spelling, field.name)


def innermost(ctype: Type) -> Type:
    while ctype.kind == "array" and ctype.target is not None:
        ctype = ctype.target
    return ctype


def is_nested(record: Type) -> bool:
    """Whether it has no tag and can only be written inside the record that it is part of."""
    return "." in record.spelling and record.kind in ("struct", "union")


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python3 -m gdbcuda.api.header", description=__doc__.split("\n")[0])
    parser.add_argument("--cuda", metavar="VERSION", help="CUDA version, the newest by default")
    parser.add_argument("--nvml", metavar="VERSION", help="NVML version, the newest by default")
    parser.add_argument("--api", default=",".join(FUNCTION_SECTIONS), help="which APIs (%(default)s)")
    parser.add_argument("-o", "--output", metavar="FILE", help="standard output by default")
    options = parser.parse_args(arguments)
    try:
        text = header(load(options.cuda, options.nvml), chosen_apis(options.api))
    except UserError as problem:
        parser.error(str(problem))
    if options.output:
        with open(options.output, "w", encoding="ascii") as file:
            file.write(text)
    else:
        sys.stdout.write(text)
    return 0


def chosen_apis(text: str) -> list[str]:
    apis = [api.strip() for api in text.split(",")]
    for api in apis:
        if api not in LIBRARY_OF:
            raise UserError(f"no API is called {api!r}: choose from {', '.join(LIBRARY_OF)}")
    return apis


if __name__ == "__main__":
    raise SystemExit(main())

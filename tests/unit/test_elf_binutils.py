"""Symbols, sections, versions and needed libraries are what readelf and nm print."""

from __future__ import annotations

import re
import subprocess
import sysconfig
from pathlib import Path

import pytest
from elf_build import compiled, tool

from gdbcuda import elf
from gdbcuda.elf.symbols import SymbolTable

_SYMBOL = re.compile(r"^\s*\d+: ([0-9a-f]+)\s+(\w+) (\w+)\s+(\w+)\s+(\w+)(?:\s+\[.*?\])?\s+(\w+) ?(.*)$", re.M)
_SECTION = re.compile(r"^\s*\[\s*\d+\] (\S*)\s+([A-Z]\S*)\s+([0-9a-f]+) ([0-9a-f]+) ([0-9a-f]+) ", re.M)
_PLACES = {"UND": 0, "ABS": 0xFFF1, "COM": 0xFFF2}


def system_libraries() -> list[Path]:
    """libc, libstdc++ and every libpython that can be found."""
    found = [_of_compiler("libc.so.6"), _of_compiler("libstdc++.so.6")]
    folders = [Path(sysconfig.get_config_var("LIBDIR") or "/usr/lib"), found[0].parent]
    pythons = [path for folder in folders for path in sorted(folder.glob("libpython3*.so.1.0"))]
    return [*found, *pythons]


def _of_compiler(name: str) -> Path:
    return Path(subprocess.check_output(["gcc", f"-print-file-name={name}"], text=True).strip()).resolve()


def assert_same_as_binutils(path: Path) -> None:
    file = elf.open(path)
    assert _sections(file) == _sections_of_readelf(path)
    assert _symbols(file.dynamic_symbols) == _symbols_of_readelf(path, ".dynsym")
    assert _symbols(file.symtab) == _symbols_of_readelf(path, ".symtab")
    dynamic = tool("readelf", "-W", "-d", path)
    assert list(file.needed) == re.findall(r"\(NEEDED\).*\[(.*)\]", dynamic)
    assert file.soname == "".join(re.findall(r"\(SONAME\).*\[(.*)\]", dynamic))
    versions = tool("readelf", "-W", "-V", path)
    needed = [need.version for need in file.versions.needed]
    assert needed == re.findall(r"^  (?:0x)?[0-9a-f]+:   Name: (\S+)", versions, re.M)
    ids = re.findall(r"Build ID: ([0-9a-f]+)", tool("readelf", "-n", path))
    assert file.build_id == (ids[0] if ids else None)
    assert_same_as_nm(file, path)


def assert_same_as_nm(file: elf.Elf, path: Path) -> None:
    lines = [line.split() for line in tool("nm", "-D", path).splitlines()]
    assert set(file.exported) == {line[2].partition("@")[0] for line in lines if len(line) == 3}
    assert set(file.undefined) == {line[1].partition("@")[0] for line in lines if len(line) == 2}


def _sections(file: elf.Elf) -> list[tuple[str, int, int, int]]:
    return [(section.name, section.address, section.offset, section.size) for section in file.sections]


def _sections_of_readelf(path: Path) -> list[tuple[str, int, int, int]]:
    found = _SECTION.findall(tool("readelf", "-W", "-S", path))
    return [("" if name == "NULL" else name, *(int(n, 16) for n in (a, o, s))) for name, _, a, o, s in found]


def _symbols(table: SymbolTable) -> list[tuple[object, ...]]:
    return [
        (s.value, s.size, s.type, s.binding, s.visibility, s.section, *_shown(s.type, s.name, s.version)) for s in table
    ]


def _shown(kind: str, name: str, version: str) -> tuple[str, str]:
    """readelf names sections in another way, and leaves the version off the symbol that stands for it."""
    return "" if kind == "SECTION" else name, "" if version == name else version


def _symbols_of_readelf(path: Path, table: str) -> list[tuple[object, ...]]:
    output = tool("readelf", "-W", "-s", path)
    tables = re.split(r"^Symbol table '(\S+)'.*$", output, flags=re.M)[1:]
    text = dict(zip(tables[::2], tables[1::2])).get(table, "")
    return [_parsed(match) for match in _SYMBOL.findall(text)]


def _parsed(match: tuple[str, ...]) -> tuple[object, ...]:
    value, size, kind, binding, visibility, place, rest = match
    name, _, version = rest.strip().replace("@@", "@").partition("@")
    section = _PLACES[place] if place in _PLACES else int(place)
    shown = _shown(kind, name, version.partition(" ")[0])
    return (int(value, 16), int(size, 0), kind, binding, visibility, section, *shown)


@pytest.mark.parametrize("path", system_libraries(), ids=lambda path: path.name)
def test_system_libraries(path: Path) -> None:
    assert_same_as_binutils(path)


def test_every_library_of_the_shim(shim: Path) -> None:
    files = [path for path in shim.rglob("*.so*") if path.is_file() and not path.is_symlink()]
    libraries = sorted(path for path in files if path.read_bytes()[:4] == b"\x7fELF")
    assert libraries
    # those that are wrong in what they do, a hundred of one C file each, are built alike: one of each group
    for library in {path.parent if path.parent.parent.name == "wrong" else path: path for path in libraries}.values():
        assert_same_as_binutils(library)


_SOURCE = """
__attribute__((visibility("hidden"))) int hidden(void) { return 1; }
static int local(void) { return 2; }
int first(void) { return hidden() + local(); }
int second(void) { return 3; }
__asm__(".symver first, api@V1\\n.symver second, api@@V2");
__thread int each; int common[4]; extern int missing(void); int (*pointer)(void) = missing;
"""


@pytest.fixture(scope="module")
def versioned(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("versioned")
    (folder / "map").write_text("V1 { global: api; };\nV2 { global: api; } V1;\n")
    return compiled(folder, _SOURCE, "-Wl,--version-script=map", "-Wl,-soname,libv.so.1", "-Wl,-rpath,/somewhere")


def test_versions_defined_and_chosen(versioned: Path) -> None:
    assert_same_as_binutils(versioned)
    file = elf.open(versioned)
    assert file.exported["api"].version == "V2"
    assert [name for _, name in file.versions.defined] == ["V1", "V2"]
    assert file.dynamic.texts("DT_RUNPATH") == ("/somewhere",)


def test_without_section_headers_the_loaders_view_stays(versioned: Path, tmp_path: Path) -> None:
    data = bytearray(versioned.read_bytes())
    data[0x28:0x30] = bytes(8)  # e_shoff
    data[0x3C:0x40] = bytes(4)  # e_shnum, e_shstrndx
    stripped = elf.open(bytes(data))
    whole = elf.open(versioned)
    assert stripped.sections == ()
    assert dict(stripped.exported) == dict(whole.exported)
    assert stripped.build_id == whole.build_id


def test_hash_table_of_the_old_kind_counts_too(tmp_path: Path) -> None:
    data = bytearray(
        compiled(tmp_path, "int first(void) { return 1; } int second;", "-Wl,--hash-style=sysv").read_bytes()
    )
    names = set(elf.open(bytes(data)).exported)
    data[0x28:0x30] = bytes(8)
    data[0x3C:0x40] = bytes(4)
    assert set(elf.open(bytes(data)).exported) == names == {"first", "second"}


def test_a_32_bit_object(tmp_path: Path) -> None:
    flags = ("-m32", "-c", "-nostdlib", "-ffreestanding")
    path = compiled(tmp_path, "int f(void) { return 1; }", *flags, name="a.o")
    file = elf.open(path)
    assert (file.machine, file.header.bits, file.kind) == ("i386", 32, "relocatable")
    assert _symbols(file.symtab) == _symbols_of_readelf(path, ".symtab")

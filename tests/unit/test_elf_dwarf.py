"""Units and functions of debug info are what readelf shows, in every form that gcc writes."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from elf_build import compiled, tool

from gdbcuda import elf
from gdbcuda.elf import separate
from gdbcuda.elf.dwarf import function_names, sections
from gdbcuda.elf.dwarf.function_names import TooMuch, defined_functions
from gdbcuda.errors import UserError

SOURCE = """
struct pair { int a; struct pair *next; };
static int local(struct pair *p) { return p->a; }
int cuInit(unsigned f) { struct pair p = { (int)f, 0 }; { int inner = 2; p.a += inner; } return local(&p); }
extern int declared(int);
void user(void) { declared(1); }
"""
_FORMS = [
    ("-gdwarf-2", "-gstrict-dwarf"), ("-gdwarf-3",), ("-gdwarf-4",), ("-gdwarf-5",), ("-gdwarf-5", "-gdwarf64"),
    ("-gdwarf-5", "-gz=zlib"), ("-gdwarf-4", "-gz=zlib-gnu"), ("-gdwarf-4", "-fdebug-types-section"), ("-g", "-O2"),
    ("-g", "-flto"),
]  # fmt: skip


def built(folder: Path, *flags: str) -> Path:
    try:
        return compiled(folder, SOURCE, *flags)
    except AssertionError as error:
        pytest.skip(f"this compiler: {error}")


def attributes(path: Path, name: str) -> list[str]:
    """The values of an attribute of all compilation units, as readelf reads them."""
    output = tool("readelf", "-W", "--debug-dump=info", "--dwarf-depth=1", path)
    units = output.split("DW_TAG_compile_unit")[1:]
    found = [re.search(rf"DW_AT_{name}\s*: (?:\(.*?\): )?(.*)", unit) for unit in units]
    return [match[1].strip() if match else "" for match in found]


def assert_units(path: Path) -> None:
    units = [unit for unit in elf.open(path).dwarf.units() if unit.tag == "compile_unit"]
    assert [unit.name for unit in units] == attributes(path, "name")
    assert [unit.directory for unit in units] == attributes(path, "comp_dir")
    assert [unit.producer for unit in units] == attributes(path, "producer")
    assert units


@pytest.mark.parametrize("flags", _FORMS, ids=" ".join)
def test_units(flags: tuple[str, ...], tmp_path: Path) -> None:
    assert_units(built(tmp_path, *flags))


@pytest.mark.parametrize("flags", _FORMS, ids=" ".join)
def test_defined_functions(flags: tuple[str, ...], tmp_path: Path) -> None:
    names = set(defined_functions(elf.open(built(tmp_path, *flags)).dwarf))
    assert {"cuInit", "user"} <= names <= {"cuInit", "user", "local"}
    assert "local" in names or "-O2" in flags or "-flto" in flags


def test_units_of_the_shim(shim: Path) -> None:
    assert_units(shim / "libgdbcuda-hook.so")


@pytest.mark.parametrize("version", ["-gdwarf-4", "-gdwarf-5"])
def test_a_unit_of_a_type_is_no_source_file(version: str, tmp_path: Path) -> None:
    path = built(tmp_path, version, "-fdebug-types-section")
    assert [unit.name for unit in elf.open(path).dwarf.units()] == ["hook.c"]


def test_pyelftools_reads_only_so_often(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = built(tmp_path, "-g")
    monkeypatch.setattr(sections, "MOST_READS", 100)
    with pytest.raises(TooMuch):
        list(defined_functions(elf.open(path).dwarf))
    monkeypatch.setattr(sections, "MOST_READS", 3)
    assert list(elf.open(path).dwarf.units()) == []


def test_a_file_that_shrinks_is_told_as_that(tmp_path: Path) -> None:
    path = built(tmp_path, "-g")
    dwarf = elf.open(path).dwarf
    path.write_bytes(path.read_bytes()[:4096])
    with pytest.raises(UserError, match="became shorter while it was read"):
        list(dwarf.units())


def test_only_so_many_entries_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = built(tmp_path, "-g")
    monkeypatch.setattr(function_names, "MOST_ENTRIES", 4)
    with pytest.raises(TooMuch):
        list(defined_functions(elf.open(path).dwarf))


def test_split_units_name_their_file(tmp_path: Path) -> None:
    for version in ("-gdwarf-4", "-gdwarf-5"):
        unit = next(elf.open(built(tmp_path / version, "-gsplit-dwarf", version)).dwarf.units())
        assert (Path(unit.directory) / unit.split).is_file()


def test_debug_link(tmp_path: Path) -> None:
    path = built(tmp_path, "-g")
    debug = tmp_path / "libhook.debug"
    subprocess.run(["objcopy", "--only-keep-debug", path, debug], check=True)
    subprocess.run(["objcopy", "--strip-debug", f"--add-gnu-debuglink={debug}", path], check=True)
    file, separated = elf.open(path), elf.open(debug)
    assert file.debuglink is not None
    assert file.debuglink.name == debug.name
    assert file.debuglink.crc == separate.crc(separated.source)
    assert str(debug) in separate.candidates(str(path), file.build_id, file.debuglink)
    assert separated.kind == "debug file"
    assert separated.build_id == file.build_id
    assert (list(separated.dynamic_symbols), separated.needed) == ([], ())

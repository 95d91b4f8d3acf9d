"""Lines of source by the debug info, as addr2line has them."""

from __future__ import annotations

import random
import shutil
import subprocess
from pathlib import Path

import pytest

from gdbcuda import elf
from gdbcuda.elf.dwarf.lines import source_lines

SOURCE = """\
int one(int a)
{
    return a + 1;
}
static inline int two(int a) { return one(a) * 2; }
int main(int count, char **words)
{
    (void)words;
    return two(count)
        + one(3);
}
"""


def built(folder: Path, *flags: str) -> Path:
    (folder / "a.c").write_text(SOURCE)
    subprocess.run(["gcc", *flags, "-g", "-o", "a", "a.c"], cwd=folder, check=True)
    return folder / "a"


def code(path: Path) -> list[int]:
    return [one.value + at for one in elf.open(path).symtab.defined() if one.name in ("one", "main")
            for at in range(one.size)]  # fmt: skip


@pytest.mark.skipif(shutil.which("addr2line") is None, reason="no addr2line")
@pytest.mark.parametrize("flags", [("-O0",), ("-O2",), ("-gdwarf-4",), ("-gdwarf-5", "-O1")], ids=" ".join)
def test_every_address_has_the_line_that_addr2line_says(tmp_path: Path, flags: tuple[str, ...]) -> None:
    path = built(tmp_path, *flags)
    wanted = code(path)
    line = ["addr2line", "-s", "-e", str(path), *map(hex, wanted)]
    said = subprocess.run(line, capture_output=True, text=True, check=True).stdout
    expected = [one.partition(" ")[0] for one in said.splitlines()]
    found = source_lines(elf.open(path).dwarf, wanted)
    assert len(wanted) > 5
    assert [str(found[at]) for at in wanted] == expected


def test_without_debug_info_there_is_none(tmp_path: Path) -> None:
    path = built(tmp_path)
    subprocess.run(["strip", "-g", str(path)], check=True)
    assert source_lines(elf.open(path).dwarf, code(path)) == {}


@pytest.mark.parametrize("seed", range(40))
def test_any_bytes_are_no_lines_or_some(tmp_path_factory: pytest.TempPathFactory, seed: int) -> None:
    path, dice = built(tmp_path_factory.getbasetemp()), random.Random(seed)
    raw, file = bytearray(path.read_bytes()), elf.open(path)
    places = [one for name in (".debug_line", ".debug_info", ".debug_line_str") if (one := file.section(name))]
    for _ in range(dice.choice((1, 5, 50))):
        section = dice.choice(places)
        raw[section.offset + dice.randrange(section.size)] = dice.randrange(256)
    assert isinstance(source_lines(elf.open(bytes(raw)).dwarf, [0x1139, 0x1150]), dict)

"""Libraries are found where the loader finds them, below a root as well, and links stay below it."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from elf_build import compiled

from gdbcuda import elf

FUNCTION = "int f(void) { return 1; }"


def test_the_same_libraries_as_the_loader() -> None:
    for name in ("gdb", "gcc", "bash"):
        path = shutil.which(name)
        if path is None or not Path(path).read_bytes().startswith(b"\x7fELF"):
            continue
        listed = subprocess.check_output(["ldd", path], text=True)
        expected = {soname: Path(where).resolve() for soname, where in re.findall(r"(\S+) => (/\S+)", listed)}
        libraries = elf.Libraries(elf.open(path), elf.Root())
        found = {soname: Path(each.path).resolve() for soname, each in libraries.found.items()}
        assert {soname: found.get(soname) for soname in expected} == expected
        assert libraries.missing == {}


def test_runpath_with_origin(tmp_path: Path) -> None:
    compiled(tmp_path / "lib", FUNCTION, "-Wl,-soname,libf.so.1", name="libf.so.1")
    flags = ("-Wl,--no-as-needed", "-Llib", "-l:libf.so.1", "-Wl,-rpath,$ORIGIN/lib")
    path = compiled(tmp_path, FUNCTION, *flags)
    assert elf.Libraries(elf.open(path), elf.Root()).found["libf.so.1"].path == f"{tmp_path}/lib/libf.so.1"
    (tmp_path / "lib" / "libf.so.1").unlink()
    assert elf.Libraries(elf.open(path), elf.Root()).missing == {"libf.so.1": str(path)}


def test_below_a_root(tmp_path: Path) -> None:
    image = tmp_path / "image"
    path = compiled(image / "opt", FUNCTION, "-Wl,-soname,libf.so.1", name="libf.so.1.0")
    (image / "etc" / "conf.d").mkdir(parents=True)
    (image / "etc" / "ld.so.conf").write_text("# comment\ninclude conf.d/*.conf\n")
    (image / "etc" / "conf.d" / "a.conf").write_text("/cuda/lib\n")
    (image / "cuda").mkdir()
    (image / "cuda" / "lib").symlink_to("../opt")
    (image / "opt" / "libf.so.1").symlink_to("/opt/libf.so.1.0")
    root = elf.Root(image)
    found = root.find("libf.so.1", elf.open(path))
    assert found is not None
    assert found.path == str(path)
    assert root.find("libc.so.6", elf.open(path)) is None, "that of this machine is not the image's"


def test_links_cannot_lead_out_nor_in_circles(tmp_path: Path) -> None:
    root = elf.Root(tmp_path)
    (tmp_path / "up").symlink_to("../../../../etc/passwd")
    (tmp_path / "round").symlink_to("round")
    assert root.outside("/up") == f"{tmp_path}/etc/passwd"
    assert root.outside("/../../etc") == f"{tmp_path}/etc"
    assert root.outside("/round") == f"{tmp_path}/round"


def test_a_library_of_another_machine_is_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = compiled(tmp_path / "right", FUNCTION, name="libf.so")
    wrong = bytearray(path.read_bytes())
    wrong[0x12] = 183
    (tmp_path / "wrong").mkdir()
    (tmp_path / "wrong" / "libf.so").write_bytes(wrong)
    monkeypatch.setenv("LD_LIBRARY_PATH", f"{tmp_path}/wrong:{tmp_path}/right")
    found = elf.Root().find("libf.so", elf.open(path))
    assert found is not None
    assert found.path == str(path)

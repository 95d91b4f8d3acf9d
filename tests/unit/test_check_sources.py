"""Sources that moved: the line to gdb that finds them again."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from check_cases.debug_info import made_by
from elf_build import compiled

from gdbcuda.check.file import check
from gdbcuda.files.source_places import substitution

SOURCE = "int cuInit(unsigned f) { return f; }"


def advice(path: Path) -> str:
    return next((finding.do for finding in check(path).findings if finding.id == "sources-missing"), "")


def built_elsewhere(folder: Path, name: str = "src/driver/hook.c") -> Path:
    """A library whose debug info says /libvgpu, as one that was built in a container."""
    return compiled(folder, SOURCE, "-g", f"-ffile-prefix-map={folder}=/libvgpu", source_name=name)


def test_here_where_they_were(tmp_path: Path) -> None:
    assert advice(compiled(tmp_path, SOURCE, "-g")) == ""


def test_found_below_the_current_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = built_elsewhere(tmp_path / "work" / "HAMi-core")
    for directory in (tmp_path, tmp_path / "work", tmp_path / "work" / "HAMi-core"):
        monkeypatch.chdir(directory)
        assert advice(path).endswith(f"set substitute-path /libvgpu {tmp_path}/work/HAMi-core")


def test_found_from_deep_inside_the_repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = built_elsewhere(tmp_path)
    (tmp_path / ".git").mkdir()
    (tmp_path / "docs").mkdir()
    monkeypatch.chdir(tmp_path / "docs")
    assert advice(path).endswith(f"set substitute-path /libvgpu {tmp_path}")


def test_not_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = built_elsewhere(tmp_path / "built")
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path / "empty")
    assert advice(path).endswith("set substitute-path /libvgpu/src/driver DIR")


def test_relative_paths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = compiled(tmp_path, SOURCE, "-g", f"-ffile-prefix-map={tmp_path}=.")
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path / "empty")
    assert "directory DIR" in advice(path)


def test_most_files_decide(tmp_path: Path) -> None:
    for name in ("new/src/a.c", "new/src/b.c", "other/a.c"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    gone = ["/build/src/a.c", "/build/src/b.c"]
    assert substitution(gone, [str(tmp_path)]) == ("/build", f"{tmp_path}/new")
    assert substitution(["/build/src/c.c"], [str(tmp_path)]) is None


def test_the_line_works_in_gdb(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = built_elsewhere(tmp_path / "clone")
    monkeypatch.chdir(tmp_path)
    line = advice(path).splitlines()[-1].strip()
    command = ["gdb", "-nx", "-q", "-batch", "-ex", line, "-ex", "list cuInit", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=60)
    assert "int cuInit(unsigned f)" in done.stdout


@pytest.mark.parametrize(
    ("producer", "seen"),
    [
        ("clang LLVM (rustc version 1.95.0 (59807616e 2026-04-14))", "1 source file, rustc 1.95.0"),
        ("Go cmd/compile go1.19.8; -shared regabi", "1 package, Go 1.19.8"),
        ("clang version 14.0.6", "1 source file, clang version 14.0.6"),
    ],
)
def test_compilers(tmp_path: Path, producer: str, seen: str) -> None:
    path = compiled(tmp_path, SOURCE, "-g")
    told = next(one.seen for one in check(made_by(path, producer)).findings if one.id == "debug-info")
    assert told.endswith(seen), told

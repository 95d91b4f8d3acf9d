"""The rules of the house that a reader would otherwise have to trust."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[2] / "gdbcuda"
SOURCES = sorted(PACKAGE.rglob("*.py"))
CORE = [path for path in SOURCES if "live" not in path.relative_to(PACKAGE).parts]


def imported(path: Path) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module)
            names.update(f"{node.module}.{alias.name}" for alias in node.names)
    return names


@pytest.mark.parametrize("path", CORE, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_only_live_imports_gdb(path: Path) -> None:
    assert not {name for name in imported(path) if name == "gdb" or name.startswith(("gdb.", "gdbcuda.live"))}


@pytest.mark.parametrize("path", SOURCES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_no_file_is_mapped(path: Path) -> None:
    """One that is rebuilt meanwhile would end gdb with SIGBUS (gdbcuda/files/reading.py)."""
    assert "mmap" not in imported(path)


@pytest.mark.parametrize("path", sorted((PACKAGE / "api").rglob("*.py")), ids=lambda p: p.name)
def test_the_api_knows_nothing_of_its_users(path: Path) -> None:
    ours = {name for name in imported(path) if name.startswith("gdbcuda.")}
    assert all(name.startswith(("gdbcuda.api", "gdbcuda.errors")) for name in ours), ours


@pytest.mark.parametrize("path", SOURCES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_no_version_numbers_of_gdb(path: Path) -> None:
    tree = ast.parse(path.read_text())
    assert not [n for n in ast.walk(tree) if isinstance(n, ast.Attribute) and n.attr in ("VERSION", "HOST_CONFIG")]


@pytest.mark.parametrize("path", SOURCES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_commands_of_gdb_are_executed_in_one_place(path: Path) -> None:
    """That one refuses inside an event of gdb's: see gdbcuda/live/gdb_cli.py."""
    if path.name == "gdb_cli.py":
        return
    named = [n for n in ast.walk(ast.parse(path.read_text())) if isinstance(n, ast.Attribute) and n.attr == "execute"]
    assert not [n for n in named if isinstance(n.value, ast.Name) and n.value.id == "gdb"]

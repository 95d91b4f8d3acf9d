"""The rules of the house that a reader would otherwise have to trust."""

from __future__ import annotations

import ast
import functools
import re
import shutil
import subprocess
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Callable

import pytest

PACKAGE = Path(__file__).resolve().parents[2] / "gdbcuda"
SOURCES = sorted(PACKAGE.rglob("*.py"))
# The rooms in the order of ROOMS.md: each imports itself and those before it.
ROOMS: list[str] = re.findall(r"\S+", """
    errors packages data_classes text command_line files adapter manual api memory elf linkage cpython pytorch locks
    machine.x86 machine condition condition.machine_code decode faults calls gpu rings rings.traced ledger.effects
    ledger coverage log.views.gpu_views log.views.exporting log.views log compare contract routes routes.reports
    check.subjects check observe observe.uprobes remote ide shell
    live.host live.process live.threads live.prompt live.placing live.pythons live.layers live.layers.code live.frames
    live.noticing live.books live.breakpoints live.preloading live.patching live.stopping.returning live.stopping
    live.guard live.guarding.filters live.guarding live.breaking live.faulting live.recording.base
    live.recording.entries live.recording.in_process live.recording.by_breakpoints live.recording live.keeping
    live.dlsym live.checking live.locking live.running live.commands live
""")
LARGEST = 13  # files of one folder, with its __init__; live/commands has one for each command
LONGEST = 265  # lines of a file, where 250 is the aim
CORE = [path for path in SOURCES if "live" not in path.relative_to(PACKAGE).parts]


@functools.cache
def nodes(path: Path) -> list[ast.AST]:
    return list(ast.walk(ast.parse(path.read_text())))


@functools.cache
def imported(path: Path) -> set[str]:
    names: set[str] = set()
    for node in nodes(path):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module)
            names.update(f"{node.module}.{alias.name}" for alias in node.names)
    return names


def found_in(paths: list[Path], wrong: Callable[[Path], Iterable[object]]) -> dict[str, list[object]]:
    """What is wrong, by file. (A test for each file would take longer than what it does.)"""
    return {str(path.relative_to(PACKAGE)): found for path in paths if (found := [*wrong(path)])}


def test_only_live_imports_gdb() -> None:
    def wrong(path: Path) -> set[str]:
        return {name for name in imported(path) if name == "gdb" or name.startswith(("gdb.", "gdbcuda.live"))}

    assert found_in(CORE, wrong) == {}


def test_no_file_is_mapped() -> None:
    """One that is rebuilt meanwhile would end gdb with SIGBUS (gdbcuda/files/reading.py)."""
    assert found_in(SOURCES, lambda path: imported(path) & {"mmap"}) == {}


def attributes(path: Path) -> Iterator[ast.Attribute]:
    return (node for node in nodes(path) if isinstance(node, ast.Attribute))


def test_unions_of_types_are_annotations_only() -> None:
    """Python 3.9 evaluates no X | None and no int | str, and gdb 10's is that one; ruff and mypy let it pass."""
    a_type = re.compile(r"\b(None|int|str|bytes|float|bool|list|dict|set|tuple|type|Any)\b(?!\()")

    def wrong(path: Path) -> list[str]:
        hints = [getattr(node, name, None) for node in nodes(path) for name in ("annotation", "returns")]
        allowed = {id(part) for hint in hints if hint is not None for part in ast.walk(hint)}
        unions = (node for node in nodes(path) if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr))
        return [ast.unparse(one) for one in unions if id(one) not in allowed and a_type.search(ast.unparse(one))]

    assert found_in(SOURCES, wrong) == {}


def test_no_version_numbers_of_gdb() -> None:
    def wrong(path: Path) -> Iterator[int]:
        return (one.lineno for one in attributes(path) if one.attr in ("VERSION", "HOST_CONFIG"))

    assert found_in(SOURCES, wrong) == {}


def test_commands_of_gdb_are_executed_in_one_place() -> None:
    """That one refuses inside an event of gdb's: see gdbcuda/live/host/gdb_cli.py."""

    def wrong(path: Path) -> Iterator[int]:
        named = (one for one in attributes(path) if one.attr == "execute")
        return (one.lineno for one in named if isinstance(one.value, ast.Name) and one.value.id == "gdb")

    assert found_in([path for path in SOURCES if path.name != "gdb_cli.py"], wrong) == {}


def module(path: Path) -> str:
    """As it is imported, without the package's own name; "" is the package."""
    return ".".join(path.relative_to(PACKAGE).with_suffix("").parts).removesuffix("__init__").rstrip(".")


MODULES = {module(path): path for path in SOURCES}


def room_of(name: str) -> str:
    return max((one for one in ROOMS if f"{name}.".startswith(f"{one}.")), key=len, default="")


def ours(path: Path) -> set[str]:
    """The modules that it imports, also where an import waits for its first use."""
    found = set()
    for node in nodes(path):
        if isinstance(node, ast.ImportFrom) and f"{node.module}.".startswith("gdbcuda."):
            package = str(node.module)[len("gdbcuda.") :]
            inside = {f"{package}.{alias.name}".lstrip(".") for alias in node.names}
            found |= {name if name in MODULES else package for name in inside}
    return found - {""}


def test_a_room_imports_only_those_below_it() -> None:
    named = {name: path for name, path in MODULES.items() if name not in ("", "gdbcuda", "__main__")}
    assert [name for name in named if not room_of(name)] == [], "in no room"

    def wrong(path: Path) -> list[str]:
        own = ROOMS.index(room_of(module(path)))
        return [one for one in ours(path) if ROOMS.index(room_of(one)) > own]

    assert found_in([*named.values()], wrong) == {}


def test_no_file_imports_itself_through_others() -> None:
    left = {name: ours(path) - {name} for name, path in MODULES.items()}
    while True:
        free = {name for name, below in left.items() if not below & left.keys()}
        if not free:
            break
        left = {name: below for name, below in left.items() if name not in free}
    assert not {name: sorted(below & left.keys()) for name, below in left.items()}, "in a circle, or above one"


def test_dataclasses_are_ours() -> None:
    others = [path.name for path in SOURCES if re.search(r"^ *from dataclasses import", path.read_text(), re.MULTILINE)]
    assert others == ["data_classes.py"], "gdbcuda.data_classes has them"


def test_no_package_has_a_name_that_a_module_in_it_has() -> None:
    """Where it has not run (`live/host/lazily.py`), such a name would be the module."""
    both = [f"{path.parent.name}.{name}" for path in SOURCES if path.name == "__init__.py" for name in names_of(path)
            if (path.parent / f"{name}.py").exists() or (path.parent / name / "__init__.py").exists()]  # fmt: skip
    assert not both


def names_of(package: Path) -> Iterator[str]:
    for node in ast.parse(package.read_text()).body:
        if isinstance(node, ast.ImportFrom):
            here = ".".join(package.parent.relative_to(PACKAGE.parent).parts)
            yield from (one.asname or one.name for one in node.names if node.module != here)
        elif isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            yield node.name
        elif isinstance(node, (ast.Assign, ast.AnnAssign)):
            stored = (one for one in ast.walk(node) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store))
            yield from (one.id for one in stored)


def test_folders_are_small() -> None:
    held = Counter(str(path.parent.relative_to(PACKAGE)) for path in SOURCES)
    assert {name for name, count in held.items() if count > LARGEST} == {"live/commands"}


def test_files_are_short() -> None:
    assert [module(path) for path in SOURCES if len(path.read_text().splitlines()) > LONGEST] == []


def test_no_two_classes_of_one_name() -> None:
    found: dict[str, list[str]] = {}
    for name, path in MODULES.items():
        for node in nodes(path):
            if isinstance(node, ast.ClassDef):
                found.setdefault(node.name, []).append(name)
    assert {name: modules for name, modules in found.items() if len(modules) > 1} == {}


BY_CONVENTION = {"__init__", "cli", "options", "registry"}  # what a room has for the shell, its options, its decorator
# one file a command, a kind of check, a group of cases, and named after it
ONE_FILE_EACH = {"live/commands", "shell/fault", "check/checks", "contract/groups"}


def test_no_two_files_of_one_name() -> None:
    """A name that two files share says of neither what it is about."""
    named = [path for path in SOURCES if str(path.parent.relative_to(PACKAGE)) not in ONE_FILE_EACH]
    held = Counter(path.stem for path in named if path.stem not in BY_CONVENTION)
    assert [name for name, count in held.items() if count > 1] == []


# As the name of a file, a class or a function each says of what, and leaves out what it does or is.
RIDDLES = {"asked", "truths", "truth", "world", "confined", "holding", "later", "spare", "islands", "moved", "touches",
           "room"}  # fmt: skip


def test_names_say_what_they_are() -> None:
    defined = (ast.ClassDef, ast.FunctionDef)

    def wrong(path: Path) -> Iterator[str]:
        named = (node.name for node in nodes(path) if isinstance(node, defined))
        return (name for name in (path.stem, *named) if name.lower() in RIDDLES)

    assert found_in(SOURCES, wrong) == {}
    assert [one for one in PACKAGE.parent.glob("shim/*/*.[ch]") if one.stem in RIDDLES] == []


def test_the_map_has_every_room_in_its_order() -> None:
    text = (PACKAGE / "ROOMS.md").read_text()
    tables = text[text.index("| `gdbcuda/` |") :].split("| `gdbcuda/live/` |")
    cells = [re.findall(r"^\| (`.+?) \|", table, re.MULTILINE) for table in (tables[0], tables[1].split("\n\n")[0])]
    rooms = [re.findall(r"`([\w/]+?)(?:/|\.py)`", " ".join(found)) for found in cells]
    named = [[name.replace("/", ".") for name in found] for found in rooms]
    assert named[0][named[0].index("errors") :] + [f"live.{name}" for name in named[1]] == ROOMS[:-1]


TOP = {".ci", ".gitignore", "CONTRIBUTING.md", "LICENSE", "README.md",
       "gdbcuda", "gdbcuda.py", "pyproject.toml", "scripts", "shim", "tests"}  # fmt: skip


def test_nothing_else_is_kept_at_the_top() -> None:
    """What a trial run leaves in the tree is easily committed with the rest."""
    if not shutil.which("git") or not (PACKAGE.parent / ".git").exists():
        pytest.skip("the tree is no clone here, or there is no git")
    kept = subprocess.run(
        ["git", "-C", str(PACKAGE.parent), "ls-files"], stdout=subprocess.PIPE, text=True, check=True
    ).stdout.split("\n")
    assert {name.split("/")[0] for name in kept if name} == TOP

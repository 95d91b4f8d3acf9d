"""The tables of a library read by our own code, against pyelftools: what the first is for."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Callable

from bench_tools import SHIM, medians
from elftools.elf.elffile import ELFFile

from gdbcuda import elf


def times() -> dict[str, float]:
    """Seconds, by library and table. libLLVM, where there is one, is the large one."""
    libraries = [Path(SHIM) / "libgdbcuda-hook.so", *sorted(Path("/usr/lib").glob("*/libLLVM-*.so*"))[:1]]
    return {what: took for path in libraries for what, took in of_library(path).items()}


def of_library(path: Path) -> dict[str, float]:
    actions: dict[str, Callable[[], object]] = {}
    for table, ours, theirs in TABLES:
        actions[f"{path.name} {table}, ours"] = lambda ours=ours: ours(elf.open(path))
        actions[f"{path.name} {table}, pyelftools"] = lambda theirs=theirs: read_by_pyelftools(path, theirs)
    return medians(actions, 3)


def read_by_pyelftools(path: Path, read: Callable[[Any], object]) -> None:
    with open(path, "rb") as file:
        read(ELFFile(file))


TABLES: list[tuple[str, Callable[[Any], object], Callable[[Any], object]]] = [
    ("symbols", lambda file: list(file.dynamic_symbols), lambda file: list(symbols(file, ".dynsym"))),
    ("versions", lambda file: file.versions, lambda file: list(symbols(file, ".gnu.version"))),
    (
        "relocations", lambda file: file.relocations(),
        lambda file: list(file.get_section_by_name(".rela.dyn").iter_relocations()),
    ),
]  # fmt: skip


def symbols(file: Any, section: str) -> Any:
    found = file.get_section_by_name(section)
    return found.iter_symbols() if found else ()

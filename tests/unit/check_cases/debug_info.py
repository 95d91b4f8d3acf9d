"""Debug info."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

from elf_build import compiled

from check_cases.building import ALLOC, DEBUG, FREE, LOADER, case, library
from gdbcuda.check.file import check
from gdbcuda.check.finding import Report


@case("no-debug-info")
def without_debug_info(folder: Path) -> Report:
    report = library(folder, ALLOC, "-g0", "-s")
    assert "stripped" in report.findings[0].seen or "stripped" in str(report.findings)
    return report


@case("program-no-debug-info")
def program_without_debug_info(folder: Path) -> Report:
    return check(compiled(folder, LOADER, "-pie", "-fPIE", "-g0", name="program"))


@case("debug-info", "hooks", "not-hooked", "dlsym-not-overridden")
def small_hook(folder: Path) -> Report:
    (folder / "entry.s").write_text(".globl dlsym\n.type dlsym, @function\ndlsym: nop\n")
    assembled = library(folder, ALLOC, *DEBUG, "entry.s", "-Wl,-z,noexecstack")
    (seen,) = [one.seen for one in assembled.findings if one.id == "debug-info"]
    assert re.search(r"2 source files, as [\d.]+ and gcc [\d.]+ -O0;", f"{seen};"), seen
    return library(folder, ALLOC + FREE)


@case("optimised", "no-frame-pointer")
def optimised(folder: Path) -> Report:
    return library(folder, ALLOC, "-g", "-O2")


@case("line-tables-only")
def line_tables(folder: Path) -> Report:
    return library(folder, ALLOC, "-g1", "-O0")


@case("debug-compression")
def compressed(folder: Path) -> Report:
    report = library(folder, ALLOC, "-g", "-gz=zlib", "-O0")
    assert "debug-info" in report.ids()
    return report


@case("split-debug")
def split(folder: Path) -> Report:
    return library(folder, ALLOC, "-g", "-gsplit-dwarf", "-O0")


@case("split-debug-missing")
def split_and_lost(folder: Path) -> Report:
    path = compiled(folder, ALLOC, "-g", "-gsplit-dwarf", "-O0")
    for dwo in folder.glob("*.dwo"):
        dwo.unlink()
    return check(path)


def separated(folder: Path) -> Path:
    path = compiled(folder, ALLOC, *DEBUG)
    debug = folder / "libhook.so.debug"
    subprocess.run(["objcopy", "--only-keep-debug", path, debug], check=True)
    subprocess.run(["objcopy", "--strip-debug", f"--add-gnu-debuglink={debug}", path], check=True)
    return path


@case("debug-link-missing")
def debug_link_missing(folder: Path) -> Report:
    path = separated(folder)
    assert "debug-info" in check(path).ids()
    (folder / "libhook.so.debug").write_bytes(b"something else")
    return check(path)


@case("no-build-id")
def without_build_id(folder: Path) -> Report:
    return library(folder, ALLOC, "-Wl,--build-id=none")


@case("sources-missing")
def sources_gone(folder: Path) -> Report:
    of_rust = "hook.rs/@/hook.9e57086c99649a35-cgu.0.c"  # as rustc calls its units; the file is hook.rs
    path = compiled(folder / "rust", ALLOC, *DEBUG, source_name=of_rust)
    (folder / "rust" / of_rust).unlink()
    assert "sources-missing" not in check(path).ids()
    path = compiled(folder, ALLOC, *DEBUG)
    (folder / "hook.c").unlink()
    assert "sources-missing" not in check(made_by(path, "Go cmd/compile go1.19.8; -shared")).ids()
    return check(path)


def made_by(path: Path, producer: str) -> Path:
    """The same library, whose debug info says so of its compiler."""
    raw, start = path.read_bytes(), path.read_bytes().index(b"GNU C")
    size = raw.index(b"\0", start) - start
    assert len(producer) <= size
    made = path.with_name("made_by.so")
    made.write_bytes(raw[:start] + producer.encode().ljust(size, b"\0") + raw[start + size :])
    return made

"""Compiles what building.py has written."""

from __future__ import annotations

from pathlib import Path

from building import Build
from compilers import OPTIONS, compile_with

RUST = ["rustc", "--edition=2021", "--emit=obj", "--crate-type=lib", "-Cpanic=abort", "-Coverflow-checks=off",
        "-Cdebug-assertions=off"]  # fmt: skip


def compile_all(build: Build) -> None:
    compile_library(build)
    if build.way == "preloaded":
        line = ["-fPIC", "-shared", "-Wl,-soname,libcuda.so.1", "-o", "libcuda.so.1", "driver.c"]
        compile_with([build.compiler, *line], build.folder)
    compile_program(build)


def words(build: Build, of: str) -> list[str]:
    """What the build's options add there."""
    return [word for name in build.options for word in getattr(OPTIONS[name], of).split()]


def unfolded(build: Build) -> list[str]:
    """Of two functions of one shape gcc makes one, to which the other jumps: each call of that would be one of both,
    as no count of the program's says, and where a part overwrites the one, the workers would be in it."""
    return ["-fno-ipa-icf"] if "clang" not in build.compiler else []


def existing(folder: Path, *names: str) -> list[str]:
    return [name for name in names if (folder / name).exists()]


def compile_library(build: Build) -> None:
    here = build.folder
    sources = existing(here, "library.c", "library.cc", "library.S")
    if existing(here, "library.rs"):
        compile_with([*RUST, f"-Copt-level={build.levels[0][2]}", "-o", "rust.o", "library.rs"], here)
        sources.append("rust.o")
    libraries = ["-ldl", *(["-lstdc++"] if "library.cc" in sources else [])]
    line = [
        build.compiler,
        build.levels[0],
        "-D_GNU_SOURCE",
        "-fPIC",
        "-shared",
        "-fexceptions",
        *words(build, "library"),
        *unfolded(build),
    ]
    line += ["-o", "libhook.so", *sources, "common/specials.c", *words(build, "link"), *libraries]
    compile_with(line, here)


def compile_program(build: Build) -> None:
    here = build.folder
    (source,) = existing(here, "program.c", "program.cc")
    hooks = {"linked": ["-Wl,--no-as-needed", "-lhook"], "preloaded": ["-l:libcuda.so.1"], "late": []}[build.way]
    libraries = ["-pthread", "-ldl", *(["-lstdc++"] if source == "program.cc" else [])]
    line = [build.compiler, build.levels[1], "-D_GNU_SOURCE", "-fexceptions", *words(build, "program"), "-o", "program"]
    line += [source, "common/delta.S", "-L.", f"-Wl,-rpath,{here}", *hooks, *words(build, "link"), *libraries]
    compile_with(line, here)

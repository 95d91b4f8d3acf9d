"""What `pip install gdbcuda` gives: built as a wheel, installed into a fresh venv, away from the clone."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Callable

import pytest
from scenario import GDB, ROOT

from gdbcuda.manual.pages import pages

BEHIND = """
#define _GNU_SOURCE
#include <dlfcn.h>
int atoi(const char *text) { return 1 + ((int (*)(const char *))dlsym(RTLD_NEXT, "atoi"))(text); }
"""
MAIN = """
#include <stdio.h>
#include <stdlib.h>
int main(int count, char **words) { return printf("%d\\n", count > 1 ? atoi(words[1]) : 0) < 0; }
"""

Build = Callable[..., Path]  # what the fixture `build_once` gives: the tests of two workers have one wheel, one demo


@dataclass
class Installed:
    """The commands of the venv, run by a user with a home folder of its own."""

    venv: Path
    home: Path

    def run(self, command: str, *arguments: str | Path, **environment: str) -> subprocess.CompletedProcess[str]:
        unwanted = ("PYTHON", "GDBCUDA_", "XDG_", "LD_", "VIRTUAL_ENV")
        kept = {name: value for name, value in os.environ.items() if not name.startswith(unwanted)}
        variables = {**kept, "HOME": str(self.home), "PATH": f"{self.venv}/bin:{kept['PATH']}", **environment}
        return subprocess.run([command, *map(str, arguments)], env=variables, cwd=self.home, text=True, timeout=600,
                              stdin=subprocess.DEVNULL, capture_output=True, check=False)  # fmt: skip

    def files(self) -> set[Path]:
        return {path for path in self.venv.rglob("*") if "__pycache__" not in path.parts}


def make_wheel(compile_c: object, folder: Path) -> None:
    """Of the files that git knows or would know, as they lie in the clone."""
    source = folder / "source" / "gdbcuda"
    left_out = shutil.ignore_patterns("__pycache__", ".*", "build", "node_modules", "tests")
    shutil.copytree(ROOT, source, ignore=left_out)
    pip = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--wheel-dir", str(folder), str(source)]
    subprocess.run(pip, check=True, timeout=300)


@pytest.fixture
def wheel(build_once: Build) -> Path:
    return next(build_once(make_wheel).glob("gdbcuda-*.whl"))


def make_site(compile_c: object, folder: Path, wheel: Path) -> None:
    subprocess.run([sys.executable, "-m", "venv", str(folder / "venv")], check=True)
    install = [folder / "venv" / "bin" / "pip", "install", "-q", "--no-compile"]  # what is used is compiled then
    subprocess.run([*install, str(wheel)], check=True, timeout=300)


@pytest.fixture
def site(build_once: Build, wheel: Path) -> Path:
    return build_once(make_site, wheel) / "venv"


@pytest.fixture
def installed(site: Path, tmp_path: Path) -> Installed:
    return Installed(site, tmp_path)


def play(compile_c: object, folder: Path, site: Path) -> None:
    user = Installed(site, folder)
    before = user.files()
    done = user.run("gdbcuda", "demo")
    assert (done.returncode, done.stderr) == (0, ""), done.stdout + done.stderr
    assert user.files() == before, "nothing is built among the installed files"
    (folder / "said").write_text(done.stdout)


@pytest.fixture
def played(build_once: Build, site: Path) -> tuple[Installed, str]:
    """The demo in a home folder, and what it said."""
    home = build_once(play, site)
    return Installed(site, home), (home / "said").read_text()


def test_the_sourced_file(installed: Installed) -> None:
    where = installed.run("gdbcuda", "path").stdout.strip()
    assert where.startswith(str(installed.venv))
    assert installed.run(GDB, "-nx", "-batch", "-x", where, "-ex", "help cuda-break").stdout.startswith("Break in")


def test_the_manual_is_in_the_wheel(installed: Installed) -> None:
    listed = installed.run("gdbcuda", "help").stdout
    pages = sorted((ROOT / "gdbcuda" / "manual").glob("*.md"))
    assert [path.name[3:-3] for path in pages] == re.findall(r"^([a-z]\S*)  ", listed, re.MULTILINE)[1:]
    title = pages[-1].read_text().splitlines()[0].lstrip("# ")
    assert installed.run("gdbcuda", "help", pages[-1].name[3:-3]).stdout.startswith(f"{title}\n===")
    where = installed.run("gdbcuda", "path").stdout.strip()
    assert f"\n{title}\n===" in installed.run(GDB, "-nx", "-batch", "-x", where, "-ex", "echo \\n",
                                             "-ex", f"cuda-help {pages[-1].name[3:-3]}").stdout  # fmt: skip


def test_gdbcuda_gdb_is_a_drop_in(installed: Installed) -> None:
    ours = installed.run("gdbcuda-gdb", "--version", GDBCUDA_GDB=GDB)
    assert ours.stdout == installed.run(GDB, "--version").stdout
    assert ours.stderr == ""
    loaded = installed.run("gdbcuda-gdb", "-nx", "-q", "-batch", "-ex", "help cuda-break", GDBCUDA_GDB=GDB)
    assert loaded.stdout.startswith("Break in one implementation")
    missing = installed.run("gdbcuda-gdb", "--version", GDBCUDA_GDB="no-such-gdb")
    assert (missing.returncode, missing.stdout) == (2, "")
    assert missing.stderr == "gdbcuda: no no-such-gdb on this machine (GDBCUDA_GDB names it)\n"


def test_the_demo_stops_in_the_hook_library(played: tuple[Installed, str]) -> None:
    user, text = played
    assert f" in {user.home}/.cache/gdbcuda/demo-" in text.splitlines()[0]
    assert re.search(r"Breakpoint 3  hook .* = CUDA_ERROR_OUT_OF_MEMORY \(2\)\n +returned to runtime", text)
    assert not re.search(r"Traceback|Python Exception|Cannot|Undefined|Error in", text)


def test_what_the_demo_says_next_can_be_typed(played: tuple[Installed, str]) -> None:
    user, text = played
    line = re.search(r"^A program over the stand-in: +(.*)$", text, re.MULTILINE)[1]
    done = user.run("sh", "-c", f"{line} -q -batch -ex run")
    assert "3 GiB      allocated" in done.stdout, done.stdout + done.stderr


def test_a_second_time_nothing_is_compiled(played: tuple[Installed, str]) -> None:
    user, _ = played
    library = next(user.home.glob(".cache/gdbcuda/demo-*/shim/build/libgdbcuda-hook.so"))
    built = library.stat().st_mtime_ns
    assert user.run("gdbcuda", "demo", "--build-only").returncode == 0
    assert library.stat().st_mtime_ns == built


def test_a_folder_of_somebody_else_is_left_alone(installed: Installed, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes").touch()
    done = installed.run("gdbcuda", "demo", "mine")
    assert done.returncode == 2
    assert done.stderr == f"gdbcuda: {tmp_path}/mine is not empty, and not of an earlier demo: name a new folder\n"
    assert [path.name for path in (tmp_path / "mine").iterdir()] == ["notes"]


@pytest.mark.parametrize("lacking", [("make",), ("gcc", "make")])
def test_what_the_demo_lacks_is_one_line(installed: Installed, tmp_path: Path, lacking: tuple[str, ...]) -> None:
    for name in {"gdb", "gcc", "make"} - set(lacking):
        (tmp_path / name).symlink_to("/bin/true")
    done = installed.run(str(installed.venv / "bin" / "gdbcuda"), "demo", PATH=str(tmp_path))
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert f"with gcc and make; missing: {', '.join(lacking)} (Debian: apt-get install " in done.stderr
    assert not (tmp_path / ".cache").exists()


def test_what_cannot_be_compiled_is_one_line(installed: Installed, tmp_path: Path) -> None:
    (tmp_path / "gcc").write_text("#!/bin/sh\necho 'x.c:1: error: no headers' >&2; exit 1\n")
    (tmp_path / "gcc").chmod(0o755)
    done = installed.run("gdbcuda", "demo", "there", PATH=f"{installed.venv}/bin:{tmp_path}:{os.environ['PATH']}")
    log = tmp_path / "there" / "shim" / "build" / "make.log"
    assert done.stderr == f"gdbcuda: make has failed: x.c:1: error: no headers (all that it said: {log})\n"


@pytest.mark.parametrize("builder", ["make", "cmake"])
def test_a_new_hook_is_reached(played: tuple[Installed, str], tmp_path: Path, builder: str) -> None:
    """By linked programs and by the CUDA runtime, which asks for functions by name."""
    if not shutil.which(builder):
        pytest.skip(f"{builder} is not installed")
    user, _ = played
    folder = tmp_path / "myhook"
    said = user.run("gdbcuda", "new-hook", folder)
    assert said.returncode == 0 and f"make -C {folder}\n" in said.stdout
    library = build(user, folder, builder)
    assert user.run("gdbcuda", "check", "--quiet", library).stdout == "libmyhook.so: ready\n"
    samples = next(user.home.glob(".cache/gdbcuda/demo-*/shim/build"))
    for program in ("test_alloc", "runtime_alloc", "dlsym_alloc"):
        words = [f"cuda-load {library}", "cuda-break cuMemAlloc if bytesize <= 2G", "run", "info source", "kill"]
        line = ["gdb", "-nx", "-q", "-batch", *(part for word in words for part in ("-ex", word))]
        text = user.run("gdbcuda", *line, samples / "sample" / program, LD_LIBRARY_PATH=f"{samples}/standin").stdout
        assert "Breakpoint 1  hook libmyhook.so  cuMemAlloc_v2(" in text, text
        assert f"Located in {folder}/hook.c" in text


def build(user: Installed, folder: Path, builder: str) -> Path:
    if builder == "make":
        done = user.run("make", "-C", folder)
    else:
        done = user.run("sh", "-c", f"cmake -S {folder} -B {folder}/build && cmake --build {folder}/build")
    assert done.returncode == 0 and "warning" not in done.stderr, done.stderr
    return folder / "libmyhook.so" if builder == "make" else folder / "build" / "libmyhook.so"


def test_the_workflow_of_the_manual_is_green(played: tuple[Installed, str], wheel: Path) -> None:
    """Its steps as they stand, for a library of `gdbcuda new-hook`, which breaks no contract."""
    user, _ = played
    assert user.run("gdbcuda", "new-hook", "myhook").returncode == 0
    page = pages()["ci"].text
    steps = re.findall(r"^ +- run: (.*)$", page, re.MULTILINE)
    assert len(steps) == page.count("- run:") > 5
    for step in steps:
        done = user.run("bash", "-e", "-c", step, GDBCUDA=str(wheel), XDG_CACHE_HOME=str(user.home / ".cache"))
        assert done.returncode == 0, f"{step}\n{done.stdout}{done.stderr}"
    assert "<testcase" in (user.home / "conform.xml").read_text() and (user.home / "ab.xml").exists()
    assert (user.home / "hook.info").read_text().startswith("TN:")


def test_a_new_hook_hides_nothing_behind_it(played: tuple[Installed, str], tmp_path: Path) -> None:
    """RTLD_NEXT means the library behind the one that asks, also where the asker is preloaded too."""
    user, _ = played
    user.run("gdbcuda", "new-hook", tmp_path / "one", "--name", "quota")
    assert user.run("make", "-C", tmp_path / "one").returncode == 0
    for name, source, flags in (("behind.so", BEHIND, ["-shared", "-fPIC"]), ("main", MAIN, [])):
        (tmp_path / "source.c").write_text(source)
        built = user.run("gcc", "-fno-builtin", *flags, "-o", tmp_path / name, tmp_path / "source.c")
        assert built.returncode == 0, built.stderr
    preloaded = f"{tmp_path}/one/libquota.so:{tmp_path}/behind.so"
    assert user.run(tmp_path / "main", "41", LD_PRELOAD=preloaded).stdout == "42\n"


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["taken"], "taken is not empty: name a new folder"),
        (["taken/file"], "cannot write into taken/file: file exists"),
        (["new", "--name", "a b"], "liba b.so is no name for a library; give one with --name: letters, digits, _ + -"),
        (["cuda"], "libcuda.so is the name of another library, of CUDA or the system; give one with --name"),
    ],
)
def test_mistakes_of_new_hook_are_one_line(
    installed: Installed, tmp_path: Path, arguments: list[str], problem: str
) -> None:
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken" / "file").touch()
    done = installed.run("gdbcuda", "new-hook", *arguments)
    assert (done.returncode, done.stdout, done.stderr) == (2, "", f"gdbcuda: {problem}\n")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["taken"]

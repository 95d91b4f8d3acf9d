"""scripts/setup: what it asks for is all that the scripts need, in one line, whatever the machine is."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterable
from pathlib import Path

import pytest
from installed import essential, link_commands, needed
from shim_support import ROOT

MANAGERS = {
    "dnf": "dnf install gcc gdb gdb-gdbserver glibc-static make python3",
    "zypper": "zypper install gcc gdb gdbserver glibc-devel-static make python3",
    "pacman": "pacman -Syu --needed gcc gdb glibc make python",
    "apk": "apk add gcc gdb make musl-dev python3",
}
pytestmark = pytest.mark.skipif(not needed(), reason="no dpkg here to tell which package a command is of")


class Machine:
    """A PATH that has the commands of Debian's essential packages, and of those that are added."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "bin"
        self.add(*essential())

    def add(self, *packages: str) -> None:
        link_commands(packages, self.path)

    def put(self, command: str, body: str) -> None:
        file = self.path / command
        file.unlink(missing_ok=True)
        file.write_text(f"#!/bin/bash\n{body}\n")
        file.chmod(0o755)

    def run(self, command: Path) -> subprocess.CompletedProcess[str]:
        kept = {name: os.environ[name] for name in ("HOME", "TMPDIR") if name in os.environ}
        environment = {**kept, "PATH": str(self.path)}
        return subprocess.run([command], env=environment, capture_output=True, text=True, timeout=600)


@pytest.fixture
def bare(tmp_path: Path) -> Machine:
    machine = Machine(tmp_path)
    for manager in MANAGERS:
        (machine.path / manager).unlink(missing_ok=True)
    machine.put("id", "echo 1000")
    return machine


@pytest.fixture
def clone(tmp_path: Path, shim: Path) -> Path:
    """With a .venv as pip would have made it, so that nothing is downloaded, and most of what is compiled as it would
    be: each kind of file is made again, but not each file."""
    left_out = shutil.ignore_patterns("build", "*cache*", "node_modules", ".*", "tests")
    copy = Path(shutil.copytree(ROOT, tmp_path / "clone", ignore=left_out))
    built = Path(shutil.copytree(shim, copy / "shim" / "build", symlinks=True))
    made = [one for one in built.rglob("*") if one.is_file() and (os.access(one, os.X_OK) or one.suffix == ".a")]
    for file in [*made, *of_each_folder(built.rglob("*.o"))]:
        file.unlink()
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", copy / ".venv"], check=True)
    packages = next((copy / ".venv" / "lib").glob("python3*/site-packages"))
    packages.rmdir()
    packages.symlink_to(sysconfig.get_path("purelib"))
    (copy / ".venv" / ".gdbcuda").touch()
    return copy


def of_each_folder(files: Iterable[Path]) -> list[Path]:
    return list({file.parent: file for file in files}.values())


def asked_for(said: str) -> str:
    """The line to run: all that is said."""
    lines = re.fullmatch(r"Some packages are missing\. As root, and then start this again:  (.*)\n", said)
    assert lines, said
    return lines[1]


@pytest.mark.parametrize("manager", MANAGERS)
def test_other_managers_are_given_their_own_names(bare: Machine, manager: str) -> None:
    bare.put(manager, "echo called")
    done = bare.run(ROOT / "scripts" / "demo")
    assert (done.stdout, asked_for(done.stderr), done.returncode) == ("", MANAGERS[manager], 1)


def test_without_any_manager_they_are_named_in_words(bare: Machine) -> None:
    asked = asked_for(bare.run(ROOT / "scripts" / "demo").stderr)
    assert asked.startswith("install Python's venv and ensurepip, gcc, gdb, ")
    assert asked.endswith(", the C library's headers and libc.a")


def test_root_gets_at_once_what_a_user_is_asked_for(bare: Machine, tmp_path: Path) -> None:
    bare.put("apt-get", f"echo apt-get $* >> {tmp_path}/calls")
    asked = {asked_for(bare.run(ROOT / "scripts" / name).stderr) for name in ("demo", "test", "matrix", "bench")}
    bare.put("id", "echo 0")
    bare.run(ROOT / "scripts" / "demo")
    assert asked == {" && ".join((tmp_path / "calls").read_text().splitlines())}


def test_what_is_asked_for_is_all_that_the_demo_needs(bare: Machine, clone: Path) -> None:
    """Every command from here on is of a package in the line, of one that it depends on, or essential."""
    bare.put("apt-get", "echo called")
    asked = asked_for(bare.run(clone / "scripts" / "demo").stderr).partition(" install -y ")[2].split()
    missing = [package for package in asked if package not in needed()]
    if missing:
        pytest.skip(f"{', '.join(missing)} not from Debian's packages here; .ci/run plays the demo on bare machines")
    bare.add(*asked)
    done = bare.run(clone / "scripts" / "demo")
    assert "command not found" not in done.stderr, done.stderr
    assert done.returncode == 0, done.stderr
    assert re.search(r"Breakpoint 3  hook .* = CUDA_ERROR_OUT_OF_MEMORY", done.stdout), done.stdout


INSTALLING = "Installing nosuch, for the tests that need it ...\n"
WITHOUT = "Without nosuch the tests that need it are skipped.\n"


@pytest.mark.parametrize(
    ("user", "apt", "said"), [(1000, 0, WITHOUT), (0, 1, INSTALLING + WITHOUT), (0, 0, INSTALLING)]
)
def test_what_only_some_tests_need_is_no_condition(
    bare: Machine, tmp_path: Path, user: int, apt: int, said: str
) -> None:
    """As root it is installed with apt; where that cannot be, the tests go on without it."""
    script = tmp_path / "wants"
    script.write_text(f"#!/bin/bash\nset -euo pipefail\n. {ROOT}/scripts/setup\nwant_packages nosuch bash\n")
    script.chmod(0o755)
    bare.put("id", f"echo {user}")
    bare.put("apt-get", f"exit {apt}")
    done = bare.run(script)
    assert (done.returncode, done.stdout, done.stderr) == (0, said, "")


def test_who_builds_beside_others_takes_turns(bare: Machine, tmp_path: Path) -> None:
    """A demo or a test that links what is half written fails of no fault of its own."""
    (tmp_path / "shim/build").mkdir(parents=True)
    script = tmp_path / "builds"
    script.write_text(f"#!/bin/bash\nset -euo pipefail\n. {ROOT}/scripts/setup\ncd {tmp_path}\nbuild_shim\n")
    script.chmod(0o755)
    bare.put("make", "! flock --nonblock shim/build/.lock true")
    done = bare.run(script)
    assert done.returncode == 0, done.stderr + done.stdout

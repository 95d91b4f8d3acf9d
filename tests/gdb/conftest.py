"""Fixtures for scenarios in a real gdb, locally and through gdbserver."""

from __future__ import annotations

import fcntl
import functools
import hashlib
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Callable

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from idle_gdb import IdleGdb
from running_program import working as working
from scenario import GDB, Scenario, is_cuda_gdb
from shim_support import OLDER_LIBC

API_HEADER = {"gdbcuda_api.h"}


@pytest.fixture(params=["local", "gdbserver"])
def scenario(request: pytest.FixtureRequest, shim: Path) -> Scenario:
    """Every scenario runs in both places."""
    if request.param == "gdbserver" and not shutil.which("gdbserver"):
        pytest.skip("gdbserver is not installed (apt-get install gdbserver)")
    return Scenario(shim, request.param, is_smoke(request))


@pytest.fixture
def local(request: pytest.FixtureRequest, shim: Path) -> Scenario:
    """For what a gdbserver session cannot do, or does not do differently."""
    return Scenario(shim, in_full=is_smoke(request))


def is_smoke(request: pytest.FixtureRequest) -> bool:
    return request.node.get_closest_marker("smoke") is not None


@pytest.fixture(scope="session")
def shared_gdbs(shim: Path) -> Iterator[tuple[IdleGdb, IdleGdb]]:
    place = Scenario(shim)
    both = IdleGdb(place.environment()), IdleGdb(place.environment(), place.sample("test_alloc"))
    yield both
    for one in both:
        one.stop()


@pytest.fixture
def idle(request: pytest.FixtureRequest, shared_gdbs: tuple[IdleGdb, IdleGdb]) -> Iterator[IdleGdb]:
    """A gdb without a program that was there before the test and is there after it: for what changes nothing."""
    yield from shared_gdbs[0].lent(request.session)


@pytest.fixture
def not_started(request: pytest.FixtureRequest, shared_gdbs: tuple[IdleGdb, IdleGdb]) -> Iterator[IdleGdb]:
    """The same with test_alloc, which does not run."""
    yield from shared_gdbs[1].lent(request.session)


@pytest.fixture
def calls_functions(local: Scenario) -> None:
    """To call a function of the program gdb writes registers, which some gdbs cannot on newer CPUs than theirs."""
    if "Couldn't write extended state status" in local.run("test_alloc", "break main", "run", "print (int)getpid()"):
        pytest.skip("this gdb cannot write registers on this CPU, so it calls no function")


@pytest.fixture(scope="session")
def keeps_processes_apart() -> bool:
    """gdb 10 to 12 cannot switch off single places of internal breakpoints: there one process at a time is watched."""
    asked = [GDB, "-nx", "-batch", "-ex", "python print(hasattr(gdb, 'BreakpointLocation'))"]
    return "True" in subprocess.run(asked, capture_output=True, text=True, check=True).stdout


@pytest.fixture(scope="session")
def several_processes(keeps_processes_apart: bool) -> None:
    if not keeps_processes_apart:
        pytest.skip("this gdb watches one process at a time")


@pytest.fixture
def forks_live(scenario: Scenario) -> None:
    """Any breakpoint of gdb's, with cuda-gdb alone (11.8, 13.0)."""
    if scenario.place == "gdbserver" and is_cuda_gdb():
        pytest.skip("cuda-gdbserver leaves gdb's breakpoints in the child of a fork, which dies of them")


def folder_of_run(factory: pytest.TempPathFactory) -> Path:
    """The same for all workers."""
    base = factory.getbasetemp()
    return base.parent if "PYTEST_XDIST_WORKER" in os.environ else base


@pytest.fixture
def compile_c(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory):
    """Builds a small C file with the generated API header: ``compile_c("x.so", source, "-shared")``. Where it
    is made of no other file of the run, the first that asks compiles it, and the others get copies."""
    shared = folder_of_run(tmp_path_factory)

    def build(name: str, source: str, *flags: str, directory: Path = tmp_path) -> Path:
        file, out = directory / (re.sub(r"\W", "_", name) + ".c"), directory / name
        file.write_text(source)
        line = ["gcc", "-D_GNU_SOURCE=", "-g", "-O0", "-fPIC", "-o", str(out), str(file), *flags, *OLDER_LIBC]
        made = shared / f"compiled-{key_of(name, source, flags)}"
        if made.exists():
            out.unlink(missing_ok=True)  # as gcc does: a program may run it
            shutil.copy(made, out)
            return out
        subprocess.run(line, check=True, timeout=60)
        if not any(str(shared) in flag for flag in flags) and {*re.findall(r'#include "(.+)"', source)} <= API_HEADER:
            part = shutil.copy(out, f"{made}.{os.getpid()}")
            os.rename(part, made)
        return out

    return build


def key_of(*parts: object) -> str:
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:16]


@pytest.fixture
def build_once(tmp_path_factory: pytest.TempPathFactory, compile_c):
    """Files that several tests only read, built by the first that asks, for all workers of the run:
    ``build_once(make, *sources)`` calls ``make(compile_c, folder, *sources)`` and returns the folder."""
    base = folder_of_run(tmp_path_factory)

    def build(make: Callable[..., None], *sources: object) -> Path:
        folder = base / f"built-{key_of(make.__module__, make.__qualname__, sources)}"
        folder.mkdir(exist_ok=True)
        with open(folder / ".lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not (folder / ".built").exists():
                make(functools.partial(compile_c, directory=folder), folder, *sources)
                (folder / ".built").touch()
        return folder

    return build

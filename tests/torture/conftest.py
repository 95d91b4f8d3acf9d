"""A small library and program to play sessions with; pyproject.toml puts scripts/torture.d on the path."""

from __future__ import annotations

import shutil
from pathlib import Path

import building
import cases
import compiling
import pytest
from building import Build
from kinds import files
from playing import Outcome
from torture_support import Torture
from watches import Terms, Watch, sized


@pytest.fixture(scope="session")
def build(tmp_path_factory: pytest.TempPathFactory) -> Build:
    """A small library and a program of one worker that calls and forks."""
    if not shutil.which("gcc"):
        pytest.skip("gcc is not installed")
    shapes = {kind.name: kind for kind in files("shapes")}
    parts = [kind for kind in files("parts") if kind.name in ("calls", "forks")]
    names = ["cuMemAlloc_v2", "cuMemAllocHost_v2", "cuMemHostAlloc"]
    made = Build(1, 0, tmp_path_factory.mktemp("torture") / "build", levels=("-O1", "-O1"), rare=30, parts=parts)
    made.functions = [(name, shapes[shape]) for name, shape in zip(names, ["compiled", "framed", "compiled"])]
    made.workers, made.status = 1, 3
    building.write(made)
    compiling.compile_all(made)
    return made


@pytest.fixture(scope="session")
def plain(build: Build) -> Outcome:
    return cases.measure(build)


@pytest.fixture
def torture(build: Build, plain: Outcome, tmp_path: Path) -> Torture:
    return Torture(build, plain, tmp_path)


@pytest.fixture
def watch() -> Watch:
    """Calls of the first function with a size of 1T."""
    return sized(Terms("cuMemAlloc_v2"), 1)

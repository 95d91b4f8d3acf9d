"""The shim for tests that let the kernel watch it: no other test's program may have the same files mapped."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from shim_support import HOOK, build_shim


@pytest.fixture(scope="session")
def shim(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy. Where a uprobe is in a file, no debugger's breakpoint is hit, in any process of the machine."""
    build, copy = build_shim(), tmp_path_factory.mktemp("watched-shim")
    for folder in ("standin", "sample"):
        shutil.copytree(build / folder, copy / folder, symlinks=True, ignore=shutil.ignore_patterns("room", "wrong"))
    shutil.copy(build / HOOK, copy)
    return copy

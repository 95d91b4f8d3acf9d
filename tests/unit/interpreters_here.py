"""One CPython of each minor version that gdbcuda knows: of this machine, or downloaded by the scripts."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import debian_python

MINORS = range(9, 16)
WITHOUT_GIL = ("3.13t", "3.14t", "3.15t")


def found() -> dict[str, str]:
    """{"3.11": its executable}, those that start."""
    return of_versions([f"3.{minor}" for minor in MINORS])


def without_gil() -> dict[str, str]:
    return of_versions(WITHOUT_GIL)


def of_versions(versions: Sequence[str]) -> dict[str, str]:
    folders = [*sorted(Path.home().glob(".pyenv/versions/*/bin")), *map(debian_python.folder, debian_python.RELEASES)]
    each = {version: executable(f"python{version}", folders) for version in versions}
    return {version: path for version, path in each.items() if path}


def executable(name: str, folders: list[Path]) -> str:
    there = [str(folder / name) for folder in folders if (folder / name).is_file()]
    for path in [*there, shutil.which(name) or ""]:
        if path and subprocess.run([path, "-c", "pass"], capture_output=True).returncode == 0:
            return path
    return ""

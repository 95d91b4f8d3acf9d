"""The CPythons of this machine, one of each minor version that gdbcuda knows, and the memory of their processes."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

from gdbcuda.errors import Unreadable

MINORS = range(9, 15)


class ProcessMemory:
    """Another process of this user's, as a debugger reads it."""

    def __init__(self, pid: int) -> None:
        self.descriptor = os.open(f"/proc/{pid}/mem", os.O_RDONLY)
        self.reads = 0

    def close(self) -> None:
        os.close(self.descriptor)

    def read(self, address: int, size: int) -> bytes:
        self.reads += 1
        try:
            data = os.pread(self.descriptor, size, address)
        except (OSError, OverflowError):
            raise Unreadable(address, size) from None
        if len(data) < size:
            raise Unreadable(address, size)
        return data


def found() -> dict[str, str]:
    """{"3.11": its executable}, those that start."""
    folders = sorted(Path.home().glob(".pyenv/versions/*/bin"))
    each = {f"3.{minor}": executable(f"python3.{minor}", folders) for minor in MINORS}
    return {version: path for version, path in each.items() if path}


def executable(name: str, folders: list[Path]) -> str:
    there = [str(folder / name) for folder in folders if (folder / name).is_file()]
    for path in [*there, shutil.which(name) or ""]:
        if path and subprocess.run([path, "-c", "pass"], capture_output=True).returncode == 0:
            return path
    return ""

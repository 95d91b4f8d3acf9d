"""numba-cuda with the compilers that it loads, for the tests: in an environment of its own, which all clones share.

It is 700 MB: too much to be unpacked again for each .venv.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from debian_gdb import CACHE, Unavailable, command, locked, say

WANTED = "numba-cuda[cu13]>=0.30"
VERSION = f"{sys.version_info.major}.{sys.version_info.minor}"
NAME = f"numba-cuda-{VERSION}"
PYTHON = CACHE / NAME / "bin" / "python"  # is there, or would be


def get() -> None:
    """Installs it the first time. Raises Unavailable."""
    with locked(NAME):
        if PYTHON.exists():
            return
        part = CACHE / f"{NAME}.part"
        for old in (part, CACHE / NAME):  # of another Python that has gone
            shutil.rmtree(old, ignore_errors=True)
        say(f"{NAME}: installing {WANTED} into {CACHE / NAME}")
        command([base(), "-m", "venv", "--without-pip", part])
        pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", part / "bin" / "python"]
        command([*pip, "install", "-q", "--no-compile", WANTED])
        part.rename(CACHE / NAME)


def base() -> str:
    """The distribution's, which has no debug info that gdb would read at each start."""
    distribution = Path(f"/usr/bin/python{VERSION}")
    return str(distribution) if distribution.exists() else sys.executable


if __name__ == "__main__":
    try:
        get()
    except (Unavailable, OSError) as problem:
        say(f"numba-cuda cannot be had, its test is skipped: {problem}")

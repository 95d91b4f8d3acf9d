"""The folder in which the demo is built: a clone, or one that looks like it (shim/, gdbcuda/), made from a wheel."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from gdbcuda.errors import UserError, cannot
from gdbcuda.files.places import CLONE, PACKAGE, clone_or_cache
from gdbcuda.text.printable import visible

MADE = {"build", "__pycache__"}
NEEDED = {"gcc": "gcc libc6-dev", "make": "make"}


def built(folder: Path, *targets: str) -> None:
    """``make`` in its shim/, which is filled first where it is not the clone's."""
    require_tools()
    try:
        if folder.resolve() != CLONE:
            fill(folder)
        log = folder / "shim" / "build" / "make.log"
        log.parent.mkdir(exist_ok=True)
        with taking_turns(log.parent), log.open("w") as output:
            done = make(folder, *targets, output=output)
    except OSError as problem:
        elsewhere = "" if folder.resolve() == CLONE else "; set XDG_CACHE_HOME to a folder that you may write into"
        raise UserError(f"{cannot(f'build anything in {folder}', problem)}{elsewhere}") from None
    if done:
        raise UserError(f"make has failed: {visible(cause(log))} (all that it said: {visible(str(log))})")


def cause(log: Path) -> str:
    """Behind it make says what it leaves. An error of make's own begins with stars, behind the place."""
    said = log.read_text(errors="replace").splitlines() or [""]
    return next((line for mark in ("error:", "*** ") for line in said if mark in line), said[-1]).strip()


@contextmanager
def taking_turns(build: Path) -> Iterator[None]:
    """Two demos at once, or a demo beside the tests, would run what the other one is writing."""
    with (build / ".lock").open("w") as lock:
        with suppress(OSError):  # a file system without locks
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def is_old(folder: Path, made: str) -> bool:
    """Whether a source of shim/, or the API table, is newer than what was made there: make looks which matter."""
    then = (folder / "shim" / "build" / made).stat().st_mtime
    return any(path.stat().st_mtime > then for path in (*files_in(sources()), *files_in(PACKAGE / "api")))


def sources() -> Path:
    """The wheel carries its own, where a clone has them beside the package."""
    return (CLONE if clone_or_cache() == CLONE else PACKAGE) / "shim"


def files_in(folder: Path) -> Iterator[Path]:
    """Without what is made there."""
    for where, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if name not in MADE]  # not gone into: there is most of what is there
        yield from filter(Path.is_file, (Path(where, name) for name in files))  # an editor's lock is a link to nothing


def require_tools() -> None:
    missing = [name for name in NEEDED if not shutil.which(name)]
    if missing:
        packages = " ".join(NEEDED[name] for name in missing)
        raise UserError(f"the demo is built here, with gcc and make; missing: {', '.join(missing)} "
                        f"(Debian: apt-get install {packages})")  # fmt: skip


def make(folder: Path, *targets: str, output: IO[str]) -> int:
    jobs = len(os.sched_getaffinity(0))
    python = sys.executable.replace("$", "$$")  # make expands what it is told
    line = ["make", "-C", str(folder / "shim"), f"-j{jobs}", f"PYTHON={python}", *targets]
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS"))}
    return subprocess.run(line, env=kept, stdout=output, stderr=subprocess.STDOUT, check=False).returncode


def fill(folder: Path) -> None:
    """With the sources that the wheel carries, beside a link to the package whose generators they use."""
    link = folder / "gdbcuda"
    if folder.exists() and any(folder.iterdir()) and not link.is_symlink():
        raise UserError(f"{folder} is not empty, and not of an earlier demo: name a new folder")
    folder.mkdir(parents=True, exist_ok=True)
    link.unlink(missing_ok=True)
    link.symlink_to(PACKAGE)
    for source in files_in(sources()):
        refresh(folder / "shim" / source.relative_to(sources()), source.read_bytes())


def refresh(path: Path, content: bytes) -> None:
    """Only where it differs, so that not everything is compiled again."""
    if not path.is_file() or path.read_bytes() != content:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)

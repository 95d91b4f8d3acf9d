"""Other gdbs, out of Debian's packages, unpacked into a folder and run from there: no root, no chroot, no install.

apt-get works on lists and a status file of its own, so that the machine's packages do not count; what it downloads is
checked with Debian's keys as ever. The unpacked gdb runs through its own ld.so, with its own libraries and Python.
"""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

MIRRORS = ("http://deb.debian.org/debian", "http://archive.debian.org/debian")
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "gdbcuda" / "matrix"
KEYS = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
HERE = Path(__file__).resolve().parent


class Unavailable(Exception):
    """Why a gdb cannot be had, in one line."""


@dataclass(frozen=True)
class Release:
    """Where a gdb comes from; ``source``: its source package, if Debian has it; ``mend``: a C file to preload into it
    (see there); ``locks``: a file in TMPDIR lets no two of them debug at a time, so each has a TMPDIR of its own."""

    suite: str
    source: str = ""
    packages: tuple[str, ...] = ("gdb", "gdbserver")
    program: str = "gdb"
    server: str = "gdbserver"
    mend: str = ""
    locks: bool = False


RELEASES = {
    "10.1": Release("bullseye", "gdb"),
    "13.1": Release("bookworm", "gdb"),
    "16.3": Release("trixie", "gdb"),
    # 11.2 (bullseye) and 12.4 (trixie) have no Python inside
    "cuda-11.8": Release(
        "bookworm", "", ("nvidia-cuda-gdb",), "cuda-gdb", "cuda-gdbserver", "debian_cuda_gdb.c", locks=True
    ),
}


def get(name: str) -> Path:
    """The folder with the gdb, by its own name, and ``gdbserver``; downloads and unpacks them the first time.
    Raises Unavailable."""
    home = CACHE / name
    with locked(name):
        if not (home / "root").exists():
            part = CACHE / f"{name}.part"
            shutil.rmtree(part, ignore_errors=True)
            unpack(name, RELEASES[name], part)
            shutil.rmtree(home, ignore_errors=True)
            part.rename(home)
        write_starters(home, RELEASES[name])
    return home / "bin"


@contextmanager
def locked(name: str) -> Iterator[None]:
    CACHE.mkdir(parents=True, exist_ok=True)
    with open(CACHE / f"{name}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def unpack(name: str, release: Release, part: Path) -> None:
    missing = [tool for tool in ("apt-get", "dpkg-deb") if not shutil.which(tool)]
    if missing:
        raise Unavailable(f"no {' and no '.join(missing)} on this machine; Debian and Ubuntu have them")
    packages = download(name, release, part)
    say(f"{name}: unpacking {len(packages)} packages into {CACHE / name}")
    for package in packages:
        command(["dpkg-deb", "-x", package, part / "root"])
    shutil.rmtree(part / "apt")


def download(name: str, release: Release, part: Path) -> list[Path]:
    """The packages and all that they need."""
    wanted = ["-y", "--download-only", "--no-install-recommends", "install", *release.packages]
    from_a_mirror("deb", name, release, part / "apt", wanted)
    return sorted((part / "apt" / "archives").glob("*.deb"))


def from_a_mirror(kind: str, name: str, release: Release, state: Path, wanted: list[str]) -> None:
    """apt-get ``wanted`` in the folder ``state``, with the first mirror that has the release. kind: deb or deb-src."""
    why: dict[str, str] = {}
    for mirror in dict.fromkeys([*own_mirrors(), *MIRRORS]):
        say(f"{name}: downloading {wanted[-1]} ({kind}) of Debian {release.suite} from {mirror}")
        options = apt_options(state, f"{kind}{signed_by()} {mirror} {release.suite} main contrib non-free\n")
        try:
            command(["apt-get", "-qq", *options, "update"], state)
            command(["apt-get", "-qq", *options, *wanted], state)
        except Unavailable as problem:
            why[mirror] = str(problem)
        else:
            return
    raise Unavailable("; ".join(f"{mirror}: {reason}" for mirror, reason in why.items()))


def own_mirrors() -> list[str]:
    """Debian mirrors that this machine's apt uses, in whichever format its sources are written."""
    try:
        shown = command(["apt-get", "indextargets", "--format", "$(REPO_URI)"])
    except Unavailable:
        return []
    return sorted({uri.rstrip("/") for uri in shown.split() if re.search(r"/debian/?$", uri)})


def signed_by() -> str:
    return f" [signed-by={KEYS}]" if KEYS.exists() else ""


def apt_options(state: Path, sources: str) -> list[str]:
    """apt-get with a state of its own: no installed package, one source, no root needed."""
    for folder in ("lists/partial", "archives/partial"):
        (state / folder).mkdir(parents=True, exist_ok=True)
    (state / "status").touch()
    (state / "sources.list").write_text(sources)
    settings = {
        "Dir::Etc::sourcelist": state / "sources.list",
        "Dir::Etc::sourceparts": "-",
        "Dir::State": state,
        "Dir::State::lists": state / "lists",
        "Dir::State::status": state / "status",
        "Dir::Cache": state,
        "Dir::Cache::archives": state / "archives",
        "Acquire::Check-Valid-Until": "false",  # an archived release is not signed again
        "Acquire::Languages": "none",
        "Acquire::Retries": "2",
        "APT::Update::Error-Mode": "any",
        "APT::Sandbox::User": "root",  # root's own folder is closed to the user _apt
    }
    return [word for key, value in settings.items() for word in ("-o", f"{key}={value}")]


def command(words: list[object], folder: Path | None = None) -> str:
    """Its output; Unavailable with the first error line."""
    done = subprocess.run([str(w) for w in words], stdin=subprocess.DEVNULL, capture_output=True, text=True, cwd=folder,
                          env={**os.environ, "LC_ALL": "C.UTF-8"}, check=False)  # fmt: skip
    if done.returncode:
        said = (done.stderr or done.stdout or f"{words[0]} failed").strip().splitlines()
        raise Unavailable(next((line for line in said if line.startswith("E:")), said[0]))
    return done.stdout


STARTER = """#!/bin/sh
# made by scripts/matrix: {program} of Debian {suite}, with its own libraries
root='{root}'
exec env {variables} "$root/{loader}" {preload}--library-path "{libraries}" "$root/usr/bin/{program}" {options}"$@"
"""


def write_starters(home: Path, release: Release) -> None:
    """In ``bin``: the gdb and its server by their own names, and the server as ``gdbserver`` too."""
    root = home / "root"
    (home / "bin").mkdir(exist_ok=True)
    loader = next(p for top in ("lib", "usr/lib") for p in root.glob(f"{top}/*-linux-gnu/ld-linux-*.so.?"))
    folders = [f"$root/{top}/{loader.parent.name}" for top in ("lib", "usr/lib")]
    own_folder = ' TMPDIR="$(mktemp -d)"' * release.locks
    common = {"suite": release.suite, "root": root, "loader": loader.relative_to(root),
              "libraries": ":".join(folders)}  # fmt: skip
    options = (
        f'--data-directory="$root/usr/share/{release.program}" -iex "unset environment PYTHONHOME" '
        f'-iex "add-auto-load-safe-path /lib/{loader.parent.name}/libthread_db.so.1" '
        f'-iex "add-auto-load-safe-path /usr/lib/{loader.parent.name}/libthread_db.so.1" '
    )
    gdb = STARTER.format(**common, program=release.program, options=options, preload=mend(home, release),
                         variables=f'PYTHONHOME="$root/usr"{own_folder}')  # fmt: skip
    server = STARTER.format(**common, program=release.server, options="", preload="",
                            variables=f"-u PYTHONHOME{own_folder}")  # fmt: skip
    for name, text in {release.program: gdb, release.server: server, "gdbserver": server}.items():
        replace(home / "bin" / name, text)


def replace(file: Path, text: str) -> None:
    """In one step: another run may be starting it."""
    part = file.with_suffix(".part")
    part.write_text(text)
    part.chmod(0o755)
    part.rename(file)


def mend(home: Path, release: Release) -> str:
    if not release.mend:
        return ""
    source, built = HERE / release.mend, home / "mend.so"
    if not built.exists() or built.stat().st_mtime < source.stat().st_mtime:
        command(["gcc", "-shared", "-fPIC", "-O1", "-o", built, source])
    return f"--preload '{built}' "


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)

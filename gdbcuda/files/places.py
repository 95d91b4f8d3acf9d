"""Where things are on this machine: the file that gdb sources, the debugger, the drop-in gdb, the user's gdbinit.

gdb 11 and newer read ``$XDG_CONFIG_HOME/gdb/gdbinit`` (``~/.config/gdb/gdbinit``), and only where that is not there
``~/.gdbinit``; gdb 10 knows the latter alone. cuda-gdb does the same with ``cuda-gdbinit``, and reads no other.
(Measured with gdb 10.1, 13.1, 16.3 and cuda-gdb 11.8, 13.0; gdb manual: "Startup".)
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from gdbcuda import __version__
from gdbcuda.errors import UserError, cannot
from gdbcuda.text.printable import typed

PACKAGE = Path(__file__).resolve().parent.parent
CLONE = PACKAGE.parent
AGENT, TRACER, DRAIN, GPU = "libgdbcuda.so", "libgdbcuda-trace.so", "gdbcuda-drain", "libgdbcuda-gpu.so"
HOW_BUILT = "gdbcuda demo without DIR, or make -C shim, does it"  # another folder is not looked into
OWN, DROP_IN = "gdbcuda", "gdbcuda-gdb"


def sourced_file() -> Path:
    """The gdbcuda.py that a user sources: at the root of a clone, inside the package in a wheel."""
    for candidate in (CLONE / "gdbcuda.py", PACKAGE / "gdbcuda.py"):
        if candidate.is_file():
            return candidate
    raise UserError(f"gdbcuda.py is neither beside nor in {PACKAGE}: install gdbcuda again")


def clone_or_cache() -> Path:
    """Where shim/ is built: the clone, or what `gdbcuda demo` has made out of the wheel."""
    if (CLONE / "shim" / "Makefile").is_file():
        return CLONE
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return Path(cache) / "gdbcuda" / f"demo-{__version__}"


def agent() -> str:
    """Our library for the program under debug; "" if it is nowhere."""
    return built(AGENT)


def built(library: str) -> str:
    """Where `gdbcuda demo` or a clone's make has built it; "" if nowhere."""
    found = clone_or_cache() / "shim" / "build" / library
    return str(found) if found.is_file() else ""


def wanted_gdb() -> str:
    """$GDBCUDA_GDB (a path or a name, cuda-gdb included), else gdb."""
    return os.environ.get("GDBCUDA_GDB") or "gdb"


def is_cuda_gdb(gdb: str) -> bool:
    return os.path.basename(gdb).startswith("cuda-gdb")


def server_of(gdb: str) -> str:
    """The gdbserver that this debugger speaks to: cuda-gdb refuses any but its own."""
    return "cuda-gdbserver" if is_cuda_gdb(gdb) else "gdbserver"


def init_name(gdb: str) -> str:
    """Of its init files, "." in front where they are not in a folder for such files."""
    return "cuda-gdbinit" if is_cuda_gdb(gdb) else "gdbinit"


def gdbinits(name: str) -> tuple[str, str]:
    """The user's two files that the debugger may read, the newer place first, whether they are there or not."""
    config = os.environ.get("XDG_CONFIG_HOME") or os.path.expanduser("~/.config")
    return os.path.join(config, "gdb", name), os.path.expanduser(f"~/.{name}")


def gdbinit(name: str) -> str:
    """The one that is read."""
    newer, older = gdbinits(name)
    return newer if os.path.isfile(newer) else older


def find_gdb() -> str:
    """Where the wanted debugger is; UserError if it is nowhere."""
    wanted = wanted_gdb()
    found = on_path(wanted)
    if found is None:
        why = "GDBCUDA_GDB names it" if os.environ.get("GDBCUDA_GDB") else "apt-get install gdb"
        raise UserError(f"no {wanted} on this machine ({why})")
    return found


def on_path(name: str, mode: int = os.X_OK) -> str | None:
    import shutil  # it loads three compressors

    return shutil.which(name, mode)


def named(command: str) -> str | None:
    """The file that a shell takes a command for: one that is not executable where no other is in PATH."""
    return command if "/" in command else on_path(command) or on_path(command, os.F_OK)


def program(name: str) -> str:
    """The file that a command starts; `UserError` says why it starts none."""
    path = named(name)
    why = why_not_started(path)
    if path is None or why:
        raise UserError(f"cannot start {path or name}: {why}")
    return path


def why_not_started(path: str | None) -> str:
    """ "" where it may be."""
    if path is None:
        return "there is no such command in PATH"
    if not os.path.isfile(path):
        return "it is a folder" if os.path.isdir(path) else "no such file or directory"
    return "" if os.access(path, os.X_OK) else "it is not executable"


def not_started(name: str, problem: OSError) -> UserError:
    """What the system says is not what is wrong: "permission denied" of a folder."""
    try:
        program(name)
    except UserError as known:
        return known
    return cannot(f"start {name}", problem)


def own_command() -> str:
    """``gdbcuda`` as it can be typed here: with its path where PATH does not lead to it."""
    return OWN if on_path(OWN) else typed(beside(OWN))


def drop_in_gdb() -> str:
    """The program ``gdbcuda-gdb``."""
    return beside(DROP_IN)


def beside(name: str) -> str:
    """Our program of that name: beside the one that runs, beside its Python, or in PATH; else its bare name."""
    for folder in (os.path.dirname(sys.argv[0]), os.path.dirname(sys.executable)):
        if os.access(os.path.join(folder, name), os.X_OK):
            return os.path.abspath(os.path.join(folder, name))
    return on_path(name) or name

"""Where things are on this machine: the file that gdb sources, the debugger, the drop-in gdb."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

from gdbcuda.errors import UserError

DROP_IN = "gdbcuda-gdb"


def sourced_file() -> Path:
    """The gdbcuda.py that a user sources: at the root of a clone, inside the package in a wheel."""
    package = Path(__file__).resolve().parent
    for candidate in (package.parent / "gdbcuda.py", package / "gdbcuda.py"):
        if candidate.is_file():
            return candidate
    raise UserError(f"gdbcuda.py is neither beside nor in {package}: install gdbcuda again")


def wanted_gdb() -> str:
    """$GDBCUDA_GDB (a path or a name, cuda-gdb included), else gdb."""
    return os.environ.get("GDBCUDA_GDB") or "gdb"


def server_of(gdb: str) -> str:
    """The gdbserver that this debugger speaks to: cuda-gdb refuses any but its own."""
    return "cuda-gdbserver" if os.path.basename(gdb).startswith("cuda-gdb") else "gdbserver"


def find_gdb() -> str:
    """Where the wanted debugger is; UserError if it is nowhere."""
    wanted = wanted_gdb()
    found = shutil.which(wanted)
    if found is None:
        why = "GDBCUDA_GDB names it" if os.environ.get("GDBCUDA_GDB") else "apt-get install gdb"
        raise UserError(f"no {wanted} on this machine ({why})")
    return found


def drop_in_gdb() -> str:
    """The program ``gdbcuda-gdb``: beside the one that runs, beside its Python, or in PATH; else its bare name."""
    for folder in (os.path.dirname(sys.argv[0]), os.path.dirname(sys.executable)):
        if os.access(os.path.join(folder, DROP_IN), os.X_OK):
            return os.path.abspath(os.path.join(folder, DROP_IN))
    return shutil.which(DROP_IN) or DROP_IN

"""The words that start gdb: what the user's environment tells the program's Python is not told to gdb's own.

gdb has a Python in it, mostly of another version. With PYTHONHOME of the program's it does not begin at all, with
PYTHONOPTIMIZE=2 commands have no help. The program gets these variables as they are. (gdb manual: "Environment")
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence

from gdbcuda.errors import UserError
from gdbcuda.files import places
from gdbcuda.text.printable import visible

WHERE_IT_IS = ("PYTHONHOME", "PYTHONPLATLIBDIR")
HOW_IT_RUNS = ("PYTHONOPTIMIZE", "PYTHONWARNINGS")
HAS_PYTHON = "gdb has Python"
BUILT_WITHOUT = "not supported in this copy of GDB"
PATIENCE = 20.0  # seconds


def gdb_words(environment: Mapping[str, str] | None = None) -> list[str]:
    """Further options of gdb's and the program follow. ``environment``: the program's, ours unless given."""
    given = os.environ if environment is None else environment
    gdb = places.find_gdb()
    names = [one for one in HOW_IT_RUNS if one in given]
    names += [one for one in WHERE_IT_IS if one in given and begins_without(gdb, given)]
    if not names:
        return [gdb]
    without = [word for one in names for word in ("-u", one)]
    back = [word for one in names for word in ("-iex", f"set environment {one} {given[one]}")]
    return ["/usr/bin/env", *without, gdb, *back]


def require_python() -> None:
    """For what takes long, or whose fault would be another one's, where gdb's own line is not seen."""
    why = why_no_python(gdb_words(), os.environ)
    if why:
        raise UserError(f"a gdb with Python is needed, and {places.find_gdb()} {why}: GDBCUDA_GDB names another")


def begins_without(gdb: str, environment: Mapping[str, str]) -> bool:
    """False for a gdb whose Python was moved, and is found by these variables alone."""
    return not why_no_python([gdb], {name: value for name, value in environment.items() if name not in WHERE_IT_IS})


def why_no_python(gdb: Sequence[str], environment: Mapping[str, str]) -> str:
    """What is said behind its name; "" where it has one."""
    asked = [*gdb, "-nx", "-q", "-batch", "-ex", f"python print({HAS_PYTHON!r})"]
    try:
        said = subprocess.run(asked, env=environment, stdin=subprocess.DEVNULL, capture_output=True, timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        return f"did not answer in {PATIENCE:g} s"
    except OSError as problem:
        return f"cannot be started ({(problem.strerror or str(problem)).lower()})"
    if HAS_PYTHON.encode() in said.stdout:
        return ""
    lines = said.stderr.decode(errors="backslashreplace").split("\n")
    if any(BUILT_WITHOUT in one for one in lines):
        return "has none (gdb-minimal?)"
    last = next((one.strip() for one in reversed(lines) if one.strip()), "")
    return f"does not run it ({visible(last) or f'status {said.returncode}'})"

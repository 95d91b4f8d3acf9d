"""A gdb that is built without Python, as Debian's gdb-minimal: what needs another one says so."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from forking_gdbcuda import run_gdbcuda
from shim_support import ROOT

SAYS = "#!/bin/sh\necho 'Python scripting is not supported in this copy of GDB.' >&2\n"


@pytest.mark.parametrize("words", ["demo there", "fail cuInit with 2 -- true", "ab --with stops --hook none -- true",
                                   "trace -o there --pid PID"])  # fmt: skip
def test_it_is_one_line(words: str, tmp_path: Path) -> None:
    gdb = tmp_path / "gdb"
    gdb.write_text(SAYS)
    gdb.chmod(0o755)
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "GDBCUDA_GDB": str(gdb)}
    done = run_gdbcuda(*words.replace("PID", str(os.getpid())).split(), cwd=tmp_path, env=environment)
    said = f"gdbcuda: a gdb with Python is needed, and {gdb} has none (gdb-minimal?): GDBCUDA_GDB names another\n"
    assert (done.returncode, done.stderr) == (2, said)


def test_what_it_shows_of_the_file_that_is_sourced() -> None:
    """The first line is a command to it, an ambiguous one (define, define-prefix), which it shows in full."""
    assert (ROOT / "gdbcuda.py").read_text().startswith("def _gdbcuda_needs_a_gdb_with_python(")

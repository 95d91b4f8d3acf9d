"""A gdb that is built without Python, as Debian's gdb-minimal, or that does not begin: what needs another one says
which it is."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from forking_gdbcuda import run_gdbcuda
from shim_support import ROOT

from gdbcuda.errors import UserError
from gdbcuda.shell import gdb_words

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


FAILS = {
    "echo 'gdb: error while loading shared libraries: libncurses.so.5: cannot open' >&2; exit 127":
        "does not run it (gdb: error while loading shared libraries: libncurses.so.5: cannot open)",
    "exit 3": "does not run it (status 3)",
    "exec sleep 5": "did not answer in 0.2 s",
}  # fmt: skip


@pytest.mark.parametrize("script", FAILS)
def test_a_gdb_that_does_not_begin_is_not_called_one_without(
    script: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gdb = tmp_path / "gdb"
    gdb.write_text(f"#!/bin/sh\n{script}\n")
    gdb.chmod(0o755)
    monkeypatch.setenv("GDBCUDA_GDB", str(gdb))
    monkeypatch.setattr(gdb_words, "PATIENCE", 0.2 if "sleep" in script else 20.0)
    with pytest.raises(UserError) as found:
        gdb_words.require_python()
    assert str(found.value) == f"a gdb with Python is needed, and {gdb} {FAILS[script]}: GDBCUDA_GDB names another"


def test_what_it_shows_of_the_file_that_is_sourced() -> None:
    """The first line is a command to it, an ambiguous one (define, define-prefix), which it shows in full."""
    assert (ROOT / "gdbcuda.py").read_text().startswith("def _gdbcuda_needs_a_gdb_with_python(")

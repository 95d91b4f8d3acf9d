"""One line in the gdbinit that this gdb reads, in and out again, and a gdb that then has the extension."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from scenario import GDB, ROOT, execute

from gdbcuda.files import places

NAME = places.init_name(GDB)
LINE = f"source {ROOT}/gdbcuda.py\n"
MINE = "# mine\nset print pretty on\n"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    return tmp_path


def install(*words: str) -> subprocess.CompletedProcess[str]:
    line = [sys.executable, "-m", "gdbcuda.shell.cli", "install", *words]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run(line, env=environment, stdin=subprocess.DEVNULL, text=True, capture_output=True, check=False)


def commands_known() -> bool:
    return "Break in one implementation" in execute([GDB, "-q", "-batch", "-ex", "help cuda-break"], dict(os.environ))


def is_old() -> bool:
    """gdb 10 reads ~/.gdbinit alone."""
    return re.search(r"GNU gdb .* 10\.", execute([GDB, "--version"], dict(os.environ))) is not None


@pytest.mark.parametrize("place", [f".{NAME}", f".config/gdb/{NAME}"])
def test_in_and_out_again(home: Path, place: str) -> None:
    file = home / place
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(MINE)
    shown = install("--yes").stdout
    assert shown.startswith(f"{file} gets one line, at its end:\n  {LINE}")
    assert file.read_text() == MINE + LINE
    assert commands_known() or (place != f".{NAME}" and is_old())
    assert "has the line already" in install("--yes").stdout and file.read_text() == MINE + LINE
    assert install("--remove", "--yes").stdout == f"{file} loses one line:\n  {LINE}"
    assert file.read_text() == MINE
    assert install("--remove", "--yes").stdout == f"{file} has no line of gdbcuda\n"


def test_the_file_that_gdb_reads(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """gdb 11 and newer: the one in the configuration folder, if it is there."""
    (home / "x" / "gdb").mkdir(parents=True)
    (home / f".{NAME}").write_text(MINE)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home / "x"))
    install("--yes")
    assert (home / f".{NAME}").read_text() == MINE + LINE and commands_known()
    install("--remove", "--yes")
    (home / "x" / "gdb" / NAME).write_text("")
    shown = install("--yes").stdout
    assert (home / f".{NAME}").read_text() == MINE and (home / "x" / "gdb" / NAME).read_text() == LINE
    assert f"gdb 10 and older read {home}/.{NAME}" in shown


@pytest.mark.parametrize("place", [".cuda-gdbinit", ".config/gdb/cuda-gdbinit"])
def test_cuda_gdb_reads_a_file_of_its_own(home: Path, place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GDBCUDA_GDB", raising=False)
    file = home / place
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(MINE)
    assert "(cuda-gdb reads a file of its own:  GDBCUDA_GDB=cuda-gdb gdbcuda install)\n" in install("--yes").stdout
    monkeypatch.setenv("GDBCUDA_GDB", "cuda-gdb")
    shown = install("--yes").stdout
    assert shown.startswith(f"{file} gets one line") and "\nEvery cuda-gdb loads gdbcuda from now on." in shown
    assert file.read_text() == MINE + LINE and (home / ".gdbinit").read_text() == LINE
    install("--remove", "--yes")
    assert file.read_text() == MINE and not (home / ".gdbinit").exists()


@pytest.mark.parametrize("place", ["", "/nowhere/at/all", "relative"])
def test_without_a_home(home: Path, place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """gdb does not look into the password file, and no folder is made."""
    monkeypatch.setenv("HOME", place)
    done = install("--yes")
    assert (done.returncode, done.stdout) == (2, "") and len(done.stderr.splitlines()) == 1
    assert done.stderr.startswith(f"gdbcuda: HOME is '{place}', so gdb would not find its gdbinit")
    assert not Path("/nowhere").exists()


def test_nothing_is_written_unasked(home: Path) -> None:
    done = install()
    assert (done.returncode, os.listdir(home)) == (1, [])
    assert done.stdout.endswith("Nothing is written yet: the same with --yes does.\n")


def test_a_new_file_goes_as_it_came(home: Path) -> None:
    install("--yes")
    assert (home / f".{NAME}").read_text() == LINE
    install("--remove", "--yes")
    assert os.listdir(home) == []


def test_the_line_of_another_clone(home: Path) -> None:
    (home / f".{NAME}").write_text(f"set a 1\nsource /old/gdbcuda.py\n{MINE}source /older/gdbcuda.py\n")
    assert "in the place of an older one" in install("--yes").stdout
    assert (home / f".{NAME}").read_text() == f"set a 1\n{LINE}{MINE}"


def test_last_line_without_end_and_link(home: Path) -> None:
    (home / "dotfiles").write_text("set confirm off")
    (home / f".{NAME}").symlink_to(home / "dotfiles")
    install("--yes")
    assert (home / f".{NAME}").is_symlink() and (home / "dotfiles").read_text() == f"set confirm off\n{LINE}"


def test_a_file_that_cannot_be_written(home: Path) -> None:
    (home / f".{NAME}").mkdir()
    done = install("--yes")
    assert done.returncode == 2 and len(done.stderr.splitlines()) == 1
    assert done.stderr.startswith(f"gdbcuda: cannot read {home}/.{NAME}: ")


def test_loaded_from_everywhere_once_and_silently(home: Path) -> None:
    """The gdbinit, gdbcuda-gdb and a project's own may all source it."""
    install("--yes")
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    line = [sys.executable, "-c", "from gdbcuda.shell.cli import gdb_main; gdb_main()", "-q", "-batch"]
    source = f"source {ROOT}/gdbcuda.py"
    done = subprocess.run(
        [*line, "-ex", source, "-ex", "echo done"], env=environment, text=True, capture_output=True, check=True
    )
    assert (done.stdout, done.stderr) == ("done", "")


def test_a_program_under_it_has_its_signals_as_without_us(home: Path) -> None:
    """Python ignores SIGPIPE, and a gdb that it becomes would hand that on."""
    grep = [str(shutil.which("grep")), "SigIgn", "/proc/self/status"]
    alone = subprocess.run(grep, text=True, capture_output=True, check=True).stdout
    line = [sys.executable, "-c", "from gdbcuda.shell.cli import gdb_main; gdb_main()", "-nx", "-q", "-batch"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run([*line, "-ex", "run", "--args", *grep], env=environment, text=True, capture_output=True)
    assert alone in done.stdout, done

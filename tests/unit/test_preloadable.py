"""A library whose path ld.so would split is refused before anything runs or is written; a link to it is taken."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from forking_gdbcuda import run_gdbcuda
from shim_support import HOOK, ROOT

from gdbcuda.errors import UserError
from gdbcuda.files.preloadable import require_auditable, require_preloadable
from gdbcuda.shell import cli
from gdbcuda.shell.conform import cases
from gdbcuda.shell.demo import cli as demo
from gdbcuda.shell.hook_given import AUDIT, hook_given
from gdbcuda.shell.trace.starting import environment


def test_given_to_a_command_of_the_shell(shim: Path, tmp_path: Path) -> None:
    for name in ("with blank", "with:colon"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "libhook.so").symlink_to(shim / HOOK)
        with pytest.raises(UserError, match="LD_PRELOAD cannot name"):
            hook_given(str(tmp_path / name / "libhook.so"))
        (tmp_path / "libhook.so").unlink(missing_ok=True)
        (tmp_path / "libhook.so").symlink_to(tmp_path / name / "libhook.so")
        assert cases.checked(str(tmp_path / "libhook.so")) == f"{tmp_path}/libhook.so"


@pytest.fixture(scope="module")
def audits(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Says that it is there, named by either variable."""
    made = tmp_path_factory.mktemp("audits") / "audits.so"
    subprocess.run(["gcc", "-x", "c", "-shared", "-fPIC", "-o", made, "-"], input=SAYS_SO, text=True, check=True)
    return made


SAYS_SO = """
#include <unistd.h>
unsigned la_version(unsigned version) { return write(1, "here", 4) == 4 ? version : 0; }
__attribute__((constructor)) static void begin(void) { la_version(0); }
"""


@pytest.mark.parametrize(("clone", "helps"), [(True, "move the clone"), (False, "set XDG_CACHE_HOME to a folder")])
def test_where_a_demo_is_built_by_itself(
    clone: bool, helps: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Another folder would not help: other commands look for what is built in the clone or the cache alone."""
    monkeypatch.setattr(demo, "clone_or_cache", lambda: tmp_path / "h ome")
    monkeypatch.setattr(demo, "CLONE", tmp_path / "h ome" if clone else tmp_path)
    assert cli.main(["demo", "--build-only"]) == 2
    assert f"splits it at blanks and colons; {helps}" in capsys.readouterr().err


def test_a_clone_that_ld_so_would_split(tmp_path: Path) -> None:
    """Before packages are installed, and .venv is made."""
    scripts = tmp_path / "with blank" / "scripts"
    scripts.mkdir(parents=True)
    shutil.copy(ROOT / "scripts" / "demo", scripts)
    done = subprocess.run([scripts / "demo", "--real"], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (2, "") and done.stderr.endswith("; move the clone\n")
    elsewhere = subprocess.run([scripts / "demo", tmp_path], capture_output=True, text=True)
    assert "scripts/setup" in elsewhere.stderr


@pytest.mark.parametrize("splits", [" ", ":", "\t", "\n", "\u3000", "\xa0", ";"])
def test_where_ld_so_splits(splits: str, audits: Path, tmp_path: Path) -> None:
    library = tmp_path / f"a{splits}b" / "audits.so"
    library.parent.mkdir()
    shutil.copy(audits, library)
    for variable, require in (("LD_PRELOAD", require_preloadable), ("LD_AUDIT", require_auditable)):
        done = subprocess.run(["/bin/true"], env={variable: str(library)}, capture_output=True, check=True)
        try:
            require(str(library))
            assert b"here" in done.stdout
        except UserError:
            assert done.stdout == b""


def test_one_for_ld_audit(audits: Path, tmp_path: Path) -> None:
    for name in ("with blank", "with:colon"):
        (tmp_path / name).mkdir()
        shutil.copy(audits, tmp_path / name)
    assert hook_given(f"{tmp_path}/with blank/audits.so", (AUDIT,)) == f"{tmp_path}/with blank/audits.so"
    with pytest.raises(UserError, match=r"LD_AUDIT cannot name .* splits it at colons; move it"):
        hook_given(f"{tmp_path}/with:colon/audits.so", (AUDIT,))


def test_the_end_of_a_line_in_a_command_of_gdb(capsys: pytest.CaptureFixture[str], shim: Path, tmp_path: Path) -> None:
    (tmp_path / "a\nb.so").symlink_to(shim / HOOK)
    assert cli.main(["run", "--hook", str(tmp_path / "a\nb.so"), "--", "true"]) == 2
    assert "its commands end with the line" in capsys.readouterr().err


def test_of_another_machine(shim: Path, tmp_path: Path) -> None:
    library = bytearray((shim / "sample" / "minimal_hook.so").read_bytes())
    library[18] = 0xB7
    (tmp_path / "libhook.so").write_bytes(library)
    for look in (cases.checked, lambda path: environment({}, path, 0, [])):
        with pytest.raises(UserError, match="is for aarch64, 64 bits; programs are for x86-64, 64 bits"):
            look(str(tmp_path / "libhook.so"))


@pytest.mark.parametrize("command", ["new-hook", "demo"])
def test_a_folder_to_build_in(command: str, tmp_path: Path) -> None:
    done = run_gdbcuda(command, "with blank", *(["--name", "x"] if command == "new-hook" else []), cwd=tmp_path)
    problem = f"LD_PRELOAD cannot name a library in '{tmp_path}/with blank': ld.so splits it at blanks and colons"
    assert (done.returncode, done.stderr) == (2, f"gdbcuda: {problem}; choose another folder\n")
    assert list(tmp_path.iterdir()) == []

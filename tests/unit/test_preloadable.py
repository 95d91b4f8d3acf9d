"""A library whose path ld.so would split is refused before anything runs or is written; a link to it is taken."""

from __future__ import annotations

from pathlib import Path

import pytest
from forking_gdbcuda import run_gdbcuda
from shim_support import HOOK

from gdbcuda.errors import UserError
from gdbcuda.shell.conform import cases
from gdbcuda.shell.hook_given import hook_given
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

"""gdbcuda conform --real: over what the loader finds. Here that is the stand-in, in the place of a machine's driver."""

from __future__ import annotations

from pathlib import Path

import pytest
from conform_hooks import ConformFiles


@pytest.fixture(scope="module")
def files(shim: Path, tmp_path_factory: pytest.TempPathFactory) -> ConformFiles:
    return ConformFiles(tmp_path_factory.mktemp("real"), shim)


def test_groups_that_prescribe_answers_are_left_out(files: ConformFiles, shim: Path) -> None:
    hook = shim / "sample/wrong/life/large_frame.so"
    cases = ("transparent", "status", "faults", "life/small-stack", "resolving/cuMemFree", "books/cuMemAlloc_v2")
    done = files.run(hook, "--real", *(f"--only={one}" for one in cases), LD_LIBRARY_PATH=str(shim / "standin"))
    assert "large_frame.so breaks its contract in 1 of 3 cases" in done.stdout, done.stderr
    assert "life/small-stack: a program whose thread has a small stack ends with SIGSEGV" in done.stdout
    for group in ("transparent", "status", "faults"):
        assert f"{group}: no driver but the stand-in answers as it is told" in done.stdout


@pytest.mark.parametrize("hook, case", [
    ("resolving/nothing_found", "resolving/cuMemAllocAsync"), ("life/large_frame", "life/small-stack"),
])  # fmt: skip
def test_a_shown_program_is_run_over_it_too(
    files: ConformFiles, shim: Path, tmp_path: Path, hook: str, case: str
) -> None:
    """Nothing of the stand-in is in the commands, but what the program is linked against."""
    library, driver = shim / f"sample/wrong/{hook}.so", tmp_path / "driver"
    driver.symlink_to(shim / "standin")
    given = ("--show", case, "--env", "QUOTA=1m")
    done = files.run(library, "--real", *given, LD_LIBRARY_PATH=str(driver))
    lines = [line.strip() for line in done.stdout[: done.stdout.index("*/")].splitlines()]
    assert f"LD_LIBRARY_PATH={driver} QUOTA=1m LD_PRELOAD={library} ./case" in lines, done.stderr
    assert any(line.startswith(f"LD_LIBRARY_PATH={driver} QUOTA=1m gdbcuda gdb ") for line in lines)
    assert not [line for line in lines if "standin" in line.lower() and "gcc" not in line]


def test_without_a_driver_it_is_said(files: ConformFiles, shim: Path, tmp_path: Path) -> None:
    """No libcuda that the loader could load: one of another architecture, so to speak."""
    (tmp_path / "libcuda.so.1").write_text("none")
    done = files.run(shim / "sample/minimal_hook.so", "--real", LD_LIBRARY_PATH=str(tmp_path))
    assert done.returncode == 2 and done.stderr.startswith("gdbcuda: --real needs a driver on this machine")
    assert len(done.stderr.splitlines()) == 1

"""Which files are watched of a program that has not started."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from elf_build import compiled

from gdbcuda import api
from gdbcuda.observe import watched_files


def test_the_runtime_that_a_packaged_pytorch_brings(tmp_path: Path) -> None:
    """The loader would find another one, or none: PyTorch asks for the one in its packages."""
    packages = tmp_path / "lib" / "python3.12" / "site-packages" / "nvidia" / "cu13" / "lib"
    packages.mkdir(parents=True)
    (tmp_path / "bin").mkdir()
    for name in ("python3", "other"):
        (tmp_path / "bin" / name).symlink_to(os.path.realpath(sys.executable))
    built = compiled(packages, "int cudaMalloc(void **a, long b) { return 0; }", "-Wl,-soname,libcudart.so.13",
                     name="libcudart.so.13", source_name="cudart.c")  # fmt: skip

    def watched(name: str) -> list[str]:
        found = watched_files.of_program([str(tmp_path / "bin" / name)], [], api.load())
        return [one.path for one, _ in found.files if one.path == str(built)]

    assert watched("python3") == [str(built)] and watched("other") == []

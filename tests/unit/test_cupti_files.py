"""Where CUPTI is found, and what our library is built with."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from gdbcuda.errors import UserError
from gdbcuda.files import places
from gdbcuda.gpu import cupti_files, gpu_recording

HEADER = "\n".join(f"}} CUpti_Activity{name};" for name in (
    "Kernel8", "Kernel10", "Kernel9", "Memcpy5", "MemcpyPtoP4", "Memset4", "Memory", "Memory3", "MemoryPool2",
    "UnifiedMemoryCounter2", "Synchronization", "Device4"))  # fmt: skip


def folder(at: Path, *files: str) -> Path:
    for file in files:
        (at / file).parent.mkdir(parents=True, exist_ok=True)
        (at / file).write_text(HEADER if file.endswith("cupti_activity.h") else "")
    return at


@pytest.fixture
def only(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A toolkit, and no other place."""
    monkeypatch.setattr(cupti_files, "toolkits", lambda: iter([str(tmp_path / "cuda")]))
    monkeypatch.setattr(cupti_files, "sites", lambda: iter([str(tmp_path / "site-packages")]))
    return tmp_path


def test_a_toolkit(only: Path) -> None:
    folder(only / "cuda", "include/cuda.h", "extras/CUPTI/include/cupti.h", "extras/CUPTI/include/cupti_activity.h",
           "extras/CUPTI/lib64/libcupti.so", "extras/CUPTI/lib64/libcupti.so.12",
           "extras/CUPTI/lib64/libcupti.so.2025.3.1")  # fmt: skip
    flags = cupti_files.for_make()
    assert f"-isystem '{only}/cuda/extras/CUPTI/include' -isystem '{only}/cuda/include'" in flags
    assert "-DCUPTI_SONAME='\"libcupti.so.12\"'" in flags
    assert "-DCUPTI_KERNEL=CUpti_ActivityKernel10 " in flags and "-DCUPTI_MEMORY=CUpti_ActivityMemory3 " in flags
    assert "-DCUPTI_WAIT=CUpti_ActivitySynchronization " in flags
    assert cupti_files.libraries() == [f"{only}/cuda/extras/CUPTI/lib64/libcupti.so.12"]


def test_packages(only: Path) -> None:
    """The header of CUDA is in another one."""
    nvidia = only / "site-packages" / "nvidia"
    headers = "cuda_cupti/include/cupti.h", "cuda_cupti/include/cupti_activity.h"
    folder(nvidia, *headers, "cuda_cupti/lib/libcupti.so.11.8")
    assert cupti_files.for_make() == ""
    folder(nvidia, "cuda_runtime/include/cuda.h")
    assert "libcupti.so.11.8" in cupti_files.for_make() and "cuda_runtime/include'" in cupti_files.for_make()


def test_without_any_the_rest_is_built_and_it_is_said(only: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert cupti_files.for_make() == "" and cupti_files.libraries() == []
    monkeypatch.setattr(places, "built", lambda library: "")
    with pytest.raises(UserError, match="there is no CUPTI here to build it with: install the CUDA toolkit or"):
        gpu_recording.environment({})


def test_a_version_that_our_library_does_not_fit_breaks_that_alone(tmp_path: Path) -> None:
    """Its header has none of the fields that we read."""
    shim = Path(__file__).resolve().parents[2] / "shim"
    library = tmp_path / "libgdbcuda-gpu.so"
    line = ["make", "-C", str(shim), f"GPU_LIBRARY={library}", "CUPTI_FLAGS=-DCUPTI_SONAME=0", str(library)]
    made = subprocess.run(line, capture_output=True, text=True, check=False)
    assert made.returncode == 0 and "libgdbcuda-gpu.so cannot be built with this CUPTI" in made.stderr
    assert not library.exists()

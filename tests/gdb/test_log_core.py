"""The recorder's calls, out of a core file: they are those that were made before the crash."""

from __future__ import annotations

import platform
import re
import resource
import subprocess
import sys
from pathlib import Path

import pytest
from scenario import Scenario

pytestmark = pytest.mark.skipif(platform.machine() != "x86_64", reason="the recorder is made for x86-64")

CRASH = """
int cuInit(unsigned); int cuDeviceGet(int *, int); int cuDevicePrimaryCtxRetain(void **, int);
int cuCtxSetCurrent(void *); int cuMemAlloc_v2(unsigned long *, unsigned long); int cuMemFree_v2(unsigned long);
int main(void) {
    int device; void *context; unsigned long block;
    cuInit(0); cuDeviceGet(&device, 0); cuDevicePrimaryCtxRetain(&context, device); cuCtxSetCurrent(context);
    for (int i = 0; i < 100; i++) { cuMemAlloc_v2(&block, 5000 + i); cuMemFree_v2(block); }
    cuMemAlloc_v2(&block, 1234);
    return cuMemAlloc_v2((unsigned long *)16, 4096);
}
"""
VIEWS = ("cuda-log", "cuda-log show --last 3", "cuda-log summary", "cuda-memory")


def assert_told(text: str, count: int) -> None:
    assert f"{count} calls kept" in text, text
    assert re.search(r"#\d+ .* cuMemAlloc_v2\(.*bytesize=1234 .*CUDA_SUCCESS .* by main at crash.c:8", text), text
    assert re.search(r"#\d+ .* driver +cuMemAlloc_v2\(dptr=0x10, bytesize=4096 .*not over", text), text
    assert re.search(r"cuMemFree_v2 +driver +100", text), text
    assert "1234 [1.21 KiB]" in text.partition("called from")[2] and "No block is live" not in text, text


@pytest.fixture
def crash(local: Scenario, compile_c) -> Path:
    return compile_c("crash", CRASH, f"-L{local.shim}/standin", "-l:libcuda.so.1")


def test_of_the_recorder_under_gdb(local: Scenario, crash: Path, tmp_path: Path) -> None:
    """What gdb had read before is in the core file as well."""
    environment = {"LD_LIBRARY_PATH": f"{local.shim}/standin"}
    core = tmp_path / "made.core"
    text = local.run(crash, "cuda-log start --fast", "break cuCtxSetCurrent", "RUN", "delete", "continue", "cuda-log",
                     f"generate-core-file {core}", "kill", hook=None, environment=environment)  # fmt: skip
    kept = re.search(r"(\d+) calls kept", text)
    assert kept is not None and core.is_file(), text
    text = local.run(crash, f"core-file {core}", *VIEWS, f"cuda-log save {tmp_path / 'saved'}", hook=None,
                     environment=environment)  # fmt: skip
    assert_told(text, int(kept[1]))
    assert f"{kept[1]} calls written to" in text


@pytest.mark.parametrize("has_files", [True, False])
def test_of_gdbcuda_trace(local: Scenario, crash: Path, tmp_path: Path, has_files: bool) -> None:
    """The kernel's core file has no mapped files. Where they are gone, what is missing is said."""
    environment = {"LD_LIBRARY_PATH": f"{local.shim}/standin", "PATH": "/usr/bin:/bin"}
    line = [sys.executable, "-m", "gdbcuda", "trace", "-o", "log", "--", str(crash)]
    subprocess.run(
        line, cwd=tmp_path, env={**environment, "PYTHONPATH": str(Path(__file__).parents[2])}, check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CORE, (resource.RLIM_INFINITY,) * 2),
    )  # fmt: skip
    written = sorted(tmp_path.glob("core*"))
    if not written:
        pytest.skip("the kernel writes core files elsewhere (/proc/sys/kernel/core_pattern)")
    if not has_files:
        for one in (tmp_path / "log").glob("*.ring"):
            one.unlink()
    text = local.run(crash, f"core-file {written[0]}", *VIEWS, hook=None, environment=environment)
    if has_files:
        assert_told(text, 206)
    else:
        told = "gdbcuda: 0 calls are in the core file, 206 are not, or were overwritten (gdbcuda log show "
        assert told in text, text


def test_of_another_version_is_said(local: Scenario, crash: Path, tmp_path: Path) -> None:
    """An empty log would say that nothing was called."""
    core = tmp_path / "made.core"
    text = local.run(crash, "cuda-log start --fast", "break cuCtxSetCurrent", "RUN",
                     "set var *(long *)&gdbcuda_recorder_v1 = 5", f"generate-core-file {core}", "kill", "cuda-log stop",
                     f"core-file {core}", "cuda-log", hook=None,
                     environment={"LD_LIBRARY_PATH": f"{local.shim}/standin"})  # fmt: skip
    said = "gdbcuda: the recorder's calls are not read from the core file: the recorder in the process is of another v"
    assert text.count(said) == 1, text

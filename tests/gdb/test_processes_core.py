"""Core files: everything that looks works on them, also where an object's file is missing or another build."""

from __future__ import annotations

import re
import resource
import shutil
import subprocess
from pathlib import Path

import pytest
from scenario import Scenario

CRASH = """
int cuInit(unsigned); int cuDeviceGet(int *, int); int cuDevicePrimaryCtxRetain(void **, int);
int cuCtxSetCurrent(void *); int cuMemAlloc_v2(unsigned long *, unsigned long);
int main(void) {
    int device; void *context; unsigned long block;
    cuInit(0); cuDeviceGet(&device, 0); cuDevicePrimaryCtxRetain(&context, device); cuCtxSetCurrent(context);
    cuMemAlloc_v2(&block, 1234);
    return cuMemAlloc_v2((unsigned long *)16, 4096);
}
"""


@pytest.fixture
def dead(local: Scenario, compile_c, tmp_path: Path) -> Path:
    """A folder with program, hook library, driver and the core file of a crash inside the driver."""
    for file in (local.hook, local.shim / "standin" / "libcuda.so.1"):
        shutil.copy(file, tmp_path)
    compile_c("crash", CRASH, f"-L{local.shim}/standin", "-l:libcuda.so.1")
    return died(tmp_path, tmp_path / local.hook.name)


def died(folder: Path, preloaded: Path) -> Path:
    """A core file as the kernel writes it: without what is in the files of the libraries."""
    environment = {"LD_PRELOAD": str(preloaded), "LD_LIBRARY_PATH": str(folder)}
    subprocess.run(
        ["./crash"], cwd=folder, env=environment, check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CORE, (resource.RLIM_INFINITY,) * 2),
    )  # fmt: skip
    written = sorted(folder.glob("core*"))
    if not written:
        pytest.skip("the kernel writes core files elsewhere (/proc/sys/kernel/core_pattern)")
    written[0].rename(folder / "the.core")
    return folder


def look(local: Scenario, folder: Path, *commands: str) -> str:
    environment = {"LD_LIBRARY_PATH": str(folder)}
    return local.run(folder / "crash", f"core-file {folder}/the.core", *commands, hook=None, environment=environment)


def test_everything_that_looks(local: Scenario, dead: Path) -> None:
    text = look(
        local, dead, "cuda-call", "frame 2", "cuda-call", 'print $_cuda_arg("bytesize")', "print $_cuda_layer()",
        "bt", "cuda-route cuMemAlloc_v2", "cuda-dlsym", "cuda-check", "cuda-load",
    )  # fmt: skip
    assert "do_cuMemAlloc_v2 is not an API function" in text and "; cuMemAlloc_v2 is frame 1 (frame 1)" in text
    assert "cuMemAlloc_v2 in hook libgdbcuda-hook.so, called by app main() at crash.c:8, thread 1" in text
    assert "bytesize  size_t         4096 [4.00 KiB]" in text
    assert "$1 = 4096" in text and '$2 = "hook"' in text
    assert "[driver libcuda.so.1] cuMemAlloc_v2" in text and "[hook libgdbcuda-hook.so] cuMemAlloc_v2" in text
    assert "PLT, bound" in text and "1 function reachable: 1 hooked, 0 past the hook" in text
    assert "libgdbcuda-hook.so's (hook)" in text
    assert "crash: the hook is in place" in text
    assert "No hook library named; in the process: libgdbcuda-hook.so" in text


def test_what_needs_a_process_says_so(local: Scenario, dead: Path) -> None:
    asks = ("cuda-log start", "cuda-memory", "cuda-log show", "cuda-dlsym log on", "cuda-dlsym answer cuInit with NULL")
    text = look(local, dead, *asks, "cuda-env A=b")
    assert "cuda-log start: a core file makes no calls any more" in text
    assert "cuda-memory: nothing was recorded, and a core file makes no calls any more" in text
    assert "\nNothing was recorded, and a core file makes no calls any more.\n" in text
    assert "a core file makes no requests any more" in text
    assert "a core file asks for nothing any more" in text
    assert "A=b for the next run (a core file has no process to set it in)" in text


def test_a_missing_hook_library(local: Scenario, dead: Path) -> None:
    """What it did is not known, which slots lead into it is."""
    (dead / local.hook.name).unlink()
    text = look(local, dead, "bt", "frame 2", "cuda-call", "cuda-route cuMemAlloc_v2", "cuda-check")
    assert "[app libgdbcuda-hook.so] ??" in text
    assert "libgdbcuda-hook.so is not here; say where the right one is (set solib-search-path DIR" in text
    assert "libgdbcuda-hook.so+0x" in text
    assert "cuda-check: no hook library is known in this core file; libgdbcuda-hook.so is not here" in text


def test_it_is_found_where_gdb_is_told_to_look(local: Scenario, dead: Path) -> None:
    elsewhere = dead / "elsewhere"
    elsewhere.mkdir()
    (dead / local.hook.name).rename(elsewhere / local.hook.name)
    text = look(local, dead, f"set solib-search-path {elsewhere}", "frame 2", "cuda-call", "cuda-route cuMemAlloc_v2",
                "cuda-check --quiet")  # fmt: skip
    assert "cuMemAlloc_v2 in hook libgdbcuda-hook.so, called by app main()" in text
    assert "is not here" not in text
    assert re.search(r"^libgdbcuda-hook.so: .*\ncrash: the hook is in place$", text, re.MULTILINE), text
    assert "no such file or directory" not in text.rpartition("bytesize")[2]


def test_a_library_that_ends_in_the_page_of_its_symbols(local: Scenario, dead: Path, compile_c) -> None:
    """gdb reads such a page of a core file as zeros, as a whole; so do the libraries of PyTorch's packages end."""
    source = "int cuInit(unsigned flags) { if (!flags) __builtin_trap(); return 0; }"
    small = ("-nostdlib", "-s", "-fno-asynchronous-unwind-tables", "-Wl,-z,noseparate-code,-z,norelro")
    hook = compile_c("libsmall.so", source, "-shared", *small)
    assert hook.stat().st_size < 4096
    text = look(local, died(dead, hook), "cuda-layers", "cuda-route cuInit", "cuda-check")
    assert "libsmall.so   1 driver" in text and "hook libsmall.so cuInit" in text
    assert "as a whole" not in text


def test_gdbs_own_core_file_has_the_contents_without_the_file(local: Scenario, dead: Path) -> None:
    """What the slots lead to can be read there, and which functions these are gdb does not know."""
    hook = dead / local.hook.name
    local.run(dead / "crash", "run", f"generate-core-file {dead}/the.core", "kill", hook=hook,
              environment={"LD_LIBRARY_PATH": str(dead)})  # fmt: skip
    hook.unlink()
    text = look(local, dead, "cuda-route cuMemAlloc_v2", "cuda-check")
    assert "app libgdbcuda-hook.so cuMemAlloc_v2" in text
    assert "cuda-check: no hook library is known in this core file; libgdbcuda-hook.so is not here" in text


def test_without_the_program(local: Scenario, dead: Path) -> None:
    program = (dead / "crash").rename(dead / "renamed")  # gdb 16 would find it by its name
    core = f"core-file {dead}/the.core"
    text = local.run(None, core, "cuda-check", f"file {program}", core, "cuda-check", hook=None,
                     environment={"LD_LIBRARY_PATH": str(dead)})  # fmt: skip
    said = "no hook library is known in this core file; the program is not here: name it (file PROGRAM) and open the"
    assert text.count(said) == 1 and "renamed: the hook is in place" in text.partition(said)[2]


def test_another_build_is_not_believed(local: Scenario, dead: Path) -> None:
    shutil.copy(local.sample("minimal_hook.so"), dead / local.hook.name)
    text = look(local, dead, "bt", "frame 2", "cuda-call", "cuda-route cuMemAlloc_v2", "cuda-check")
    assert "cannot read" not in text
    if "doesn't match build-id" in text:  # gdb 16 does not take it in the first place
        assert "libgdbcuda-hook.so is not here; say where the right one is" in text
        return
    assert "libgdbcuda-hook.so is another build (build-id " in text and ", in the core file " in text
    assert "[hook libgdbcuda-hook.so] ??" in text
    assert "the hook is in place with warnings: contents-missing" in text

"""cuda-log knows launched kernels by the names that a person wrote, in gdb and from the file alone."""

from __future__ import annotations

import re
from pathlib import Path

from scenario import Scenario

from gdbcuda.shell import cli

PROGRAM = """
struct dim3 { unsigned int x, y, z; };
static const struct dim3 grid = {4, 1, 1}, block = {128, 1, 1};
int __cudaRegisterFunction(void **handle, const char *host, char *device, const char *name, int limit, void *tid,
                           void *bid, void *bdim, void *gdim, int *warp) { return 0; }
int cudaLaunchKernel(const void *f, struct dim3 g, struct dim3 b, void **args, unsigned long shared, void *stream)
{ return 0; }
int cuLibraryGetKernel(void **kernel, void *library, const char *name) { *kernel = (void *)0x77; return 0; }
int cuLaunchKernel(void *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned size,
                   void *stream, void **params, void **extra) { return 0; }
static void stub(void) {}
void scale(void) {}  /* a kernel that was registered before anyone looked: known by its host function */
int main(void)
{
    void *kernel;
    __cudaRegisterFunction(0, (const char *)stub, "", "_Z5saxpyifPfS_", -1, 0, 0, 0, 0, 0);
    for (int i = 0; i < 3; i++)
        cudaLaunchKernel((void *)stub, grid, block, 0, 48, 0);
    cudaLaunchKernel((void *)scale, grid, block, 0, 0, 0);
    cuLibraryGetKernel(&kernel, 0, "_ZN3net4gemmIfEEvPT_");
    cuLaunchKernel(kernel, 8, 1, 1, 32, 1, 1, 0, 0, 0, 0);
    return 0;
}
"""
ROWS = [
    ("saxpy(int, float, float*, float*)", "4x1x1", "128x1x1", "48", "3"),
    ("scale", "4x1x1", "128x1x1", "0", "1"),
    ("void net::gemm<float>(float*)", "8x1x1", "32x1x1", "0", "1"),
]


def launches(text: str) -> list[tuple[str, ...]]:
    return re.findall(r"^(\S.*?)  +(\d+x\d+x\d+)  +(\d+x\d+x\d+)  +(\d+)  +(\d+)$", text, re.MULTILINE)


def test_names_as_written(scenario: Scenario, compile_c, tmp_path: Path, capsys) -> None:
    program, log = compile_c("launches", PROGRAM, "-rdynamic"), tmp_path / "log"
    text = scenario.run(program, f"cuda-log start '*' --to {log}", "RUN", "cuda-log summary", hook=None)
    assert launches(text) == ROWS
    assert cli.main(["log", "summary", str(log)]) == 0
    assert launches(capsys.readouterr().out) == ROWS
    assert '"_Z5saxpyifPfS_"' in log.read_text()  # as the program has it, too


def test_what_registers_kernels_is_not_recorded_unasked(scenario: Scenario, compile_c) -> None:
    """A large program does so 50,000 times. A kernel is named by its host function then."""
    program = compile_c("launches", PROGRAM, "-rdynamic")
    text = scenario.run(program, "cuda-log start", "RUN", "cuda-log show", "cuda-log summary", hook=None)
    assert "__cudaRegisterFunction" not in text and text.count("cudaLaunchKernel(") == 4
    assert [row[0] for row in launches(text)] == ["stub", "scale", ROWS[2][0]]

"""The C header written from the table: it compiles, and every struct is laid out as the vendor has it."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from gdbcuda import api
from gdbcuda.api.header import header, main

VERSIONS = [("11.8", "12.9"), ("12.9", "12.9"), ("13.0", "13.5")]
VENDOR = Path("/usr/local/cuda/include")
C11 = ["gcc", "-std=c11", "-Wall", "-Wextra", "-Werror"]


def compile_c(folder: Path, source: str, *options: str, compiler: list[str] = C11) -> None:
    path = folder / "check.c"
    path.write_text(source)
    run = subprocess.run([*compiler, "-fsyntax-only", *options, path], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr[:2000]


def members(ctype: api.Type, prefix: str = "", offset: int = 0) -> Iterator[tuple[str, int]]:
    """(path, byte offset) of every member that C can name."""
    for field in ctype.fields:
        here = offset + field.offset
        if field.name:
            yield prefix + field.name, here
        if field.type.kind in ("struct", "union"):
            yield from members(field.type, prefix + field.name + "." if field.name else prefix, here)


def assertions(table: api.Table) -> Iterator[str]:
    for spelling in table.types.texts:
        ctype = table.type(spelling)
        if not spelling.startswith(("struct ", "union ")) or "." in spelling or ctype.incomplete:
            continue
        yield f'_Static_assert(sizeof({spelling}) == {ctype.size}, "{spelling}");'
        yield f'_Static_assert(_Alignof({spelling}) == {ctype.align}, "{spelling}");'
        for path, offset in members(ctype):
            yield f'_Static_assert(offsetof({spelling}, {path}) == {offset}, "{spelling} {path}");'


@pytest.mark.parametrize(("cuda", "nvml"), VERSIONS)
def test_it_compiles_and_every_struct_has_the_tables_layout(tmp_path: Path, cuda: str, nvml: str) -> None:
    table = api.load(cuda, nvml)
    checks = list(assertions(table))
    assert len(checks) > 2000
    compile_c(tmp_path, header(table) + "\n".join(checks))


@pytest.mark.parametrize(("cuda", "nvml"), VERSIONS)
def test_it_is_also_cplusplus(tmp_path: Path, cuda: str, nvml: str) -> None:
    if shutil.which("g++") is None:
        pytest.skip("no g++")
    compiler = ["g++", "-x", "c++", "-std=c++11", "-Wall", "-Wextra", "-Werror"]
    compile_c(tmp_path, header(api.load(cuda, nvml)), compiler=compiler)


def test_constants_have_the_tables_values(tmp_path: Path) -> None:
    table = api.load()
    checks = [
        f'_Static_assert((unsigned long long)({name}) == {value & (1 << 64) - 1}ull, "{name}");'
        for name, value in table.constants.items()
        if not table.section("constants", "cuda").get(name, "").endswith("*")  # a pointer is no constant in C
    ]
    compile_c(tmp_path, header(table) + "\n".join(checks))


def test_every_symbol_has_a_prototype_and_can_be_defined() -> None:
    text = header(api.load())
    for function in api.load().functions.values():
        assert f"\n{function};\n" in text


PROGRAM = """
static struct dim3 grid = {1, 2, 3};
static enum cudaMemcpyKind kind = cudaMemcpyHostToDevice;
CUresult cuMemAlloc_v2(CUdeviceptr *dptr, size_t bytesize) { *dptr = bytesize; return CUDA_SUCCESS; }
int main(void) {
    struct cudaDeviceProp properties;
    CUdeviceptr pointer;
    void *memory;
    dim3 block = grid;
    if (cudaGetDeviceProperties(&properties, 0) != cudaSuccess) return properties.major;
    if (cudaMemcpy(&memory, &memory, 8, kind) != cudaSuccess) return (int)block.x;
    if (cudaStreamSynchronize(cudaStreamPerThread) != cudaSuccess) return nvmlInit_v2() != NVML_SUCCESS;
    return cuMemAlloc(&pointer, 1 << 20) != CUDA_SUCCESS || cudaMalloc(&memory, 4) != cudaSuccess;
}
"""


def test_a_program_reads_as_with_the_vendors_headers(tmp_path: Path) -> None:
    source = "#define GDBCUDA_API_SOURCE_NAMES\n" + header(api.load()) + PROGRAM
    compile_c(tmp_path, source)
    run = subprocess.run([*C11, "-c", tmp_path / "check.c", "-o", tmp_path / "check.o"], capture_output=True)
    assert run.returncode == 0
    symbols = subprocess.run(["nm", tmp_path / "check.o"], capture_output=True, text=True, check=True).stdout
    assert "T cuMemAlloc_v2" in symbols
    assert "U cuMemAlloc\n" not in symbols


def vendors_version() -> str | None:
    """The CUDA version of the vendor's headers on this machine."""
    header_file = VENDOR / "cuda.h"
    lines = header_file.read_text().splitlines() if header_file.exists() else []
    numbers = [int(line.split()[-1]) for line in lines if line.startswith("#define CUDA_VERSION ")]
    return f"{numbers[0] // 1000}.{numbers[0] % 1000 // 10}" if numbers else None


def test_the_vendors_own_headers_agree(tmp_path: Path) -> None:
    version = vendors_version()
    if version not in api.CUDA_VERSIONS:
        pytest.skip(f"the vendor's headers of a version in the table are not here ({version})")
    nvml = api.load().section("types", "nvml")
    foreign = [spelling.partition(" ")[2] for spelling in nvml if " " in spelling]
    foreign += ["CUeglFrame_st", "cudaEglFrame_st", "cudaEglPlaneDesc_st"]  # their headers want EGL's
    checks = [check for check in assertions(api.load(version)) if check.split('"')[1].split()[1] not in foreign]
    includes = ["stddef.h", "cuda.h", "cudaProfiler.h", "cuda_runtime_api.h"]
    source = "".join(f"#include <{name}>\n" for name in includes) + "\n".join(checks)
    compile_c(tmp_path, source, "-isystem", str(VENDOR), "-D__CUDA_API_VERSION_INTERNAL", "-w")


def test_one_api_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--api", "nvml", "--nvml", "12.9"]) == 0
    text = capsys.readouterr().out
    assert "nvmlInit_v2" in text and "cuMemAlloc" not in text
    compile_c(tmp_path, text)


def test_the_file_named_is_written(tmp_path: Path) -> None:
    assert main(["--cuda", "11.8", "-o", str(tmp_path / "api.h")]) == 0
    assert (tmp_path / "api.h").read_text() == header(api.load("11.8"))


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [(["--api", "vulkan"], "no API is called 'vulkan'"), (["--cuda", "new"], "'new' is no CUDA version")],
)
def test_mistakes_are_one_line(arguments: list[str], complaint: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(arguments)
    assert complaint in capsys.readouterr().err.splitlines()[-1]

"""The API table as a whole: complete, found by any name, of the right version, fast."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from gdbcuda import api
from gdbcuda.errors import UserError
from gdbcuda.routes.right_function import difference

ROOT = Path(__file__).resolve().parents[2]
TABLES = [api.load("11.8", "12.9"), api.load("12.9", "12.9"), api.load("13.0", "13.5")]


def names(functions: list[api.Function]) -> list[str]:
    return [function.symbol for function in functions]


@pytest.mark.parametrize(("version", "driver", "runtime"), [("11.8", 511, 356), ("12.9", 619, 394), ("13.0", 637, 380)])
def test_every_cuda_function_is_there(version: str, driver: int, runtime: int) -> None:
    apis = [function.api for function in api.load(version).functions.values()]
    assert (apis.count("driver"), apis.count("runtime")) == (driver, runtime)


@pytest.mark.parametrize(("version", "count"), [("12.9", 387), ("13.5", 436)])
def test_every_nvml_function_is_there(version: str, count: int) -> None:
    assert [function.api for function in api.load(nvml=version).functions.values()].count("nvml") == count


@pytest.mark.parametrize("table", TABLES, ids=lambda table: str(table.cuda))
def test_every_parameter_has_a_name_and_a_type(table: api.Table) -> None:
    for function in table.functions.values():
        for parameter in function.parameters:
            assert re.fullmatch(r"[A-Za-z_]\w*", parameter.name), function
            assert not parameter.name.startswith("unnamed"), function
            assert parameter.type.size > 0, function
        assert function.result.kind != "struct" or function.symbol == "cudaCreateChannelDesc"


def test_what_libcudart_exports_beyond_the_three_headers() -> None:
    extras = api.load().extras
    interop = [symbol for symbol, function in extras.items() if function.role == "interop"]
    assert len([symbol for symbol in interop if symbol.startswith("cuda")]) == 26  # and an event, and
    assert {"cudaEventCreateFromEGLSync", "__cudaRegisterFatBinary", "__cudaPushCallConfiguration"} <= set(extras)
    assert api.load().function("__cudaRegisterFatBinary") is extras["__cudaRegisterFatBinary"]


def test_prototypes_are_c() -> None:
    table = api.load()
    assert str(table.functions["cuMemAlloc_v2"]) == "CUresult cuMemAlloc_v2(CUdeviceptr *dptr, size_t bytesize)"
    assert str(table.functions["cudaGetLastError"]) == "cudaError_t cudaGetLastError(void)"
    assert str(table.functions["nvmlErrorString"]) == "const char *nvmlErrorString(nvmlReturn_t result)"


def test_find_by_symbol_base_name_glob_and_prefix() -> None:
    table = api.load()
    assert names(table.find("cuMemAlloc_v2")) == ["cuMemAlloc_v2"]
    assert names(table.find("cuMemAlloc")) == ["cuMemAlloc", "cuMemAlloc_v2"]
    assert names(table.find("cuMemcpyHtoDAsync")) == [
        "cuMemcpyHtoDAsync", "cuMemcpyHtoDAsync_v2", "cuMemcpyHtoDAsync_v2_ptsz",
    ]  # fmt: skip
    assert names(table.find("nvmlDeviceSetFanSpeed")) == ["nvmlDeviceSetFanSpeed_v2"]
    assert "cuMemFreeAsync" in names(table.find("cuMem*Async"))
    assert names(table.find("cuMemAllocP", prefix=True)) == ["cuMemAllocPitch", "cuMemAllocPitch_v2"]
    assert names(table.find("__cudaRegisterFatBinary")) == ["__cudaRegisterFatBinary"]


@pytest.mark.parametrize(
    "pattern", ["", "cuMemoryAllocate", "cuda_to_nvml_map", "nvml_postInit", "cuMemAlloc_v9", "malloc"]
)
def test_what_is_not_in_the_api_is_not_found(pattern: str) -> None:
    assert api.load().find(pattern) == []


@pytest.mark.parametrize(
    ("symbol", "base"),
    [
        ("cuMemAllocAsync_ptsz", "cuMemAllocAsync"),
        ("cuMemcpyHtoD_v2_ptds", "cuMemcpyHtoD"),
        ("nvmlDeviceGetGridLicensableFeatures_v4", "nvmlDeviceGetGridLicensableFeatures"),
        ("cudaMalloc", "cudaMalloc"),
        ("cuMemcpy2D_v2", "cuMemcpy2D"),
    ],
)
def test_base_name(symbol: str, base: str) -> None:
    assert api.base_name(symbol) == base


def test_nearest_is_for_did_you_mean() -> None:
    table = api.load()
    assert table.nearest("cuMemAloc")[0] == "cuMemAlloc"
    assert table.nearest("cudamalloc")[0] == "cudaMalloc"
    assert table.nearest("cuMemAloc_v2")[0] == "cuMemAlloc_v2"
    assert table.nearest("xyzzy") == []


def test_source_names_become_symbols() -> None:
    assert api.load().source_symbol("cuMemAlloc") == "cuMemAlloc_v2"
    assert api.load().source_symbol("cuCtxCreate") == "cuCtxCreate_v4"
    assert api.load("12.9").source_symbol("cuCtxCreate") == "cuCtxCreate_v2"
    assert api.load().source_symbol("cuMemcpyHtoD") == "cuMemcpyHtoD_v2"
    assert api.load().source_symbol("nvmlInit") == "nvmlInit_v2"
    assert api.load().source_symbol("cudaMalloc") == "cudaMalloc"


@pytest.mark.parametrize(
    ("wanted", "chosen"),
    [
        (None, "13.0"), ("13.0", "13.0"), ("13.1", "13.0"), ("12", "12.9"), ("12.4", "11.8"), ("12.9.1", "12.9"),
        ("10.2", "11.8"), (12040, "11.8"), (12090, "12.9"), (13020, "13.0"), (9000, "11.8"),
    ],
)  # fmt: skip
def test_the_nearest_older_version_stands_in(wanted: str | int | None, chosen: str) -> None:
    assert api.load(wanted).cuda == chosen
    assert api.CUDA_VERSIONS == ("11.8", "12.9", "13.0")
    assert api.NVML_VERSIONS == ("12.9", "13.5")


@pytest.mark.parametrize("wanted", ["latest", "", "12.x", "v12"])
def test_what_is_no_version_is_a_users_mistake(wanted: str) -> None:
    with pytest.raises(UserError, match=r"is no CUDA version"):
        api.load(wanted)


def test_loading_twice_gives_the_same_table() -> None:
    assert api.load("13.0") is api.load()


def test_same_name_other_signature_between_12_and_13() -> None:
    old, new = api.load("12.9").functions, api.load("13.0").functions
    changed = {s for s in old if s in new and old[s].api == "runtime" and str(old[s]) != str(new[s])}
    bases = {api.base_name(symbol) for symbol in changed}
    assert {"cudaMemAdvise", "cudaMemPrefetchAsync", "cudaGraphAddNode", "cudaStreamGetCaptureInfo"} <= bases
    assert api.load("12.9").type("struct cudaDeviceProp").size == 1032
    assert api.load("13.0").type("struct cudaDeviceProp").size == 1008


def test_constants_of_enums_and_macros() -> None:
    table = api.load()
    assert table.constant("cudaMemcpyDeviceToHost") == 2
    assert table.constant("CU_MEMHOSTALLOC_DEVICEMAP") == 2
    assert table.constant("cudaStreamPerThread") == 2
    assert table.constant("CU_DEVICE_INVALID") == -2
    assert table.constant("nvmlMemory_v2") == 2 << 24 | 40
    assert table.constant("CUDA_ERROR_NO_SUCH_THING") is None
    assert table.constant("CUDA_VERSION") == 13000


def test_error_names() -> None:
    table = api.load()
    assert table.error_name("driver", 2) == "CUDA_ERROR_OUT_OF_MEMORY"
    assert table.error_name("runtime", 2) == "cudaErrorMemoryAllocation"
    assert table.error_name("nvml", 1) == "NVML_ERROR_UNINITIALIZED"
    assert table.error_name("driver", -1) is None
    assert table.error_name("driver", 0) == "CUDA_SUCCESS"


def test_the_file_holds_facts_and_no_text_of_the_headers() -> None:
    text = (ROOT / "gdbcuda" / "api" / "table.json").read_text(encoding="ascii")
    assert len(text) < 1_000_000
    assert not re.search(r"/\*|\\n|\\\\brief|\\\\param|Copyright|\.h\b", text)


def test_importing_needs_nothing_but_the_standard_library() -> None:
    code = "import sys; from gdbcuda import api; api.load(); print('clang' in sys.modules, 'gdb' in sys.modules)"
    run = subprocess.run([sys.executable, "-S", "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert run.stdout.split() == ["False", "False"]


@pytest.mark.parametrize("cuda", api.CUDA_VERSIONS)
def test_parameters_have_the_names_of_the_public_declaration(cuda: str) -> None:
    """The header declares the symbols of the legacy stream a second time, where nobody reads."""
    table = api.load(cuda=cuda)
    names = {symbol: [p.name for p in function.parameters] for symbol, function in table.functions.items()}
    assert names["cuStreamGetAttribute"] == ["hStream", "attr", "value_out"]
    for symbol, found in names.items():
        base = symbol[: -len("_ptsz")] if symbol.endswith(("_ptsz", "_ptds")) else symbol
        if base in names and difference(table, symbol, table.functions[base]) == "":
            assert names[base] == found, symbol


def test_all_functions_of_all_versions_as_the_newest_has_them() -> None:
    everything, newest = api.load_all(), api.load()
    assert everything.symbols == frozenset[str]().union(*(one.symbols for one in TABLES))
    for one in newest.functions.values():
        known = everything.functions[one.symbol]
        assert [(p.name, str(p.type)) for p in known.parameters] == [(p.name, str(p.type)) for p in one.parameters]
    removed = everything.functions["cudaGetDeviceProperties_v2"]
    assert removed.symbol not in newest.functions and [one.name for one in removed.parameters] == ["prop", "device"]
    assert names(everything.find("cudaThreadExit")) == ["cudaThreadExit"] and not newest.find("cudaThreadExit")
    assert everything.source_symbol("cudaGetDeviceProperties") == newest.source_symbol("cudaGetDeviceProperties")

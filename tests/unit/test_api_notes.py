"""The hand-written notes: every name in them exists, and no function of the API is without a role."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from gdbcuda import api
from gdbcuda.api.notes import ApiNotes, Line, matches
from gdbcuda.errors import UserError

TABLES = [api.load("11.8", "12.9"), api.load("12.9", "12.9"), api.load("13.0", "13.5")]
FUNCTIONS = [function for table in TABLES for function in (*table.functions.values(), *table.extras.values())]
BASES: dict[str, list[api.Function]] = {}
for one in FUNCTIONS:
    BASES.setdefault(one.base, []).append(one)
LINES = ApiNotes().lines


def parameter(symbol: str, name: str) -> api.Parameter:
    function = api.load().functions[symbol]
    found = function.parameter(name)
    assert found is not None
    return found


def spoken_of(pattern: str) -> list[api.Function]:
    found = [function for base, functions in BASES.items() if matches(base, pattern) for function in functions]
    return found or [function for function in BASES[api.base_name(pattern)] if function.symbol == pattern]


def wrong_names(line: Line) -> Iterator[str]:
    functions = []
    for pattern in line.patterns:
        found = spoken_of(pattern)
        functions += found
        if not found:
            yield pattern
    yield from (name for name, _ in line.parameters if not any(f.parameter(name) for f in functions))
    yield from set(line.released_by) - set(BASES)


def test_every_function_has_a_role_that_is_documented() -> None:
    documented = set(Path(api.__file__).with_name("notes.txt").read_text().partition("# -> RELEASE")[0].split())
    assert {f.symbol for f in FUNCTIONS if not f.role} == set()
    assert {f.role for f in FUNCTIONS} <= documented


def test_every_name_in_every_line_exists() -> None:
    assert [(line.number, name) for line in LINES for name in wrong_names(line)] == []


def test_every_length_is_a_sibling_or_a_number() -> None:
    for function in FUNCTIONS:
        for p in function.parameters:
            assert p.length is None or p.length.isdigit() or function.parameter(p.length), (function, p.name)


def test_every_flags_note_names_constants() -> None:
    described = {p.flags for function in FUNCTIONS for p in function.parameters if p.flags}
    for flags in described:
        for part in flags.split("|"):
            assert any(table.flags(part) for table in TABLES), part


def test_allocators_and_frees_belong_together() -> None:
    for function in FUNCTIONS:
        if function.role == "alloc":
            assert function.released_by, function
            assert all(release.role == "free" for name in function.released_by for release in TABLES[2].find(name))
        if function.role == "free":
            assert function.releases, function
            assert all(name in BASES for name in function.releases)
        if function.role in ("alloc", "free"):
            assert len([p for p in function.parameters if p.block]) == 1, function


# tried on an H200 with driver 580: which free takes which allocator's block
@pytest.mark.parametrize(
    ("allocator", "frees"),
    [
        ("cuMemAlloc", {"cuMemFree", "cuMemFreeAsync"}),
        ("cuMemAllocPitch", {"cuMemFree", "cuMemFreeAsync"}),
        ("cuMemAllocAsync", {"cuMemFree", "cuMemFreeAsync"}),
        ("cuMemAllocFromPoolAsync", {"cuMemFree", "cuMemFreeAsync"}),
        ("cuMemAllocManaged", {"cuMemFree"}),
        ("cuMemAllocHost", {"cuMemFreeHost"}),
        ("cuMemHostAlloc", {"cuMemFreeHost"}),
        ("cuMemHostRegister", {"cuMemHostUnregister"}),
        ("cudaMalloc", {"cudaFree", "cudaFreeAsync"}),
        ("cudaMalloc3D", {"cudaFree", "cudaFreeAsync"}),
        ("cudaMallocAsync", {"cudaFree", "cudaFreeAsync"}),
        ("cudaMallocManaged", {"cudaFree"}),
        ("cudaMallocHost", {"cudaFreeHost"}),
        ("cudaHostAlloc", {"cudaFreeHost"}),
        ("cudaHostRegister", {"cudaHostUnregister"}),
    ],
)
def test_what_releases_what(allocator: str, frees: set[str]) -> None:
    table = api.load()
    assert set(table.find(allocator)[0].released_by) == frees
    for free in frees:
        assert allocator in table.find(free)[0].releases


def test_suffixed_variants_share_the_notes_of_their_base_name() -> None:
    assert parameter("cuMemAlloc_v2", "dptr").block
    assert parameter("cuMemAlloc_v2", "bytesize").size_bytes
    assert api.load().functions["cuMemAllocAsync_ptsz"].role == "alloc"
    assert parameter("cuCtxCreate_v3", "paramsArray").direction == "in"


@pytest.mark.parametrize(
    ("symbol", "name", "direction"),
    [
        ("cuMemAlloc_v2", "dptr", "out"),
        ("cuMemFree_v2", "dptr", "in"),
        ("cudaMalloc", "devPtr", "out"),
        ("cudaFree", "devPtr", "in"),
        ("cudaMemcpy", "dst", "in"),
        ("cuStreamDestroy_v2", "hStream", "in"),
        ("cuLaunchKernel", "kernelParams", "in"),
        ("cuMemcpy2D_v2", "pCopy", "in"),
        ("cuPointerGetAttribute", "data", "out"),
        ("cuModuleLoadDataEx", "options", "in"),
        ("cuGraphGetNodes", "numNodes", "inout"),
        ("nvmlDeviceGetMemoryInfo", "memory", "out"),
        ("nvmlDeviceGetMemoryInfo_v2", "memory", "inout"),
        ("nvmlDeviceGetComputeRunningProcesses_v3", "infoCount", "inout"),
        ("cuLaunchHostFunc", "fn", "in"),
    ],
)
def test_direction(symbol: str, name: str, direction: str) -> None:
    assert parameter(symbol, name).direction == direction


def test_strings_and_lengths() -> None:
    assert parameter("cuModuleGetFunction", "name").string
    assert parameter("cuGetErrorName", "pStr").string
    assert parameter("cuGetErrorName", "pStr").direction == "out"
    name = parameter("cuDeviceGetName", "name")
    assert (name.string, name.length, name.length_unit) == (True, "len", "elements")
    data = parameter("cuMemRangeGetAttribute", "data")
    assert (data.length, data.length_unit) == ("dataSize", "bytes")
    luid = parameter("cuDeviceGetLuid", "luid")
    assert (luid.string, luid.length) == (False, "8")


def test_handles_and_flags() -> None:
    assert parameter("cuStreamCreate", "phStream").handle
    assert parameter("cuStreamDestroy_v2", "hStream").handle
    assert parameter("cuMemRelease", "handle").handle
    assert not parameter("cuMemFree_v2", "dptr").handle
    assert parameter("cuStreamCreate", "Flags").flags == "CUstream_flags"


def test_star_matches_like_a_glob() -> None:
    assert matches("cuMemAlloc", "cuMem*") and matches("cuMem", "cuMem*") and matches("cuMem", "cuMem")
    assert matches("nvmlDeviceGetVgpuMetadata", "nvmlDevice*Vgpu*")
    assert not matches("cuMemAlloc", "cuMem") and not matches("aba", "ab*ba") and not matches("xcuMem", "cuMem*")


@pytest.mark.parametrize("line", ["f alloc x=sideways", "f alloc x=[a", "f alloc x=flags", "f alloc x"])
def test_a_line_that_means_nothing_is_reported_with_its_number(tmp_path: Path, line: str) -> None:
    path = tmp_path / "notes.txt"
    path.write_text(f"# one\n{line}\n")
    with pytest.raises(UserError, match=r"notes.txt:2: "):
        ApiNotes(str(path)).of("f", "f")


@pytest.mark.parametrize("role", sorted({one.role for one in FUNCTIONS}))
def test_functions_of_a_role_without_reading_all_notes(role: str) -> None:
    for table in TABLES:
        assert table.of_role(role) == [one for one in table.functions.values() if one.role == role]

"""The version map of cuGetProcAddress, where real hook libraries answer wrongly.

Every answer here was also given by driver 580 on an H200, for all names, versions and flags of the map.
"""

from __future__ import annotations

import pytest

from gdbcuda import api

PER_THREAD = 2


@pytest.mark.parametrize(
    ("name", "version", "flags", "symbol"),
    [
        ("cuMemAlloc", 2000, 0, "cuMemAlloc"),
        ("cuMemAlloc", 3010, 0, "cuMemAlloc"),
        ("cuMemAlloc", 3020, 0, "cuMemAlloc_v2"),
        ("cuMemAlloc", 13000, 0, "cuMemAlloc_v2"),
        ("cuGetProcAddress", 11020, 0, None),
        ("cuGetProcAddress", 11030, 0, "cuGetProcAddress"),
        ("cuGetProcAddress", 12000, 0, "cuGetProcAddress_v2"),
        ("cuMemAdvise", 8000, 0, "cuMemAdvise"),
        ("cuMemAdvise", 12020, 0, "cuMemAdvise_v2"),
        ("cuMemPrefetchAsync", 8000, 0, "cuMemPrefetchAsync"),
        ("cuMemPrefetchAsync", 8000, PER_THREAD, "cuMemPrefetchAsync_ptsz"),
        ("cuMemPrefetchAsync", 12020, PER_THREAD, "cuMemPrefetchAsync_v2_ptsz"),
        ("cuMemcpyHtoD", 3020, 0, "cuMemcpyHtoD_v2"),
        ("cuMemcpyHtoD", 7000, PER_THREAD, "cuMemcpyHtoD_v2_ptds"),
        ("cuMemcpyHtoD", 3020, PER_THREAD, None),
        ("cuLaunchKernel", 7000, PER_THREAD, "cuLaunchKernel_ptsz"),
        ("cuLaunchKernel", 7000, 1, "cuLaunchKernel"),
        ("cuCtxCreate", 3020, 0, "cuCtxCreate_v2"),
        ("cuCtxCreate", 11040, 0, "cuCtxCreate_v3"),
        ("cuCtxCreate", 12050, 0, "cuCtxCreate_v4"),
        ("cuStreamBeginCapture", 10000, 0, "cuStreamBeginCapture"),
        ("cuStreamBeginCapture", 10010, 0, "cuStreamBeginCapture_v2"),
        ("cuGraphInstantiate", 12000, 0, "cuGraphInstantiate_v2"),
        ("cuMemGetInfo", 3020, PER_THREAD, "cuMemGetInfo_v2"),
        ("cuGLInit", 2000, 0, "cuGLInit"),
        ("cuMemAlloc_v2", 13000, 0, None),
        ("cuNothing", 13000, 0, None),
    ],
)
def test_proc_address(name: str, version: int, flags: int, symbol: str | None) -> None:
    assert api.load("13.0").proc_address(name, version, flags) == symbol


def test_an_older_table_knows_no_newer_answer() -> None:
    assert api.load("11.8").proc_address("cuGetProcAddress", 12000) == "cuGetProcAddress"
    assert api.load("11.8").proc_address("cuMemAdvise", 13000) == "cuMemAdvise"


@pytest.mark.parametrize("version", ["11.8", "12.9", "13.0"])
def test_every_driver_function_can_be_asked_for_and_every_answer_exists(version: str) -> None:
    table = api.load(version)
    answers = {entry.symbol for name in table.section("proc", "cuda") for entry in table.proc_versions(name)}
    assert {symbol for symbol in answers if table.function(symbol) is None} == set()
    driver = {symbol for symbol, function in table.functions.items() if function.api == "driver"}
    assert driver - answers == set()


@pytest.mark.parametrize("symbol, old", [
    ("cuMemAlloc", True), ("cuMemAlloc_v2", False), ("cuCtxDestroy", True), ("cuCtxCreate", True),
    ("cuCtxCreate_v2", False),
    ("cuMemAdvise", False), ("cuMemAllocAsync_ptsz", False), ("cuInit", False), ("nvmlDeviceGetCount", False),
])  # fmt: skip
def test_what_cuda_4_has_replaced(symbol: str, old: bool) -> None:
    assert api.load().is_ancient(symbol) is old

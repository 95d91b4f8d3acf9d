"""Verdicts on answers: the right function, of the right object."""

from __future__ import annotations

import pytest

from gdbcuda import api
from gdbcuda.linkage import Linkages
from gdbcuda.memory import DictMemory
from gdbcuda.routes import judge, right_function, shapes
from gdbcuda.routes.requests import Asker, Request
from gdbcuda.routes.shapes import RTLD_NEXT
from gdbcuda.routes.snapshot import API_RESOLVERS, ProcessSnapshot, Reached

APP = Asker(0x1000, 0, "main", "/bin/app", "app")


@pytest.fixture
def snapshot() -> ProcessSnapshot:
    """No objects at all: what is judged here are names and versions."""
    return ProcessSnapshot(Linkages([]), DictMemory({}), api.load(cuda="13.0"), lambda linkage: "app")


def asked(name: str, version: int, flags: int = 0, *names: str, layer: str = "hook", address: int = 0x5000) -> Request:
    resolver = ("cuGetProcAddress_v2", "/lib/libhook.so", "hook")
    request = Request(*resolver, APP, 1, 0, name=name, version=version, flags=flags)
    request.returned, request.answer = True, Reached(address, names, "/lib/libhook.so", layer)
    return request


@pytest.mark.parametrize(("name", "version", "flags", "answer", "why"), [
    ("cuMemAdvise", 8000, 0, "cuMemAdvise_v2", "where version 8000 means cuMemAdvise: location is CUmemLocation"),
    ("cuMemPrefetchAsync", 8000, 0, "cuMemPrefetchAsync_v2", ": 5 parameters instead of 4"),
    ("cuGetProcAddress", 11030, 0, "cuGetProcAddress_v2", ": 5 parameters instead of 4"),
    ("cuMemcpyAsync", 7000, 2, "cuMemcpyAsync", "where version 7000 for per-thread streams means cuMemcpyAsync_ptsz"),
    ("cuCtxCreate", 3020, 0, "cuCtxCreate_v4", "where version 3020 means cuCtxCreate_v2"),
    ("cuMemAlloc", 3020, 0, "cuMemAlloc", "cuMemAlloc where version 3020 means cuMemAlloc_v2"),
    ("cuMemcpyAsync", 7000, 0, "cuMemcpyAsync_ptsz", "cuMemcpyAsync_ptsz where version 7000 means cuMemcpyAsync"),
])
def test_wrong_versions(snapshot: ProcessSnapshot, name: str, version: int, flags: int, answer: str, why: str) -> None:
    found = judge.verdict(snapshot, asked(name, version, flags, answer))
    assert found.word == "wrong version" and why in found.why


@pytest.mark.parametrize(("name", "version", "flags", "answer"), [
    ("cuMemAdvise", 8000, 0, "cuMemAdvise"), ("cuMemAdvise", 12020, 0, "cuMemAdvise_v2"),
    ("cuMemAlloc", 12000, 0, "cuMemAlloc_v2"), ("cuMemcpyAsync", 7000, 2, "cuMemcpyAsync_ptsz"),
    ("cuGetProcAddress", 12000, 0, "cuGetProcAddress_v2"), ("cuInit", 2000, 0, "cuInit"),
])
def test_right_versions(snapshot: ProcessSnapshot, name: str, version: int, flags: int, answer: str) -> None:
    assert judge.verdict(snapshot, asked(name, version, flags, answer)).word == "hooked"
    assert judge.verdict(snapshot, asked(name, version, flags, answer, "an_alias")).word == "hooked"


def test_another_function_altogether(snapshot: ProcessSnapshot) -> None:
    found = judge.verdict(snapshot, asked("cuMemAlloc", 3020, 0, "cuMemFree_v2"))
    assert found.word == "other" and "cuMemFree_v2 where version 3020 means cuMemAlloc_v2" in found.why


def test_a_name_that_did_not_exist_at_that_version(snapshot: ProcessSnapshot) -> None:
    found = judge.verdict(snapshot, asked("cuMemAllocAsync", 10000, 0, "cuMemAllocAsync"))
    assert found == ("wrong version", "cuMemAllocAsync, and at version 10000 there is no cuMemAllocAsync")


def test_a_release_library_is_caught_when_one_address_is_two_functions(snapshot: ProcessSnapshot) -> None:
    assert judge.verdict(snapshot, asked("cuMemAdvise", 13000)).word == "hooked"
    again = judge.verdict(snapshot, asked("cuMemAdvise", 8000))
    assert again.word == "wrong version" and "the same address was answered for cuMemAdvise_v2" in again.why
    assert judge.verdict(snapshot, asked("cuMemFree", 3020, address=0x6000)).word == "hooked"


@pytest.mark.parametrize(("wanted", "got", "said"), [
    ("cuMemAdvise", "cuMemAdvise_v2", ": location is CUmemLocation, not CUdevice"),
    ("cuMemPrefetchAsync", "cuMemPrefetchAsync_v2", ": 5 parameters instead of 4"),
    ("nvmlInit_v2", "nvmlShutdown", ""), ("cuInit", "cuInit", ""), ("cuNothing", "cuInit", ""),
    ("cudaGetLastError", "nvmlInit_v2", ": another result type"),
])
def test_what_differs_between_two_functions(snapshot: ProcessSnapshot, wanted: str, got: str, said: str) -> None:
    assert right_function.difference(snapshot.table, wanted, snapshot.table.function(got)) == said
    assert right_function.difference(snapshot.table, wanted, None) == ""


@pytest.mark.parametrize(("name", "versions", "flags", "answer", "why"), [
    ("cuMemAdvise", 8000, 0, "cuMemAdvise_v2",
     "cuMemAdvise_v2 where version 8000 means cuMemAdvise: location is CUmemLocation, not CUdevice"),
    ("cuMemcpyAsync", 7000, 2, "cuMemcpyAsync",
     "cuMemcpyAsync where version 7000 for per-thread streams means cuMemcpyAsync_ptsz"),
    ("cuMemAdvise", None, 0, "cuMemAdvise",
     "cuMemAdvise in the place of cuMemAdvise_v2: device is CUdevice, not CUmemLocation"),
])
def test_the_whole_sentence(snapshot: ProcessSnapshot, name: str, versions: int | None, flags: int, answer: str,
                            why: str) -> None:  # fmt: skip
    request = asked(name, 0, flags, answer)
    request.version = versions
    assert judge.verdict(snapshot, request) == ("wrong version", why)


def test_a_per_thread_name_that_did_not_exist(snapshot: ProcessSnapshot) -> None:
    found = judge.verdict(snapshot, asked("cuMemAllocAsync", 10000, 2))
    assert found.why.endswith(", and at version 10000 for per-thread streams there is no cuMemAllocAsync")
    request = asked("cuMemAllocAsync", 10000, 0, "malloc", layer="system")
    why = "malloc, and at version 10000 there is no cuMemAllocAsync"
    assert judge.verdict(snapshot, request) == ("wrong version", why)


def test_a_function_of_nobody_in_the_place_of_one(snapshot: ProcessSnapshot) -> None:
    """Its name is none of the API: nothing is known to be wrong."""
    assert judge.verdict(snapshot, asked("cuInit", 2000, 0, "an_alias")) == ("hooked", "")
    assert judge.verdict(snapshot, asked("cuInit", 2000, 0, "an_alias", layer="system")) == ("other", "")


@pytest.mark.parametrize(("resolver", "flags", "expected"), [
    ("cuGetProcAddress_v2", None, 0), ("cuGetProcAddress_v2_ptsz", None, 2), ("cuGetProcAddress_v2_ptsz", 1, 1),
    ("cuGetProcAddress_v2", 2, 2)])
def test_which_stream(resolver: str, flags: int | None, expected: int) -> None:
    request = asked("cuInit", 0)
    request.resolver, request.flags = resolver, flags
    assert right_function.flags_of(request) == expected


@pytest.mark.parametrize(("resolver", "status", "result", "said"), [
    ("cuGetProcAddress_v2", 1, 500, "symbol not found"), ("cuGetProcAddress_v2", 0, 500, "CUDA_ERROR_NOT_FOUND"),
    ("cuGetProcAddress_v2", 99, 500, "CUDA_ERROR_NOT_FOUND"), ("cuGetProcAddress_v2", None, 0, ""),
    ("cudaGetDriverEntryPoint", None, 1, "cudaErrorInvalidValue"), ("cuGetProcAddress_v2", None, None, ""),
    ("cuGetProcAddress_v2", None, 987654, ""), ("nobodysResolver", None, 500, "")])
def test_what_a_resolver_said(snapshot: ProcessSnapshot, resolver: str, status: int | None, result: int | None,
                              said: str) -> None:  # fmt: skip
    request = asked("cuNothing", 12000)
    request.resolver, request.status, request.result, request.answer = resolver, status, result, None
    assert judge.verdict(snapshot, request) == ("missing", said)


def test_names_outside_the_api_are_not_judged(snapshot: ProcessSnapshot) -> None:
    assert judge.verdict(snapshot, asked("cuSomethingNewer", 14000, 0, "cuSomethingNewer")).word == ""
    request = Request("dlsym", "/lib/libc.so.6", "system", APP, 1, 0, name="malloc", handle=0x77)
    request.answer = Reached(1, ("malloc",), "/lib/libc.so.6", "system")
    assert judge.verdict(snapshot, request).word == ""


def test_missing_because_nobody_has_it(snapshot: ProcessSnapshot) -> None:
    request = Request("dlsym", "/lib/libc.so.6", "system", APP, 1, 0, name="cuMemAloc")
    request.returned = True
    assert judge.verdict(snapshot, request) == ("missing", "no loaded object has it")


def test_missing_says_what_the_driver_said(snapshot: ProcessSnapshot) -> None:
    request = asked("cuNothing", 12000)
    request.answer, request.status, request.result = None, 1, 500
    assert judge.verdict(snapshot, request) == ("missing", "symbol not found")
    request.status = 2
    assert judge.verdict(snapshot, request).why == "version not sufficient"
    request.status = None
    assert judge.verdict(snapshot, request).why == "CUDA_ERROR_NOT_FOUND"


def test_past_the_hook(snapshot: ProcessSnapshot) -> None:
    found = judge.verdict(snapshot, asked("cuInit", 2000, 0, "cuInit", layer="driver"))
    assert found == ("driver", "no hook library is loaded")
    own = asked("cuInit", 2000, 0, "cuInit", layer="driver")
    own.asker = Asker(0x2000, 0, "", "/lib/libhook.so", "hook")
    assert judge.verdict(snapshot, own).word == "real"


def test_runtime_resolvers_use_the_runtimes_version(snapshot: ProcessSnapshot) -> None:
    request = asked("cuMemAdvise", 0, 0, "cuMemAdvise")
    request.resolver, request.version = "cudaGetDriverEntryPoint", None
    assert right_function.version_of(snapshot.table, request) == 13000
    assert judge.verdict(snapshot, request).word == "wrong version"
    request.resolver = "cudaGetDriverEntryPoint_ptsz"
    assert right_function.flags_of(request) == 2


def test_an_export_table(snapshot: ProcessSnapshot) -> None:
    request = asked("", 0)
    request.resolver, request.name, request.version = "cuGetExportTable", "", None
    assert judge.verdict(snapshot, request) == ("hooked", "a table of private functions")


def test_requests_as_routes(snapshot: ProcessSnapshot) -> None:
    first, second = asked("cuInit", 2000, 0, "cuInit", layer="driver"), asked("cuInit", 2000, 0, "cuInit")
    for number, request in enumerate((first, second), 1):
        request.number, request.verdict = number, judge.verdict(snapshot, request)
    found = judge.routes(snapshot, [first, second])
    assert [(r.function, r.way, r.state, r.verdict.word) for r in found] == [
        ("cuInit", "cuGetProcAddress_v2 at 2000", "request #2", "hooked")]  # fmt: skip
    (route,) = found
    assert (route.asker, route.asker_layer, route.reached, route.address) == ("/bin/app", "app", second.answer, 0)


def test_requests_that_are_no_routes(snapshot: ProcessSnapshot) -> None:
    """One that has not returned, the hook's own, one for no name of the API; and a way without a version."""
    waiting, own, unknown, entry = (asked(name, 2000) for name in ("cuInit", "cuInit", "cuNobody", "cuMemAlloc"))
    waiting.returned, own.handed_on = False, True
    entry.resolver, entry.version, entry.number = "cudaGetDriverEntryPoint", None, 7
    found = judge.routes(snapshot, [waiting, own, unknown, entry])
    assert [(one.function, one.way, one.state) for one in found] == [
        ("cuMemAlloc_v2", "cudaGetDriverEntryPoint", "request #7")]  # fmt: skip
    elsewhere = asked("cuMemAlloc", 2000)
    elsewhere.resolver, elsewhere.version, elsewhere.asker = entry.resolver, None, APP._replace(file="/bin/other")
    assert len(judge.routes(snapshot, [entry, elsewhere])) == 2


@pytest.mark.parametrize(("cuda", "symbol", "expected"), [
    ("11.8", "cuGetProcAddress", {"name": 0, "out": 1, "version": 2, "flags": 3}),
    ("13.0", "cuGetProcAddress_v2", {"name": 0, "out": 1, "version": 2, "flags": 3, "status": 4}),
    ("11.8", "cudaGetDriverEntryPoint", {"name": 0, "out": 1, "flags": 2}),
    ("12.9", "cudaGetDriverEntryPoint", {"name": 0, "out": 1, "flags": 2, "status": 3}),
    ("13.0", "cudaGetDriverEntryPointByVersion", {"name": 0, "out": 1, "version": 2, "flags": 3, "status": 4}),
    ("13.0", "cuGetExportTable", {"out": 0, "uuid": 1}),
    ("13.0", "dlsym", {"handle": 0, "name": 1}),
    ("13.0", "dlvsym", {"handle": 0, "name": 1, "symbol_version": 2}),
])
def test_where_a_request_stands_among_the_arguments(cuda: str, symbol: str, expected: dict[str, int]) -> None:
    shape = shapes.shapes(api.load(cuda=cuda), API_RESOLVERS)[symbol]
    assert {k: v for k, v in shape._asdict().items() if v is not None and k != "symbol"} == expected
    assert shape.arity == 1 + max(expected.values())


def test_rtld_next_is_all_ones() -> None:
    assert RTLD_NEXT == 0xFFFFFFFFFFFFFFFF

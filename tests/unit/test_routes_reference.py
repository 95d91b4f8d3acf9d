"""What a reference, a pointer or a new search leads to, and what is said of it: one row a case."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from routes_process import RouteProcess, file_of, layer_of, plain, route, rows

from gdbcuda.memory import DictMemory
from gdbcuda.routes import collect, verdicts
from gdbcuda.routes.collect import Route
from gdbcuda.routes.reports import route_report
from gdbcuda.routes.snapshot import ProcessSnapshot, Reached
from gdbcuda.routes.verdicts import Verdict

HIDES = {"is_hidden": lambda name: True}


@pytest.fixture(scope="module")
def process(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RouteProcess]:
    found = RouteProcess(tmp_path_factory.mktemp("routes"))
    yield found
    found.close()


def told(found: Verdict) -> tuple[str, str]:
    return found.word, found.why


@pytest.mark.parametrize(("order", "asker", "name", "there", "names", "expected"), [
    ("program driver", "program", "cuInit", "driver", "cuInit", ("driver", "no hook library is loaded")),
    ("program hook driver", "program", "cuInit", "hook", "cuInit", ("hooked", "")),
    ("program other", "program", "cuInit", "other", "cuInit", ("other", "")),
    ("program driver hook", "program", "cuInit", "driver", "cuInit",
     ("driver", "libhook.so was loaded by dlopen, not preloaded: the loader does not search it")),
    ("needs_hook driver hook", "needs_hook", "cuInit", "driver", "cuInit",
     ("driver", "libhook.so is behind libdriver.so in the search order")),
    ("program second driver", "program", "cuInit", "driver", "cuInit",
     ("driver", "libsecond.so has it, and is passed by: loaded with RTLD_DEEPBIND, or in a namespace of its own "
                "(dlmopen)")),
    ("program hook driver", "program", "cuMemAlloc_v2", "driver", "cuMemAlloc_v2",
     ("driver", "not in libhook.so, only cuMemAlloc")),
    ("program hook second driver", "program", "cuMemFree_v2", "driver", "cuMemFree_v2",
     ("driver", "not in libhook.so, libsecond.so")),
    ("program hook runtime", "program", "cudaMalloc", "runtime", "cudaMalloc",
     ("runtime", "libhook.so hooks below the runtime")),
    ("program upper runtime", "program", "cudaMalloc", "runtime", "cudaMalloc", ("runtime", "not in libupper.so")),
    ("program resolver driver", "program", "cuInit", "driver", "cuInit",
     ("driver", "libresolver.so exports no API function, only dlsym")),
    ("program empty driver", "program", "cuInit", "driver", "cuInit",
     ("driver", "libempty.so exports no API function, nor dlsym: no name leads to it")),
    ("program empty runtime", "program", "cudaMalloc", "runtime", "cudaMalloc",
     ("runtime", "libempty.so exports no API function, nor dlsym: no name leads to it")),
    ("asks_versions scripted versions", "asks_versions", "cuInit", "versions", "cuInit",
     ("driver", "libscripted.so has it as cuInit@@HOOK_1 (a version script): the loader looks for another version")),
    ("program hook driver", "program", "cuMemFree_v2", "driver", "cuMemAlloc_v2 cuMemAlloc",
     ("wrong version", "cuMemAlloc_v2 in the place of cuMemFree_v2")),
    ("program hook driver", "program", "cuMemFree_v2", "driver", "helper cuMemAlloc_v2",
     ("wrong version", "cuMemAlloc_v2 in the place of cuMemFree_v2")),
    ("program hook driver", "program", "cuMemFree_v2", "driver", "helper", ("driver", "not in libhook.so")),
    ("program hook driver", "program", "no_function", "hook", "cuInit", ("hooked", "")),
    ("program hook driver", "hook", "cuInit", "hook", "cuInit", ("hooked", "the hook calls its own function")),
    ("program hook second driver", "hook", "cuInit", "second", "cuInit", ("real", "the next hook library")),
    ("program hook driver", "hook", "cuInit", "driver", "cuInit", ("real", "")),
])  # fmt: skip
def test_verdicts(process: RouteProcess, order: str, asker: str, name: str, there: str, names: str,
                  expected: tuple[str, str]) -> None:  # fmt: skip
    snapshot = process.snapshot(*order.split())
    reached = process.reached(there, *names.split())
    assert told(verdicts.of_reference(snapshot, process.of[asker], name, reached)) == expected


def test_a_pointer_that_a_library_of_hidden_functions_did_not_answer_with(process: RouteProcess) -> None:
    """It exports dlsym, and was asked: that is no reason."""
    snapshot, there = process.snapshot("program", "resolver", "driver"), process.reached("driver", "cuInit")
    word, why = told(verdicts.of_reference(snapshot, process.of["program"], "cuInit", there, "pointer"))
    assert word == "driver" and why.startswith("libresolver.so did not answer with a function of its own (cuda-dlsym")


def test_hidden_in_the_hook(process: RouteProcess) -> None:
    snapshot = process.snapshot("program", "hook", "second", "driver", **HIDES)
    there = process.reached("driver", "cuMemFree_v2")
    found = verdicts.of_reference(snapshot, process.of["program"], "cuMemFree_v2", there)
    why = "hidden in libhook.so, libsecond.so: the loader finds exported functions only"
    assert told(found) == ("driver", why)


@pytest.mark.parametrize(("asker", "why"), [
    ("symbolic", "libsymbolic.so is linked with -Bsymbolic: its own definition comes first"),
    ("other", "libother.so has its own"),
])
def test_an_object_that_has_its_own(process: RouteProcess, asker: str, why: str) -> None:
    """As a static runtime in a library: of the driver's layer here."""
    snapshot = process.snapshot(asker, "hook")
    own = process.reached(asker, "cuInit")._replace(layer="driver")
    assert told(verdicts.of_reference(snapshot, process.of[asker], "cuInit", own)) == ("driver", why)


def test_nothing_is_missing(process: RouteProcess) -> None:
    snapshot = process.snapshot("program", "hook", "driver")
    found = verdicts.of_reference(snapshot, process.of["hook"], "cuInit", None)
    assert told(found) == ("missing", "NULL: nothing defined it when it was bound")


@pytest.mark.parametrize(("layer", "word"), [
    ("hook", "hooked"), ("driver", "driver"), ("runtime", "runtime"), ("app", "other"), ("system", "other"),
    ("", "other"),
])
def test_the_word_of_a_layer(layer: str, word: str) -> None:
    assert verdicts.of_layer(Reached(1, (), "/x", layer)) == word
    assert verdicts.of_layer(None) == "missing"


def routes(process: RouteProcess, snapshot: ProcessSnapshot, asker: str = "program") -> list[Route]:
    one, names = process.of[asker], snapshot.api_names
    return collect.sorted_routes(collect.pointers(snapshot, one, names) + collect.references(snapshot, one, names))


def test_a_programs_routes_as_the_user_sees_them(process: RouteProcess) -> None:
    """The same program twice: before its first calls, and after them."""
    snapshot = process.snapshot("program", "hook", "driver", variable_at=lambda address: "in kept")
    past = ["driver libdriver.so cuDeviceGet", "driver", "not in libhook.so"]
    bound = [
        ["function", "asked by", "way", "reaches", "verdict", "why"],
        ["cuDeviceGet", "app libprogram.so", "GOT, bound", *past],
        ["cuDriverGetVersion", "app libprogram.so", "GOT, bound", "nothing", "missing",
         "NULL: nothing defined it when it was bound"],
    ]  # fmt: skip
    cu_init = ["cuInit", "app libprogram.so", "PLT, not called yet", "hook libhook.so cuInit", "hooked"]
    assert rows_of(routes(process, snapshot)) == [*bound, cu_init]
    assert process.loaded["program"].ask() == 7
    snapshot = process.snapshot("program", "hook", "driver", variable_at=lambda address: "in kept")
    stored = ["cuDeviceGet", "app libprogram.so", "pointer, in kept", *past]
    at_once = ["cuInit", "app libprogram.so", "PLT, bound", "driver libdriver.so cuInit", "driver",
               "libhook.so has it, and is passed by: loaded with RTLD_DEEPBIND, or in a namespace of its own (dlmopen)"]
    assert rows_of(routes(process, snapshot)) == [*bound[:2], stored, stored, bound[2], at_once]
    kept, same = (route for route in routes(process, snapshot) if route.way == "pointer")
    assert kept.address != same.address and kept.as_json()["slot"] == kept.address


def test_a_snapshot_collects_the_references_of_an_object_once(process: RouteProcess) -> None:
    """Who asks for all of them, as cuda-layers and cuda-route do to see who hooks, has answered who asks for some."""
    snapshot, program = process.snapshot("program", "hook", "driver"), process.of["program"]
    everything = collect.references(snapshot, program, snapshot.api_names)
    snapshot.memory = DictMemory({})  # nothing can be read any more
    assert collect.references(snapshot, program, {"cuInit"}) == [one for one in everything if one.function == "cuInit"]
    assert collect.references(snapshot, program, snapshot.api_names) == everything != []


def rows_of(found: list[Route]) -> list[list[str]]:
    return rows(route_report.table(found, plain))


@pytest.mark.parametrize(("order", "way", "why"), [
    ("program upper second driver", "pointer",
     "libupper.so has it and no dlsym: who asks with the handle of a library gets that library's"),
    ("program hook driver", "pointer", "libhook.so has it and no cuGetProcAddress: who asks that gets the driver's"),
    ("program full driver", "pointer", "libfull.so has it, and did not answer with it (cuda-dlsym log on, from the "
                                       "start, shows the request)"),
    ("program second driver", "PLT",
     "libsecond.so has it, and is passed by: loaded with RTLD_DEEPBIND, or in a namespace of its own (dlmopen)"),
])  # fmt: skip
def test_a_pointer_was_handed_out(process: RouteProcess, order: str, way: str, why: str) -> None:
    """No flag of the loader's has to do with it."""
    snapshot = process.snapshot(*order.split())
    reached = process.reached("driver", "cuInit")
    assert verdicts.of_reference(snapshot, process.of["program"], "cuInit", reached, way) == ("driver", why)


@pytest.mark.parametrize(("way", "why"), [
    ("PLT", "the hook calls its own function"), ("GOT", "the hook's own function"),
    ("pointer", "the hook's own function")])
def test_the_hooks_own_function_is_called_or_kept(process: RouteProcess, way: str, why: str) -> None:
    snapshot = process.snapshot("program", "hook", "driver")
    found = verdicts.of_reference(snapshot, process.of["hook"], "cuInit", process.reached("hook", "cuInit"), way)
    assert found == ("hooked", why)


def test_a_hook_that_calls_itself(process: RouteProcess) -> None:
    found = routes(process, process.snapshot("program", "hook", "driver"), "hook")
    assert rows_of(found)[1] == ["cuInit", "hook libhook.so", "PLT, not called yet", "hook libhook.so cuInit", "hooked",
                                 "the hook calls its own function"]  # fmt: skip


def test_json_of_a_route(process: RouteProcess) -> None:
    snapshot = process.snapshot("program", "hook", "driver")
    route = collect.search(snapshot, "cuMemFree_v2")
    assert route.as_json() == {
        "function": "cuMemFree_v2", "way": "by name", "asker": "/opt/libprogram.so", "asker_layer": "app", "state": "",
        "slot": 0, "verdict": "driver", "why": "not in libhook.so",
        "reached": {"address": process.address("driver", "cuMemFree_v2"), "name": "cuMemFree_v2",
                    "object": "/opt/libdriver.so", "layer": "driver"},
    }  # fmt: skip
    nobody = collect.search(snapshot, "cuNobodyHasIt")
    assert nobody.as_json()["reached"] is None and nobody.verdict.word == "missing"


def test_who_is_searched_for_pointers(process: RouteProcess) -> None:
    snapshot = process.snapshot("program", "hook", "resolver", "driver", "other")
    assert [name for name in ("program", "hook", "resolver", "driver", "other")
            if collect.stores_answers(snapshot, process.of[name])] == ["hook", "resolver"]  # fmt: skip


@pytest.mark.parametrize(("name", "is_alloc"), [
    ("cuMemAlloc_v2", True), ("cuMemAllocHost_v2", True), ("cuInit", False), ("cuNoFunction", False),
    ("cuMemAddressReserve", False), ("cuMemHostRegister_v2", False), ("cuIpcOpenMemHandle_v2", False),
    ("cuGraphAddMemAllocNode", True), ("cuMemCreate", True)])
def test_what_allocates(process: RouteProcess, name: str, is_alloc: bool) -> None:
    assert collect.is_alloc(process.snapshot("program"), name) is is_alloc


def test_routes_are_in_order_of_function_layer_object_and_way() -> None:
    wanted = [
        route("cuInit", asker="/a"), route("cuInit", asker="/b", way="GOT"), route("cuInit", asker="/b"),
        route("cuInit", "runtime"), route("cuInit", "hook"), route("cuInit", "driver"), route("cuInit", "system"),
        route("cuInit", "unheard-of"), route("cuMemAlloc"), route("cuMemAlloc_v2"), route("cuMemAllocAsync"),
    ]  # fmt: skip
    assert collect.sorted_routes(wanted[::-1]) == wanted


def test_objects_of_the_snapshot(process: RouteProcess) -> None:
    snapshot = process.snapshot("program", "hook", "second", "driver", symbol_at=lambda address: "inner")
    assert [file_of(one) for one in snapshot.hooks] == ["/opt/libhook.so", "/opt/libsecond.so"]
    assert {name: layer_of(one) + file_of(one) for name, one in snapshot.hooked_names.items()} == {
        "cuInit": "hook/opt/libhook.so", "cuMemAlloc": "hook/opt/libhook.so", "cuDeviceGet": "hook/opt/libsecond.so"}
    address = process.address("driver", "helper")
    assert snapshot.reached(address) == process.reached("driver", "helper")
    assert snapshot.reached(address + 1) == process.reached("driver", "helper")._replace(
        address=address + 1, names=("inner",), offset=address + 1 - process.of["driver"].image.base)
    assert snapshot.reached(0) is None
    snapshot.learned[8] = "cuInit"
    assert snapshot.reached(8) == Reached(8, (), "", "", 0, "cuInit")
    assert snapshot.resolver_names >= {"dlsym", "dlvsym", "__libc_dlsym", "_dl_sym", "cuGetProcAddress",
                                       "cuGetProcAddress_v2", "cudaGetDriverEntryPoint", "cuGetExportTable",
                                       "cudaGetDriverEntryPointByVersion", "cudaGetExportTable"}  # fmt: skip


def test_an_address_without_a_name_is_what_it_was_answered_for(process: RouteProcess) -> None:
    snapshot = process.snapshot("program", "hook", "driver")
    place = process.address("hook", "own") + 1
    snapshot.learned[place] = "cuInit"
    found = snapshot.reached(place)
    assert found is not None
    offset = place - process.of["hook"].image.base
    assert found == Reached(place, (), "/opt/libhook.so", "hook", offset, "cuInit")
    assert found.text == f"hook libhook.so+{offset:#x} (answered for cuInit)"

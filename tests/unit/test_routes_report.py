"""Routes as a person sees them: tables, summaries, colours."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from routes_process import RouteProcess, marked, plain, route, rows

from gdbcuda.routes import collect, report, resolvers, verdicts
from gdbcuda.routes.collect import Route
from gdbcuda.routes.snapshot import Reached


@pytest.fixture(scope="module")
def process(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RouteProcess]:
    found = RouteProcess(tmp_path_factory.mktemp("routes"))
    yield found
    found.close()


@pytest.mark.parametrize(("order", "found", "expected"), [
    ("program driver", [], "0 functions reachable; no hook library is loaded"),
    ("program driver", [route("cuInit", way="by name")],
     "Nothing refers to it by name yet; 'by name' is what a new reference would find."),
    ("program driver", [route("cuInit", "hook")],
     "Nothing refers to it by name yet; what a new reference would find: --all"),
    ("program driver", [route("cuInit"), route("cuInit", "runtime")],
     "1 function reachable; no hook library is loaded"),
    ("program hook", [route("cuInit", word="hooked", there="hook")], "1 function reachable: 1 hooked, 0 past the hook"),
    ("program hook", [route("cuInit", word="hooked", there="hook"), route("cuInit", "runtime")],
     "1 function reachable: 1 hooked, 1 past the hook (1 depends on who asks)"),
    ("program hook", [route(name, layer, *end) for name in ("cuInit", "cuMemFree_v2")
                      for layer, *end in (("app", "hooked", "hook"), ("runtime", "other", "system"))],
     "2 functions reachable: 2 hooked, 2 past the hook (2 depend on who asks)"),
    ("program hook", [route("cuInit", word="missing", there=None), route("cuMemFree_v2", "hook")],
     "0 functions reachable: 0 hooked, 0 past the hook, 1 missing"),
    ("program hook", [route("cudaMalloc", word="runtime", there="runtime")],
     "1 function reachable: 0 hooked, 0 past the hook, 1 above the hook"),
    ("program upper", [route("cudaMalloc", word="runtime", there="runtime")],
     "1 function reachable: 0 hooked, 1 past the hook"),
    ("program hook", [route("cuInit", word="wrong object", there="driver")],
     "1 function reachable: 0 hooked, 1 past the hook, 1 wrong version"),
])  # fmt: skip
def test_summaries(process: RouteProcess, order: str, found: list[Route], expected: str) -> None:
    assert report.summary(process.snapshot(*order.split()), found) == expected


def test_colours_say_layer_and_verdict() -> None:
    nowhere = route("cuCtxCreate_v2", word="wrong version")._replace(reached=Reached(0x77, (), "", ""))
    missing = route("cuMemFree_v2", word="missing", there=None)
    found = [route("cuInit", word="hooked", there="hook"), missing, nowhere]
    text = report.table(found, marked)
    for cells in ("<function>cuInit", "<layer-app>app p", "<layer-hook>hook hook.so cuInit", "<ok>hooked", " nothing ",
                  "<dim>missing", "<dim>unknown code 0x77", "<error>wrong version"):  # fmt: skip
        assert cells in text
    roles = {"hooked": "ok", "real": "ok", "driver": "warning", "runtime": "note", "other": "warning", "missing": "dim",
             "wrong version": "error", "wrong object": "error"}  # fmt: skip
    assert roles == verdicts.ROLES and set(verdicts.WORDS) == set(roles)


def test_who_answers_by_name(process: RouteProcess) -> None:
    snapshot = process.snapshot("program", "hook", "versions", "resolver")
    found = resolvers.implementations(snapshot)
    assert [(one.name, one.file, one.layer, one.versions, one.exported) for one in found] == [
        ("dlsym", "/opt/libhook.so", "hook", (), True), ("dlsym", "/opt/libresolver.so", "hook", (), True)]
    (versioned,) = resolvers.implementations(snapshot, ["cuInit"])[1:]
    assert versioned.versions == ("DRIVER_1 (default)",)
    place = process.address("versions", "cuInit")
    assert versioned.as_json() == {
        "name": "cuInit", "address": place, "file": "/opt/libversions.so", "layer": "driver", "exported": True,
        "object": "/opt/libversions.so", "versions": ["DRIVER_1 (default)"]}  # fmt: skip
    known = resolvers.Implementation("_dl_sym", 0x1230, "/lib/libc.so.6", "system", exported=False)
    assert rows(resolvers.table([versioned, known, found[0]], plain)) == [
        ["function", "layer", "object", "version", "address"],
        ["cuInit", "driver", "libversions.so", "DRIVER_1 (default)", f"{place:#x}"],
        ["_dl_sym", "system", "libc.so.6", "not exported", "0x1230"],
        ["dlsym", "hook", "libhook.so", "-", f"{found[0].address:#x}"]]
    text = resolvers.table([versioned, known], marked)
    assert "<function>cuInit" in text and "<layer-driver>driver" in text


def test_what_goes_past_fits_a_screen(process: RouteProcess) -> None:
    """Functions that hand out memory stay rows of their own, and so does what another object asks for."""
    snapshot = process.snapshot("program", "driver")
    others = [name for name, one in snapshot.table.functions.items() if one.api == "driver" and one.role != "alloc"]
    found = [route(name) for name in ["cuMemAlloc_v2", "cuMemAllocHost_v2", *others[:50]]]
    elsewhere = found[40]._replace(asker="/lib/libcublas.so.13")
    found[40] = elsewhere
    first, second, folded, apart, *rest = report.folded_table(snapshot, found, plain).splitlines()[2:]
    assert (first.split()[0], second.split()[0]) == ("cuMemAlloc_v2", "cuMemAllocHost_v2")
    assert folded.startswith(f"{others[0]} and 48 more") and "  driver driver.so  " in folded
    assert apart.startswith(f"{elsewhere.function} ") and f" driver.so {elsewhere.function} " in apart
    assert folded.split("  ")[0] == f"{others[0]} and 48 more"
    assert rest == [report.EACH] and "cuda-route --unhooked '*' has a row for each" in report.EACH
    few = found[:40]
    assert report.folded_table(snapshot, few, plain) == report.table(few, plain, is_each=False)


def test_the_line_above_what_goes_past(process: RouteProcess) -> None:
    snapshot = process.snapshot("program", "driver")
    head = [report.head(snapshot, [route(name) for name in names.split()]) for names in (
        "cuInit", "cuInit cuDeviceGet cuInit", "cuInit cuMemAlloc_v2", "cuMemAlloc_v2 cuMemAllocHost_v2",
        "cuMemAlloc_v2 cuMemAllocHost_v2 cuMemAllocManaged cuMemAllocPitch_v2",
        "cuMemAlloc_v2 cuMemAllocHost_v2 cuMemAllocManaged cuMemAllocPitch_v2 cuMemAllocAsync")]  # fmt: skip
    four = "cuMemAlloc_v2, cuMemAllocHost_v2, cuMemAllocManaged, cuMemAllocPitch_v2"
    assert head == [
        "1 function goes past the hook, and none hands out memory:",
        "2 functions go past the hook, and none hands out memory:",
        "2 functions go past the hook; 1 hands out memory: cuMemAlloc_v2",
        "2 functions go past the hook; 2 hand out memory: cuMemAlloc_v2, cuMemAllocHost_v2",
        f"4 functions go past the hook; 4 hand out memory: {four}",
        f"5 functions go past the hook; 5 hand out memory: {four}, ...",
    ]


def test_the_ways_of_one_row(process: RouteProcess) -> None:
    one, two = route("cuInit"), route("cuInit")._replace(way="pointer", state="in kept")
    assert report.ways([two]) == "pointer, in kept"
    assert report.ways([two._replace(state="")]) == "pointer"
    assert report.ways([two, two]) == "2 pointers" and report.ways([two] * 3) == "3 pointers"
    many = [one._replace(way="PLT")] * 2 + [two]
    assert report.ways(many) == "2 PLT, pointer"


def test_askers_beyond_two_are_counted(process: RouteProcess) -> None:
    asked = [route("cuInit")._replace(asker=f"/lib/lib{name}.so") for name in "abcd"]
    shown = [report.askers(asked[:count], plain) for count in (1, 2, 3, 4)]
    assert shown == ["app liba.so", "app liba.so, app libb.so", "app liba.so, app libb.so and 1 more",
                     "app liba.so, app libb.so and 2 more"]  # fmt: skip
    assert report.askers([asked[0], asked[0]], plain) == "app liba.so"
    far = route("cuInit")._replace(asker="/usr/local/lib/liba.so")
    assert report.asker(far, marked) == "<layer-app>app liba.so"


def test_functions_that_were_folded_are_counted_in_the_colour_of_none_of_them(process: RouteProcess) -> None:
    alike = [[route("cuInit")], [route("cuDeviceGet")], [route("cuMemFree_v2")]]
    name, _, _, there, verdict, _ = report.cells_of(alike, marked, str)
    assert name == "<function>cuInit and 2 more" and there.startswith("<dim>driver ") and verdict == "<warning>driver"
    assert report.cells_of(alike[:1], marked, str)[0] == "<function>cuInit"


def test_what_takes_device_memory_comes_first(process: RouteProcess) -> None:
    named = "cuCtxSetCurrent cuMemAddressReserve cuMemAllocFromPoolAsync cuMemAllocHost_v2 cuMemAlloc_v2"
    found = collect.allocations_first(process.snapshot("program", "driver"), [route(name) for name in named.split()])
    assert [one.function for one in found] == [
        "cuMemAlloc_v2", "cuMemAllocFromPoolAsync", "cuMemAllocHost_v2", "cuCtxSetCurrent", "cuMemAddressReserve"
    ]  # fmt: skip


def test_what_nobody_refers_to_goes_past_nothing(process: RouteProcess) -> None:
    new = route("cuMemCreate")._replace(way="by name")
    snapshot = process.snapshot("program", "driver")
    assert report.head(snapshot, [route("cuInit"), new]).startswith("1 function goes past the hook, and none hands out")
    assert report.head(snapshot, [new]) == "1 function goes past the hook; 1 hands out memory: cuMemCreate"


def test_two_files_that_are_called_the_same_have_their_directories(process: RouteProcess) -> None:
    one, two = (route("cuInit")._replace(asker=f"/opt/{name}/liba.so") for name in ("one", "two"))
    assert [row[1] for row in rows([one, two._replace(function="cuMemFree_v2")])[-2:]] == [
        "app /opt/one/liba.so", "app /opt/two/liba.so"]  # fmt: skip
    there = Reached(4, ("cuInit",), "/opt/two/liba.so", "hook")
    assert rows([one._replace(reached=there)])[-1][3] == "hook /opt/two/liba.so cuInit"

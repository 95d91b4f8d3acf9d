"""Routes as a person sees them: tables, summaries, colours."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from routes_process import RouteProcess, marked, plain, route, rows

from gdbcuda.routes import collect, verdicts
from gdbcuda.routes.collect import Route
from gdbcuda.routes.reports import resolvers, route_table
from gdbcuda.routes.reports import route_report as report
from gdbcuda.routes.snapshot import ProcessSnapshot, Reached
from gdbcuda.routes.verdicts import Verdict
from gdbcuda.text import render

OF_NOBODY = route("cuMemAlloc_v2", word="other")._replace(reached=Reached(0x77, (), "", ""))


@pytest.fixture(scope="module")
def process(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RouteProcess]:
    found = RouteProcess(tmp_path_factory.mktemp("routes"))
    yield found
    found.close()


def rows_of(found: list[Route]) -> list[list[str]]:
    return rows(report.table(found, plain))


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
    ("program empty", [route("cudaMalloc", word="runtime", there="runtime")],
     "1 function reachable: 0 hooked, 0 past the hook, 1 in the runtime"),
    ("program upper", [route("cudaMalloc", word="runtime", there="runtime")],
     "1 function reachable: 0 hooked, 1 past the hook"),
    ("program hook", [route("cuInit", word="wrong object", there="driver")],
     "1 function reachable: 0 hooked, 1 past the hook, 1 wrong version"),
    ("program hook", [OF_NOBODY], "1 function reachable: 0 hooked, 0 past the hook, 1 unknown"),
])  # fmt: skip
def test_summaries(process: RouteProcess, order: str, found: list[Route], expected: str) -> None:
    assert report.summary(process.snapshot(*order.split()), found) == expected


def test_what_leads_into_code_of_no_object_is_not_said_to_go_past(process: RouteProcess) -> None:
    snapshot, past = process.snapshot("program", "hook"), route("cuInit", word="driver", there="driver")
    said = "1 function goes past the hook, and none hands out memory"
    assert report.head(snapshot, [past]) == f"{said}:"
    assert report.head(snapshot, [past, OF_NOBODY]) == f"{said}; 1 function leads into code of no object: cuMemAlloc_v2"


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


def functions_of_driver(snapshot: ProcessSnapshot, count: int) -> list[str]:
    """That hand out no memory."""
    there = (name for name, one in snapshot.table.functions.items() if one.api == "driver")
    return [name for name in there if not collect.is_alloc(snapshot, name)][:count]


def test_what_goes_past_fits_a_screen(process: RouteProcess) -> None:
    """Functions that hand out memory stay rows of their own, and so does what another object asks for."""
    snapshot = process.snapshot("program", "driver")
    others = functions_of_driver(snapshot, 50)
    found = [route(name) for name in ["cuMemAlloc_v2", "cuMemAllocHost_v2", *others]]
    elsewhere = found[40]._replace(asker="/lib/libcublas.so.13")
    found[40] = elsewhere
    text, is_folded = report.screenful(snapshot, found, plain)
    first, second, folded, apart = text.splitlines()[2:]
    assert is_folded and (first.split()[0], second.split()[0]) == ("cuMemAlloc_v2", "cuMemAllocHost_v2")
    shortest = min((name for name in others if name != elsewhere.function), key=len)
    assert folded.split("  ")[0] == f"{shortest} and 48 more" and "  driver driver.so  " in folded
    assert apart.startswith(f"{elsewhere.function} ") and f" driver.so {elsewhere.function} " in apart
    few = found[:36]
    assert report.screenful(snapshot, few, plain) == (report.table(few, plain, is_each=False), False)


def test_what_is_wrong_is_a_row_and_comes_first(process: RouteProcess) -> None:
    """In the table of a large program, where all that is hooked is one row."""
    snapshot = process.snapshot("program", "hook", "driver")
    names = functions_of_driver(snapshot, 400)
    found = [route(name, asker=f"/lib/lib{at % 60}.so", word="hooked", there="hook") for at, name in enumerate(names)]
    found += [route("cuMemAlloc_v2"), route("cuCtxGetDevice")]
    found[200] = wrong = route(names[200], word="wrong version", there="hook")
    text, is_folded = report.screenful(snapshot, found, plain)
    first = [row[0] for row in rows(text)[1:]]
    assert is_folded and first[:3] == [wrong.function, "cuMemAlloc_v2", "cuCtxGetDevice"]
    assert len(first) == 4 and first[3].endswith(" and 398 more")


def test_any_number_of_objects_and_reasons_fits_a_screen(
    process: RouteProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Allocations too are a row where there are too many."""
    monkeypatch.setattr(report, "SCREEN", 20)
    snapshot = process.snapshot("program", "driver")
    allocating = [name for name in snapshot.table.functions if collect.is_alloc(snapshot, name)]
    found = [route(name, asker=f"/lib/lib{at}.so")._replace(verdict=Verdict("driver", f"reason {at}"))
             for at, name in enumerate([*allocating, *functions_of_driver(snapshot, 90)])]  # fmt: skip
    assert len(allocating) > 20
    text, is_folded = report.screenful(snapshot, found, plain)
    (allocations, others) = rows(text)[1:]
    assert is_folded and allocations[0].endswith(f" and {len(allocating) - 1} more") and "and 89 more" in others[0]
    assert "reason" not in text


def test_reasons_that_name_a_request_each_are_one_row(process: RouteProcess) -> None:
    """As of the hook's pointers that are NULL: what was looked up in vain is told from what was not looked up."""
    snapshot = process.snapshot("program", "hook", "driver")
    reasons = [*((f"NULL: request #{at} failed", "NULL: looked up in vain") for at in range(60)),
               *[("NULL: not looked up", "")] * 40]  # fmt: skip
    found = [route(name)._replace(reached=None, verdict=Verdict("real", why), kind=kind)
             for name, (why, kind) in zip(functions_of_driver(snapshot, 100), reasons)]  # fmt: skip
    text, is_folded = report.screenful(snapshot, found, plain)
    assert is_folded and [row[-1] for row in rows(text)[1:]] == ["NULL: looked up in vain", "NULL: not looked up"]


def test_a_narrow_terminal_has_less_in_a_row(process: RouteProcess, monkeypatch: pytest.MonkeyPatch) -> None:
    """And no name is broken, where what can be told otherwise is left out."""
    found = [route(name)._replace(verdict=Verdict("driver", "not in libvgpu.so, which has others of that name"))
             for name in ("cuEGLStreamConsumerAcquireFrame", "cuMemAlloc_v2")]  # fmt: skip
    monkeypatch.setattr(render, "screen", lambda: 80)
    text = report.table(found, plain, is_each=False)
    above, head, _, first, second = text.splitlines()
    assert above == "In each row: why: not in libvgpu.so, which has others of that name"
    assert head.split("  ")[0] == "function" and "verdict" in head
    assert rows(first) == [["cuEGLStreamConsumerAcquireFrame", "app p", "PLT", "driver driver.so", "driver"]]
    assert max(map(len, text.splitlines())) <= 80 and second.startswith("cuMemAlloc_v2 ")
    longer = [one._replace(asker="/lib/libcusparseLt-12345678.so.0") for one in found]
    assert rows(report.table(longer, plain, is_each=False))[1] == ["function", "asked by", "reaches"]
    odd = longer[0]._replace(reached=Reached(4, ("cuMemFree_v2",), "/lib/driver.so", "driver"))
    assert "cuMemFree_v2" in report.table([odd, longer[1]], plain, is_each=False) and text.count("cuMemAlloc_v2") == 1
    whole = report.table(found[:1], plain)  # of a function that was named
    assert re.search(r"^way +PLT$", whole, re.M) and "driver driver.so cuEGL" in whole
    hooked = route("cuInit")._replace(verdict=Verdict("hooked"))
    above, rest, _, *mixed = report.table([*found, hooked], plain, is_each=False).splitlines()
    assert f"{above} {rest.strip()}".startswith("In each row that says driver: why: not in libvgpu.so, which")
    assert len(mixed) == 4 and max(map(len, mixed)) <= 80


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


def test_what_is_wrong_and_reaches_the_hook_goes_not_past_it(process: RouteProcess) -> None:
    """As a function of the hook's for another default stream; the line below the table counts it as that too."""
    snapshot, one = process.snapshot("program", "driver"), route("cuMemcpy_ptds")
    wrong = one._replace(reached=Reached(4, ("cuMemcpy",), "/lib/hook.so", "hook"), verdict=Verdict("wrong version"))
    given = "1 function gets a wrong one of the hook's: cuMemcpy_ptds"
    assert report.head(snapshot, [wrong]) == given
    assert report.head(snapshot, [wrong, route("cuInit")]) == (
        f"1 function goes past the hook, and none hands out memory; {given}")  # fmt: skip
    more = [wrong._replace(function=f"cuMemcpy{n}") for n in range(5)]
    assert report.head(snapshot, [*more, route("cuMemAlloc_v2")]) == (
        "1 function goes past the hook; 1 hands out memory: cuMemAlloc_v2; 5 functions get a wrong one of the hook's: "
        "cuMemcpy0, cuMemcpy1, cuMemcpy2, cuMemcpy3, ...")  # fmt: skip


def test_the_ways_of_one_row(process: RouteProcess) -> None:
    one, two = route("cuInit"), route("cuInit")._replace(way="pointer", state="in kept")
    assert route_table.ways([two]) == "pointer, in kept"
    assert route_table.ways([two._replace(state="")]) == "pointer"
    assert route_table.ways([two, two]) == "2 pointers" and route_table.ways([two] * 3) == "3 pointers"
    many = [one._replace(way="PLT")] * 2 + [two]
    assert route_table.ways(many) == "2 PLT, pointer"
    asked = [route("cuMemcpy", way=f"cuGetProcAddress_v2 at {version}") for version in (4000, 7000)]
    assert route_table.ways([*asked, two]) == "2 cuGetProcAddress_v2, pointer"
    assert route_table.ways(asked[:1]) == "cuGetProcAddress_v2 at 4000"


def test_askers_beyond_two_are_counted(process: RouteProcess) -> None:
    asked = [route("cuInit")._replace(asker=f"/lib/lib{name}.so") for name in "abcd"]
    shown = [route_table.askers(asked[:count], plain) for count in (1, 2, 3, 4)]
    assert shown == ["app liba.so", "app liba.so, app libb.so", "app liba.so, app libb.so and 1 more",
                     "app liba.so, app libb.so and 2 more"]  # fmt: skip
    assert route_table.askers([asked[0], asked[0]], plain) == "app liba.so"
    far = route("cuInit")._replace(asker="/usr/local/lib/liba.so")
    assert route_table.asker(far, marked) == "<layer-app>app liba.so"


def test_functions_that_were_folded_are_counted_in_the_colour_of_none_of_them(process: RouteProcess) -> None:
    alike = [[route("cuInit")], [route("cuDeviceGet")], [route("cuMemFree_v2")]]
    name, _, _, there, verdict, _ = route_table.cells_of(alike, marked, str)
    assert name == "<function>cuInit and 2 more" and there.startswith("<dim>driver ") and verdict == "<warning>driver"
    assert route_table.cells_of(alike[:1], marked, str)[0] == "<function>cuInit"


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
    assert [row[1] for row in rows_of([one, two._replace(function="cuMemFree_v2")])[-2:]] == [
        "app /opt/one/liba.so", "app /opt/two/liba.so"]  # fmt: skip
    there = Reached(4, ("cuInit",), "/opt/two/liba.so", "hook")
    assert rows_of([one._replace(reached=there)])[-1][3] == "hook /opt/two/liba.so cuInit"

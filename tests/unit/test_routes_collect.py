"""Routes of this very Python process, into which small libraries are loaded as driver, hook and plugin."""

from __future__ import annotations

import ctypes
import os
import struct
from collections.abc import Iterator
from pathlib import Path

import pytest
from elf_build import compiled
from process_memory import ProcessMemory
from test_linkage import own_objects

from gdbcuda import api
from gdbcuda.check import loaded
from gdbcuda.check.loaded import Facts
from gdbcuda.linkage import Linkage
from gdbcuda.linkage.image import Image
from gdbcuda.linkage.objects import Linkages
from gdbcuda.memory import DictMemory
from gdbcuda.routes import collect
from gdbcuda.routes.collect import Route
from gdbcuda.routes.reports import resolvers, route_report
from gdbcuda.routes.snapshot import ProcessSnapshot, Reached
from gdbcuda.routes.verdicts import Verdict

DRIVER = "int cuInit(unsigned f) { return (int)f; } int cuDeviceGet(int *d, int n) { return *d = n; }"
HOOK = "int cuInit(unsigned f) { return (int)f + 1; } void *dlsym(void *h, const char *n) { return n[0] ? h : 0; }"
PLUGIN = """
int cuInit(unsigned), cuDeviceGet(int *, int);
extern int cuDriverGetVersion(int *) __attribute__((weak));
int (*volatile kept)(int *, int);
int ask(void) { kept = cuDeviceGet; return cuInit(7) + (cuDriverGetVersion ? 100 : 0); }
"""


class Libraries:
    """Each test's are different ones to the loader."""

    def __init__(self, folder: Path) -> None:
        self.folder, tag = folder, folder.name
        self.driver = compiled(folder, DRIVER, f"-Wl,-soname,libdriver_{tag}.so", name=f"libdriver_{tag}.so")
        self.hook = compiled(folder, HOOK, name=f"libhook_{tag}.so", source_name="h.c")
        self.plugin = compiled(folder, PLUGIN, f"-L{folder}", f"-l:libdriver_{tag}.so", f"-Wl,-rpath,{folder}",
                               "-Wl,-z,lazy", name=f"libplugin_{tag}.so", source_name="p.c")  # fmt: skip

    def layer(self, linkage: Linkage) -> str:
        name = os.path.basename(linkage.image.name)
        known = {"libdriver_": "driver", "libhook_": "hook", "libplugin_": "app"}
        if not name.endswith(f"_{self.folder.name}.so"):
            return "system"
        return next(layer for prefix, layer in known.items() if name.startswith(prefix))

    def snapshot(self) -> ProcessSnapshot:
        return ProcessSnapshot(own_objects(), ProcessMemory(), api.load(), self.layer)


@pytest.fixture
def loaded_libraries(tmp_path: Path) -> Iterator[tuple[Libraries, ctypes.CDLL]]:
    libraries = Libraries(tmp_path)
    yield libraries, ctypes.CDLL(str(libraries.plugin), mode=os.RTLD_LAZY)


def routes_of(snapshot: ProcessSnapshot, path: Path) -> dict[tuple[str, str], collect.Route]:
    asker = next(one for one in snapshot.objects.all if one.image.name == str(path))
    found = collect.references(snapshot, asker, snapshot.api_names) + collect.pointers(
        snapshot, asker, snapshot.api_names
    )
    return {(route.function, route.way): route for route in found}


def test_before_and_after_the_first_call(loaded_libraries: tuple) -> None:
    libraries, plugin = loaded_libraries
    before = routes_of(libraries.snapshot(), libraries.plugin)
    assert before["cuInit", "PLT"].state == "not called yet"
    assert before["cuInit", "PLT"].reached.text == f"driver {libraries.driver.name} cuInit"
    assert before["cuDeviceGet", "GOT"].state == "bound"
    assert ("cuDeviceGet", "pointer") not in before
    assert plugin.ask() == 7
    after = routes_of(libraries.snapshot(), libraries.plugin)
    assert after["cuInit", "PLT"].state == "bound"
    assert after["cuInit", "PLT"].reached == before["cuInit", "PLT"].reached
    assert after["cuDeviceGet", "pointer"].reached.layer == "driver"


def test_a_weak_reference_that_nothing_defines(loaded_libraries: tuple) -> None:
    libraries, _ = loaded_libraries
    route = routes_of(libraries.snapshot(), libraries.plugin)["cuDriverGetVersion", "GOT"]
    assert route.reached is None and route.verdict.word == "missing"
    assert route.as_json()["reached"] is None


def test_why_it_is_not_hooked(loaded_libraries: tuple) -> None:
    libraries, _ = loaded_libraries
    snapshot = libraries.snapshot()
    assert routes_of(snapshot, libraries.plugin)["cuInit", "PLT"].verdict.why == "no hook library is loaded"
    ctypes.CDLL(str(libraries.hook))
    snapshot = libraries.snapshot()
    verdict = routes_of(snapshot, libraries.plugin)["cuInit", "PLT"].verdict
    assert verdict.word == "driver"
    assert verdict.why == f"{libraries.hook.name} was loaded by dlopen, not preloaded: the loader does not search it"
    assert sorted(snapshot.hooked_names) == ["cuInit"]


def test_summary_and_table(loaded_libraries: tuple) -> None:
    libraries, _ = loaded_libraries
    snapshot = libraries.snapshot()
    found = collect.sorted_routes(list(routes_of(snapshot, libraries.plugin).values()))
    assert route_report.summary(snapshot, found) == "2 functions reachable; no hook library is loaded"
    ctypes.CDLL(str(libraries.hook))
    snapshot = libraries.snapshot()
    found = collect.sorted_routes(list(routes_of(snapshot, libraries.plugin).values()))
    assert route_report.summary(snapshot, found) == "2 functions reachable: 0 hooked, 2 past the hook, 1 missing"
    text = route_report.table(found, lambda text, role: text)
    assert f"app {libraries.plugin.name}" in text and "PLT, not called yet" in text and "nothing" in text


def test_a_wrong_version_of_the_hooks_own_is_not_past_the_hook(loaded_libraries: tuple) -> None:
    """As where the per-thread variant was asked for and the hook answers with its other function."""
    libraries, _ = loaded_libraries
    ctypes.CDLL(str(libraries.hook))
    verdict = Verdict("wrong version", "cuMemcpyHtoD_v2 where cuMemcpyHtoD_v2_ptds is meant")
    there = Reached(4096, ("cuMemcpyHtoD_v2",), str(libraries.hook), "hook")
    route = collect.Route("cuMemcpyHtoD_v2_ptds", "cuGetProcAddress_v2", "program", "app", "", there, verdict)
    summary = "1 function reachable: 0 hooked, 0 past the hook, 1 wrong version"
    assert route_report.summary(libraries.snapshot(), [route]) == summary
    behind = route._replace(reached=there._replace(layer="driver"))
    assert "1 past the hook, 1 wrong version" in route_report.summary(libraries.snapshot(), [behind])


def test_implementations_of_dlsym(loaded_libraries: tuple) -> None:
    libraries, _ = loaded_libraries
    ctypes.CDLL(str(libraries.hook))
    found = [one for one in resolvers.implementations(libraries.snapshot()) if one.name == "dlsym"]
    assert {one.layer for one in found} == {"hook", "system"}
    libc = next(one for one in found if one.layer == "system")
    assert any(version.startswith("GLIBC_") for version in libc.versions)
    assert next(one for one in found if one.layer == "hook").versions == ()


def test_the_hook_that_came_late_is_a_finding(loaded_libraries: tuple) -> None:
    libraries, _ = loaded_libraries
    ctypes.CDLL(str(libraries.hook))
    found = loaded.findings(libraries.snapshot(), Facts())
    assert [finding.id for finding in found] == ["hook-dlopened"]
    elsewhere = loaded.findings(libraries.snapshot(), Facts(named_hooks=("/x/libother.so",), preload="/y/libthird.so"))
    assert elsewhere[0].id == "preload-lost"


@pytest.mark.parametrize(("facts", "id"), [
    (Facts(("/x/libother.so",), is_secure=True), "secure-execution"),
    (Facts(("/x/libother.so",), preload="/x/libother.so"), "preload-failed"),
    (Facts(("/x/libother.so",)), "hook-not-mapped"),
    (Facts(namespaces=((("/lib/libcuda.so.1", "driver"),),)), "namespace"),
])
def test_what_the_facts_alone_tell(loaded_libraries: tuple, facts: Facts, id: str) -> None:
    assert loaded.findings(loaded_libraries[0].snapshot(), facts)[0].id == id


def test_without_a_loader() -> None:
    assert [f.id for f in loaded.without_loader(Facts(is_static=True))] == ["static-program"]
    assert [f.id for f in loaded.without_loader(Facts())] == ["not-started"]


WRITABLE, READABLE = 2, 4


def test_words_of_every_part_that_is_written() -> None:
    """A part that is constant, empty or not there hides none of those behind it."""
    parts = [(0x1000, 16, READABLE), (0x2000, 4, WRITABLE), (0x3000, 16, WRITABLE), (0x4004, 23, WRITABLE | READABLE)]
    rows = [struct.pack("<IIQQQQQQ", 1, flags, 0, start, start, size, size, 8) for start, size, flags in parts]
    words = struct.pack("<4xQQ", 7, 9)
    memory = DictMemory({0x1000: bytes(16), 0x2000: bytes(4), 0x4004: words + bytes(3), 0x9000: b"".join(rows)})
    asker = Linkage(Image(memory, "libasks.so", 0, 0, headers=(0x9000, len(rows))))
    snapshot = ProcessSnapshot(Linkages([]), memory, api.load(), lambda linkage: "app")
    assert list(collect.words(snapshot, asker)) == [(0x4008, 7), (0x4010, 9)]


def test_a_stored_answer_is_the_way_of_its_request() -> None:
    def route(way: str, address: int, asker: str = "/lib/libcudart.so") -> Route:
        reached = Reached(address, ("cuInit",), "/lib/libcuda.so.1", "driver")
        return Route("cuInit", way, asker, "runtime", "", reached, Verdict("driver", ""))

    request, slot, other = route("cuGetProcAddress_v2 at 2000", 0x10), route("PLT", 0x10), route("pointer", 0x20)
    of_another = route("pointer", 0x10, "/bin/program")
    found = [request, slot, route("pointer", 0x10), other, of_another]
    assert collect.without_kept_answers(found) == [request, slot, other, of_another]
    assert collect.without_kept_answers([slot, route("pointer", 0x10)]) == [slot, route("pointer", 0x10)]

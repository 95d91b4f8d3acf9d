"""Code that answers for a function without having its name: overwritten entries, rewritten slots, answers to others."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Iterator
from typing import Any

import pytest
from process_memory import ProcessMemory
from routes_process import RouteProcess

from gdbcuda.check import loaded
from gdbcuda.check.loaded import Facts
from gdbcuda.errors import Unreadable
from gdbcuda.linkage.slots import slot_values
from gdbcuda.routes import answering
from gdbcuda.routes.answering import Answering
from gdbcuda.routes.requests import Asker, Request
from gdbcuda.routes.snapshot import ProcessSnapshot, Reached

NAMES = frozenset({"cuInit", "cuDeviceGet", "cuMemFree_v2"})
ORDER = ("program", "hook", "patches", "driver", "runtime", "other")


@pytest.fixture(scope="module")
def process(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RouteProcess]:
    found = RouteProcess(tmp_path_factory.mktemp("routes"))
    yield found
    found.close()


def test_a_place_is_named_as_its_author_wrote_it() -> None:
    """A path is a name too."""
    assert Reached(1, ("_ZN2hk5Alloc5enterEPym",), "/l/libslots.so", "hook").text == (
        "hook libslots.so hk::Alloc::enter(unsigned long long*, unsigned long)")  # fmt: skip
    assert Reached(1, ("/a folder (1)/libcuda.so",), "", "").name == "/a folder (1)/libcuda.so"


def jump(there: int) -> bytes:
    """movabs $there, %rax; jmp *%rax"""
    return (b"\x48\xb8" + struct.pack("<Q", there) + b"\xff\xe0").ljust(24, b"\x90")


def patched(process: RouteProcess, jumps: dict[int, int], *order: str, **more: Any) -> ProcessSnapshot:
    """In which the code at these addresses is a jump."""
    own = ProcessMemory()
    read = lambda at, size: jump(jumps[at])[:size] if at in jumps else own.read(at, size)  # noqa: E731
    return process.snapshot(*(order or ORDER), code_at=[read], **more)


def test_an_overwritten_entry_leads_to_whom_it_jumps_to(process: RouteProcess) -> None:
    entry, ours = process.address("driver", "cuMemFree_v2"), process.address("patches", "cuInit_of_ours")
    snapshot = patched(process, {entry: ours})
    there = process.reached("patches", "cuInit_of_ours")
    assert (snapshot.patched(entry), snapshot.behind_patch(entry)) == (ours, ours)
    assert snapshot.reached(entry) == there
    assert snapshot.reached(entry, is_final=True) == process.reached("driver", "cuMemFree_v2")
    (definition,) = process.of["driver"].symbols.find("cuMemFree_v2")
    assert snapshot.reached_definition(process.of["driver"], definition) == there
    how = "the entry in libdriver.so jumps there"
    assert answering.found(snapshot, NAMES) == [Answering("cuMemFree_v2", there, how, entry)]
    assert answering.found(snapshot, NAMES - {"cuMemFree_v2"}) == []


@pytest.mark.parametrize(("library", "name"), [
    ("driver", "helper"), ("runtime", "cudaMalloc"), ("other", "cuInit"), ("nowhere", "")])
def test_a_jump_of_the_vendors_own_is_no_patch(process: RouteProcess, library: str, name: str) -> None:
    entry = process.address("driver", "cuMemFree_v2")
    there = 0x10 if library == "nowhere" else process.address(library, name)
    snapshot = patched(process, {entry: there})
    assert snapshot.patched(entry) is None and snapshot.behind_patch(entry) == entry
    assert answering.found(snapshot, NAMES) == []


def test_a_hook_librarys_own_function_is_no_secret(process: RouteProcess) -> None:
    """It is the hook's cuInit; another function of the API that answers is the matter of a verdict."""
    entry = process.address("driver", "cuInit")
    for name, names in (("cuInit", 0), ("own", 1), ("cuMemAlloc", 0)):
        snapshot = patched(process, {entry: process.address("hook", name)})
        assert len(answering.found(snapshot, NAMES)) == names, name
    assert snapshot.reached(entry) == process.reached("hook", "cuMemAlloc")


def test_code_is_read_only_where_somebody_may_have_changed_it(process: RouteProcess) -> None:
    entry, ours = process.address("driver", "cuInit"), process.address("hook", "own")
    assert patched(process, {entry: ours}, "program", "hook", "driver").patched(entry) is None
    assert patched(process, {entry: ours}, "program", "hook", "patches", "driver").patched(entry) == ours
    assert not patched(process, {entry: ours}, "program", "hook", "python", "driver").may_be_patched


def test_the_first_way_to_read_code_that_tells_holds(process: RouteProcess) -> None:
    entry, ours = process.address("driver", "cuInit"), process.address("hook", "own")

    def unreadable(at: int, size: int) -> bytes:
        raise Unreadable(at, size)

    snapshot = process.snapshot(*ORDER, code_at=[unreadable, ProcessMemory().read, lambda at, size: jump(ours)[:size]])
    assert snapshot.patched(entry) == ours
    assert process.snapshot(*ORDER).patched(entry) is None and process.snapshot(*ORDER)._code_at
    assert process.snapshot(*ORDER, code_at=[unreadable]).patched(entry) is None


def test_a_hook_without_names_is_not_told_to_be_found_by_name(process: RouteProcess) -> None:
    """An injection library comes with dlopen, as it has to; whether calls arrive is what is said of it."""
    order, facts = ("program", "driver", "patches", "empty"), Facts(named_hooks=("/opt/libempty.so",))
    entry, ours = process.address("driver", "cuInit"), process.address("empty", "nothing_of_the_api")
    (arrives,) = loaded.findings(patched(process, {entry: ours}, *order), facts)
    assert arrives.id == "hook-by-other-ways" and arrives.seen.endswith("calls of the program lead there: cuInit")
    assert not arrives.verdict and not arrives.do
    (asked_for,) = loaded.findings(patched(process, {process.address("driver", "cuMemAlloc_v2"): ours}, *order), facts)
    assert asked_for.seen.endswith("lead there: cuMemAlloc_v2"), "no slot leads to it, and whoever asks gets there"
    (unknown,) = loaded.findings(patched(process, {}, *order), facts)
    assert "no slot of the program and no entry of the driver leads there" in unknown.seen
    assert unknown.verdict == "unknown whether calls arrive in the hook"


def test_only_entries_of_the_api_are_followed(process: RouteProcess) -> None:
    helper = process.address("driver", "helper")
    assert patched(process, {helper: process.address("hook", "own")}).behind_patch(helper) == helper


class Rewritten:
    """The process's memory with another word in one place."""

    def __init__(self, at: int, value: int) -> None:
        self.at, self.value, self.own = at, value, ProcessMemory()

    def read(self, address: int, size: int) -> bytes:
        data = bytearray(self.own.read(address, size))
        if address <= self.at and self.at + 8 <= address + size:
            data[self.at - address : self.at - address + 8] = struct.pack("<Q", self.value)
        return bytes(data)


@pytest.mark.parametrize(("library", "name", "found"), [
    ("hook", "own", True), ("patches", "cuInit_of_ours", True), ("hook", "cuInit", False),
    ("driver", "helper", False), ("other", "cuInit", False), ("program", "ask", False)])
def test_a_rewritten_slot_leads_to_code_of_another_name(
    process: RouteProcess, library: str, name: str, found: bool
) -> None:
    snapshot = process.snapshot(*ORDER)
    (slot,) = (one for one in process.of["program"].slots({"cuInit"}) if one.kind == "PLT")
    there = process.address(library, name)
    snapshot.memory = Rewritten(slot.address, there)
    assert slot_values(snapshot.memory, [slot])[slot.address] == there
    how, asker = "the slot of libprogram.so leads there", snapshot.file_of(process.of["program"])
    wanted = Answering("cuInit", process.reached(library, name), how, asker=asker)
    assert answering.found(snapshot, frozenset({"cuInit"})) == ([wanted] if found else [])


@pytest.mark.parametrize(("to", "found"), [("hook", True), ("driver", False)])
def test_code_of_no_object_leads_to_a_hook_library(process: RouteProcess, to: str, found: bool) -> None:
    snapshot, name = process.snapshot(*ORDER), {"hook": "own", "driver": "helper"}[to]
    island = ctypes.create_string_buffer(b"\x49\xba" + struct.pack("<Q", process.address(to, name)) + b"\x41\xff\xe2")
    there = ctypes.addressof(island)
    assert snapshot.reached(there) == (process.reached(to, name) if found else Reached(there, (), "", ""))


def asked(name: str, names: tuple[str, ...], layer: str = "hook", **more: Any) -> Request:
    request = Request("cuGetProcAddress_v2", "/opt/libhook.so", "hook", Asker(1, layer="app"), 1, 8, name=name, **more)
    request.answer = Reached(0x5000, names, "/opt/libhook.so", layer)
    return request


def test_what_a_hook_library_has_answered_somebody_else(process: RouteProcess) -> None:
    snapshot = process.snapshot(*ORDER)
    request = asked("cuMemAlloc", ("inner",))
    said = "libhook.so's cuGetProcAddress_v2 answers {} with it"
    found = answering.by_request(snapshot, request, "cuMemAlloc_v2")
    assert found == Answering("cuMemAlloc_v2", request.answer, said.format("cuMemAlloc_v2 as cuMemAlloc"))
    found = answering.by_request(snapshot, request, "cuMemAlloc")
    assert found == Answering("cuMemAlloc", request.answer, said.format("cuMemAlloc"))
    for other in (asked("cuMemAlloc", ("cuMemAlloc_v2",)), asked("cuMemAlloc", ("inner",), "app"),
                  asked("cuMemAlloc", ("inner",), handed_on=True)):  # fmt: skip
        assert answering.by_request(snapshot, other, "cuMemAlloc_v2") is None
    request.answer = None
    assert answering.by_request(snapshot, request, "cuMemAlloc_v2") is None

"""Definitions, references and search order, read back from the memory of this very Python process."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from elf_build import compiled
from process_memory import AT_ENTRY, AT_PHDR, AT_PHNUM, ProcessMemory, auxiliary

from gdbcuda.errors import Unreadable
from gdbcuda.linkage import Linkage, Linkages, image
from gdbcuda.linkage.image import Image
from gdbcuda.linkage.readable import is_readable
from gdbcuda.linkage.slots import Slot, clusters, slot_values
from gdbcuda.memory import PAGE
from gdbcuda.memory.paged_memory import PagedMemory

INNER = "int answer(void) { return 42; } int other(void) { return answer(); }"
OUTER = "int answer(void); int (*kept)(void) = answer; int ask(void) { return answer(); }"
NAMES = frozenset({"answer", "other", "ask", "dlsym", "malloc"})


def build(folder: Path, *flags: str) -> tuple[str, str]:
    """libouter needs libinner; each folder's pair is a different one to the loader."""
    name = f"libinner_{folder.name}.so"
    inner = compiled(folder, INNER, f"-Wl,-soname,{name}", name=name, source_name="inner.c")
    outer = compiled(folder, OUTER, f"-L{folder}", f"-l:{name}", f"-Wl,-rpath,{folder}", *flags,
                     name=f"libouter_{folder.name}.so", source_name="outer.c")  # fmt: skip
    return str(inner), str(outer)


def own_objects() -> Linkages:
    values = auxiliary()
    return Linkages(map(Linkage, image.images(PagedMemory(ProcessMemory()), values[AT_PHDR], values[AT_PHNUM])))


def named(objects: Linkages, path: str) -> Linkage:
    return next(one for one in objects.all if os.path.realpath(one.image.name) == os.path.realpath(path))


@pytest.fixture
def lazy(tmp_path: Path) -> Iterator[tuple[Linkages, Linkage, Linkage, ctypes.CDLL]]:
    inner, outer = build(tmp_path, "-Wl,-z,lazy")
    library = ctypes.CDLL(outer, mode=os.RTLD_LAZY)
    objects = own_objects()
    yield objects, named(objects, inner), named(objects, outer), library


def test_definitions_have_the_addresses_that_the_loader_gives(lazy: tuple) -> None:
    _, inner, outer, _ = lazy
    library = ctypes.CDLL(inner.image.name)
    found = inner.symbols.defined(NAMES)
    assert sorted(found) == ["answer", "other"]
    wanted = ctypes.cast(library.answer, ctypes.c_void_p).value
    assert [d.address for d in found["answer"]] == [wanted]
    assert inner.symbols.by_address[wanted] == ("answer",)
    assert sorted(outer.symbols.defined(NAMES)) == ["ask"]


def test_slots_before_and_after_the_first_call(lazy: tuple) -> None:
    _, inner, outer, library = lazy
    slots = {slot.kind: slot for slot in outer.slots(NAMES)}
    assert {kind: slot.name for kind, slot in slots.items()} == {"PLT": "answer", "data": "answer"}
    answer = inner.symbols.find("answer")[0].address
    before = slot_values(ProcessMemory(), list(slots.values()))
    assert before[slots["data"].address] == answer
    assert outer.image.holds(before[slots["PLT"].address])  # its own PLT: not bound yet
    assert library.ask() == 42
    assert slot_values(ProcessMemory(), list(slots.values()))[slots["PLT"].address] == answer


def test_own_functions_that_could_be_preempted_have_slots_too(lazy: tuple) -> None:
    _, inner, _, _ = lazy
    assert [slot.name for slot in inner.slots(NAMES)] == ["answer"]


def test_bound_at_once(tmp_path: Path) -> None:
    _, outer = build(tmp_path, "-Wl,-z,now", "-fno-plt")
    ctypes.CDLL(outer)
    found = named(own_objects(), outer)
    assert not found.dynamic.is_symbolic
    assert {slot.kind for slot in found.slots(NAMES)} == {"GOT", "data"}


def test_what_the_dynamic_section_says(lazy: tuple) -> None:
    _, inner, outer, _ = lazy
    assert outer.dynamic.needed[0] == inner.dynamic.soname == os.path.basename(inner.image.name)
    assert outer.dynamic.run_path == ("DT_RUNPATH", os.path.dirname(outer.image.name))
    assert inner.dynamic.run_path == ("", "")


def test_symbolic(tmp_path: Path) -> None:
    path = compiled(tmp_path, INNER, "-Wl,-Bsymbolic", name="libsymbolic.so")
    ctypes.CDLL(str(path))
    assert named(own_objects(), str(path)).dynamic.is_symbolic


def test_search_order(lazy: tuple) -> None:
    objects, inner, outer, _ = lazy
    assert outer not in objects.startup and inner not in objects.startup
    assert any("libc.so" in one.image.name for one in objects.startup)
    assert objects.scope(outer) == [*objects.startup, outer, inner]
    assert objects.scope(inner) == objects.scope(outer)
    assert objects.next_scope(outer) == [inner]
    assert objects.closure(outer)[:2] == [outer, inner]
    found = objects.lookup("answer", objects.scope(outer))
    assert found is not None and found.linkage is inner
    assert objects.lookup("answer", objects.startup) is None


def test_holder_and_handle(lazy: tuple) -> None:
    objects, inner, _, library = lazy
    assert objects.holder(inner.symbols.find("other")[0].address) is inner
    assert objects.holder(0) is None and objects.holder(1 << 63) is None
    assert objects.of_handle(inner.image.handle) is inner
    assert objects.of_handle(library._handle) is not None


def test_symbol_versions() -> None:
    objects = own_objects()
    libc = next(one for one in objects.all if one.dynamic.soname == "libc.so.6")
    found = libc.symbols.find("memcpy")
    assert [d.default for d in found].count(True) == 1
    assert all(d.version.startswith("GLIBC_") for d in found)
    old = next(d for d in found if not d.default)
    chosen = objects.lookup("memcpy", objects.startup, old.version)
    assert chosen is not None and chosen.definition.address == old.address
    asked = [slot.version for one in objects.all for slot in one.slots(frozenset({"malloc"}))]
    assert asked and all(version.startswith("GLIBC_2.") for version in asked if version)


def test_a_large_object_is_searched_by_name(lazy: tuple, monkeypatch: pytest.MonkeyPatch) -> None:
    _, inner, outer, _ = lazy
    monkeypatch.setattr("gdbcuda.linkage.dynamic_symbols.FEW_SYMBOLS", 0)
    fresh = Linkage(inner.image)
    assert fresh.symbols.is_large and fresh.symbols.by_address == {}
    assert fresh.symbols.defined(NAMES) == inner.symbols.defined(NAMES)
    assert Linkage(outer.image).slots(NAMES) == outer.slots(NAMES)


def test_only_the_old_hash_table(tmp_path: Path) -> None:
    _, outer = build(tmp_path, "-Wl,--hash-style=sysv")
    ctypes.CDLL(outer)
    found = named(own_objects(), outer)
    assert {slot.name for slot in found.slots(NAMES)} == {"answer"}
    assert sorted(found.symbols.defined(NAMES)) == ["ask"]


def test_few_reads_for_many_slots() -> None:
    slots = [Slot("f", "", address, "GOT") for address in (8, 4000, 16, 90000, 90008)]
    assert [[s.address for s in group] for group in clusters(slots)] == [[8, 16, 4000], [90000, 90008]]


def test_an_object_whose_tables_are_gone_is_left_out() -> None:
    gone = Linkage(image.Image(ProcessMemory(), "libgone.so", 4096, 4096))
    assert Linkages([gone]).all == []


def test_the_kernels_object_is_left_out_and_no_file_that_is_called_alike(tmp_path: Path) -> None:
    name = "linux-vdso.so.tools.so"
    library = ctypes.CDLL(str(compiled(tmp_path, INNER, name=name)))
    names = [os.path.basename(one.image.name) for one in own_objects().all]
    assert name in names and not [one for one in names if one.startswith("linux-vdso") and one != name]
    assert library.answer() == 42


@pytest.mark.parametrize(("flags", "stays"), [((), False), (("-Wl,-z,nodelete",), True), (("-Wl,-z,now",), False)])
def test_what_is_never_unloaded(tmp_path: Path, flags: tuple[str, ...], stays: bool) -> None:
    path = compiled(tmp_path, INNER, *flags, name=f"libstays_{tmp_path.name}.so")
    ctypes.CDLL(str(path))
    assert named(own_objects(), str(path)).image.is_nodelete is stays


def test_relocations_are_read_where_there_are_some(lazy: tuple) -> None:
    """A table without an address, or that the relative ones fill, has none."""
    outer = lazy[2]
    assert [slot.kind for slot in outer.slots(frozenset({"answer"}))] == ["data", "PLT"]
    assert list(outer._table(7, 0, 0)) == [] and list(outer._table(7, 48, 48)) == []
    assert list(outer._table(0x12345, 24, 0)) == []  # a tag that it has not


def test_groups_of_slots_lie_close_together() -> None:
    places = [Slot("f", "", at, "GOT") for at in (0, 4096, 8193, 100_000, 8, 96_000)]
    groups = [[slot.address for slot in group] for group in clusters(places)]
    assert groups == [[0, 8, 4096], [8193], [96_000, 100_000]] and list(clusters([])) == []


@pytest.mark.parametrize(("option", "tag"), [("--enable-new-dtags", "DT_RUNPATH"), ("--disable-new-dtags", "DT_RPATH")])
def test_where_an_object_looks_for_others(tmp_path: Path, option: str, tag: str) -> None:
    path = compiled(tmp_path, INNER, f"-Wl,-rpath,/some/where,{option}", name="libpath.so")
    ctypes.CDLL(str(path))
    assert named(own_objects(), str(path)).dynamic.run_path == (tag, "/some/where")


def test_an_indirect_function_is_told_from_the_others(tmp_path: Path) -> None:
    source = INNER + 'static void *chosen(void) { return other; } int either(void) __attribute__((ifunc("chosen")));'
    path = compiled(tmp_path, source, name="libchosen.so")
    ctypes.CDLL(str(path))
    symbols = named(own_objects(), str(path)).symbols
    wanted = {"answer": False, "either": True}
    assert {name: symbols.find(name)[0].is_indirect for name in wanted} == wanted
    assert symbols.defined(frozenset(wanted)).keys() == wanted.keys()  # all are read now
    assert {name: symbols.find(name)[0].is_indirect for name in wanted} == wanted


def test_an_object_that_exports_nothing_refers_to_others_all_the_same(tmp_path: Path) -> None:
    """Its hash table does not say how many symbols there are."""
    source = "int answer(void); __attribute__((visibility(\"hidden\"))) int ask(void) { return answer(); }"
    path = compiled(tmp_path, source, "-Wl,-z,lazy", name="libsilent.so")
    ctypes.CDLL(str(path), mode=os.RTLD_LAZY)
    found = named(own_objects(), str(path))
    assert [slot.name for slot in found.slots(NAMES)] == ["answer"] and found.symbols.defined(NAMES) == {}
    assert set(found.symbols.undefined(NAMES).values()) == {"answer"}


def test_the_segments_of_the_program_are_where_the_kernel_has_mapped_them() -> None:
    values = auxiliary()
    found = image.mapped(ProcessMemory(), values[AT_PHDR], values[AT_PHNUM])
    lines = [line.split() for line in Path("/proc/self/maps").read_text().splitlines()]
    program = os.path.realpath("/proc/self/exe")
    starts = {int(words[0].split("-")[0], 16) for words in lines if words[-1] == program}
    assert found and {start & -4096 for start, _ in found} <= starts
    assert any(start <= values[AT_ENTRY] < end for start, end in found)


class Without:
    """The memory of this process, but for some pages, as in a core file that has only parts of a library."""

    def __init__(self, missing: int) -> None:
        self.memory, self.missing = ProcessMemory(), missing

    def read(self, address: int, size: int) -> bytes:
        if address < self.missing + PAGE and self.missing < address + size:
            raise Unreadable(address, size)
        return self.memory.read(address, size)


@pytest.mark.parametrize("tag", [image.DT_GNU_HASH, image.DT_SYMTAB, image.DT_STRTAB])
def test_an_object_of_which_parts_cannot_be_read_is_known_for_it(tag: int) -> None:
    libc = next(one for one in own_objects().all if "libc.so" in one.image.name).image
    assert is_readable(libc)
    page = libc.address(tag) // PAGE * PAGE
    assert not is_readable(Image(Without(page), libc.name, libc.base, libc.dynamic))

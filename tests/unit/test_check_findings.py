"""Every check has a file in check_cases that it finds something in; the tests fail for a check without one."""

from __future__ import annotations

import platform
import re
from pathlib import Path

import pytest
from check_cases import CASES
from check_cases.building import ALLOC, FREE, library
from elf_build import compiled
from shim_support import has_real_driver

from gdbcuda.check.finding import Finding, Report
from gdbcuda.check.registry import load_checks

SAID = (Path(__file__).parent / "check_cases" / "said.txt").read_text().splitlines()
# What other compilers, C libraries and API tables number otherwise; a name's own digits stay.
NUMBER = re.compile(r"(?<![\w.-])(0x[\da-f]+|[\da-f]*\d[\d.]*)(?!\w)|(?<=GLIBC_)[\d.]+|(?<=\+)0x[\da-f]+|(?<=-O)\d")
PLACES = ((r"/\S*/libc\.so\.6", "LIBC"), (r"(substitute-path FOLDER) \S+", r"\1 HERE"),
          (platform.machine().replace("_", "-"), "HOST"))  # fmt: skip


def whole(finding: Finding, folder: Path) -> str:
    """All that is said of it, as the lines of said.txt have it."""
    seen = NUMBER.sub("N", finding.seen.replace(str(folder), "FOLDER"))
    rest = " | ".join(text for text in (finding.means, finding.do, finding.verdict) if text)
    said = f"{finding.severity} {finding.id}: {seen} | {rest}".replace("\n", " / ").replace(str(folder), "FOLDER")
    for pattern, name in PLACES:
        said = re.sub(pattern, name, said)
    return said


@pytest.mark.parametrize("id", sorted(load_checks()))
def test_finding(id: str, tmp_path: Path) -> None:
    assert id in CASES, f"the check {id} has no file here that it finds something in"
    if id == "library-not-found" and has_real_driver():
        pytest.skip("this machine has a real driver, which the check finds")
    found = [finding for finding in CASES[id](tmp_path).findings if finding.id == id]
    assert [whole(one, tmp_path) for one in found] == [line for line in SAID if line.split(":")[0].split()[1] == id]
    assert len(found) == 1
    assert found[0].seen and found[0].means
    assert found[0].do or found[0].severity == "note"
    assert not found[0].seen.startswith("0 ")


RESERVE = "int cuMemAddressReserve(void **p, unsigned long n) { *p = (void *)n; return 0; }\n"
REGISTER = "int cuMemHostRegister_v2(void *p, unsigned long n) { return p == (void *)n; }\n"
NODE = "int cuGraphAddMemAllocNode(void *n) { return n == 0; }\n"


def said(report: Report, id: str) -> str:
    return "".join(finding.seen for finding in report.findings if finding.id == id)


def test_who_hands_out_no_memory_misses_no_release(tmp_path: Path) -> None:
    assert not said(library(tmp_path, RESERVE + REGISTER), "free-missing")
    missing = said(library(tmp_path, RESERVE + ALLOC), "free-missing")
    assert "cuMemAlloc_v2 but not cuMemFree_v2" in missing and "Address" not in missing
    pitch = "int cuMemAllocPitch_v2(void *p, void *q, long w, long h, int e) { return 0; }\n"
    assert said(library(tmp_path, ALLOC + pitch), "free-missing") == (
        "hooks cuMemAlloc_v2 and cuMemAllocPitch_v2 but not cuMemFree_v2 or cuMemFreeAsync")  # fmt: skip


def test_every_way_past_a_quota_is_named_first(tmp_path: Path) -> None:
    ways, _, others = said(library(tmp_path, ALLOC + FREE), "not-hooked").partition("; alloc: ")
    for name in ("cuMemAllocAsync", "cuMemCreate", "cuMemAllocManaged", "cuGraphAddMemAllocNode", "cuArrayCreate_v2"):
        assert f" {name}," in f"{ways},"
    assert "more" not in ways and "cuMulticastCreate" not in ways and "Host" not in ways
    assert "cuMemHostAlloc" in others
    assert "cuGraphAddMemAllocNode" not in said(library(tmp_path, ALLOC + FREE + NODE), "not-hooked")


DLSYM = "void *dlsym(void *handle, const char *name) { return handle; }\n"


@pytest.mark.parametrize(("more", "is_sure"), [("", True), (DLSYM, False)], ids=["by name", "dlsym"])
def test_a_resolver_may_answer_under_other_names(tmp_path: Path, more: str, is_sure: bool) -> None:
    """What goes past is known by name alone where the library hands out functions itself."""
    found = [one for one in library(tmp_path, ALLOC + more).findings if one.id == "not-hooked"]
    assert ("unless the resolvers of this one answer" not in found[0].means) is is_sure


LOADERS = ("dlsym", "dlvsym", "dlopen", "dlmopen", "dlclose", "dladdr")


def test_what_a_hook_library_defines_on_purpose_collides_with_nothing(tmp_path: Path) -> None:
    functions = "".join(f"void *{name}(void *one) {{ return one; }}\n" for name in (*LOADERS, "usleep"))
    assert said(library(tmp_path, ALLOC + functions), "collides-with-libc") == "exports usleep"


@pytest.mark.parametrize(("count", "seen"), [(0, ""), (2, "2 functions in .init_array")])
def test_constructors_without_names_are_counted(tmp_path: Path, count: int, seen: str) -> None:
    functions = "".join(f"__attribute__((constructor)) static void wake{at}(void) {{ }}\n" for at in range(count))
    assert said(library(tmp_path, ALLOC + functions, "-s"), "constructors") == seen


def test_constructors_of_one_name_are_told_once_and_as_written(tmp_path: Path) -> None:
    """Static ones of several files are called the same; those of C++ are mangled."""
    wake = "__attribute__((constructor)) static void {}(void) {{ }}\n"
    (tmp_path / "other.c").write_text(wake.format("wake") + wake.format("_ZN2hk4initEv"))
    made = library(tmp_path, ALLOC + wake.format("wake"), str(tmp_path / "other.c"))
    assert said(made, "constructors") == "3: hk::init() and wake x 2"


def test_a_library_of_musls_is_not_told_to_install_libc(tmp_path: Path) -> None:
    (tmp_path / "musl").mkdir()
    compiled(tmp_path / "musl", FREE, "-Wl,-soname,libc.so", name="libmuslc.so", source_name="c.c")
    report = library(tmp_path, ALLOC, "-Wl,--no-as-needed", str(tmp_path / "musl" / "libmuslc.so"))
    found = next(one for one in report.findings if one.id == "library-not-found")
    assert found.seen == "needs libc.so: it is built for musl" and "install" not in found.do


@pytest.mark.parametrize(("source", "is_of_driver"), [
    ("int cuCtxCreate_v4(void **c, void *p, int f, int d) { *c = p; return f + d; }", True),
    ("int nvmlDeviceGetMemoryInfo(void *d, void *m) { return d == m; }", False),
])  # fmt: skip
def test_only_the_drivers_functions_are_handed_out_by_version(tmp_path: Path, source: str, is_of_driver: bool) -> None:
    found = next(one for one in library(tmp_path, source).findings if one.id == "other-versions-missing")
    assert ("cuGetProcAddress" in found.do) == is_of_driver and "where such programs matter" in found.do

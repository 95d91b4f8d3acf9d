"""Every check has a file in check_cases that it finds something in; the tests fail for a check without one."""

from __future__ import annotations

from pathlib import Path

import pytest
from check_cases import CASES
from check_cases.building import ALLOC, FREE, library

from gdbcuda.check.finding import Report
from gdbcuda.check.registry import load_checks


@pytest.mark.parametrize("id", sorted(load_checks()))
def test_finding(id: str, tmp_path: Path) -> None:
    assert id in CASES, f"the check {id} has no file here that it finds something in"
    found = [finding for finding in CASES[id](tmp_path).findings if finding.id == id]
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


def test_every_way_past_a_quota_is_named_first(tmp_path: Path) -> None:
    ways, _, others = said(library(tmp_path, ALLOC + FREE), "not-hooked").partition("; alloc: ")
    for name in ("cuMemAllocAsync", "cuMemCreate", "cuMemAllocManaged", "cuGraphAddMemAllocNode", "cuArrayCreate_v2"):
        assert f" {name}," in f"{ways},"
    assert "more" not in ways and "cuMulticastCreate" not in ways and "Host" not in ways
    assert "cuMemHostAlloc" in others
    assert "cuGraphAddMemAllocNode" not in said(library(tmp_path, ALLOC + FREE + NODE), "not-hooked")

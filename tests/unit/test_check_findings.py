"""Every check has a file in check_cases that it finds something in; the tests fail for a check without one."""

from __future__ import annotations

from pathlib import Path

import pytest
from check_cases import CASES

from gdbcuda.check.registry import load_checks


@pytest.mark.parametrize("id", sorted(load_checks()))
def test_finding(id: str, tmp_path: Path) -> None:
    assert id in CASES, f"the check {id} has no file here that it finds something in"
    found = [finding for finding in CASES[id](tmp_path).findings if finding.id == id]
    assert len(found) == 1
    assert found[0].seen and found[0].means
    assert found[0].do or found[0].severity == "note"
    assert not found[0].seen.startswith("0 ")

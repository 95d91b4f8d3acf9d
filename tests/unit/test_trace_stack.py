"""gdbcuda trace --stack: who called the caller, by frame pointers."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from shim_support import HOOK
from traced_programs import Trace, needs_recorder, trace

__all__ = ["trace"]  # the fixture
pytestmark = needs_recorder
PROGRAM = """
int cuInit(unsigned);
__attribute__((noinline)) int inner(void) { return cuInit(0) + 1; }
__attribute__((noinline)) int middle(int depth) { return depth ? middle(depth - 1) + 1 : inner() + 1; }
int main(void) { return middle(5) < 0; }
"""


def functions(call: dict[str, object]) -> list[str]:
    stack = call.get("stack", [])
    assert isinstance(stack, list)
    return [str(one.get("function")) for one in stack]


@pytest.fixture(scope="module")
def nested(shim: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("nested")
    (folder / "n.c").write_text(PROGRAM)
    line = ["gcc", "-g", "-O1", "-fno-omit-frame-pointer", "-fno-optimize-sibling-calls", "n.c", "-o", "nested"]
    subprocess.run([*line, f"-L{shim}/standin", "-lcuda"], cwd=folder, check=True)
    return folder / "nested"


@pytest.mark.parametrize("options", [(), ("--all",)])
def test_as_many_as_asked_for(trace: Trace, nested: Path, options: tuple[str, ...]) -> None:
    found = trace(nested, options=("--stack", "4", *options))
    assert (found.done.returncode, found.done.stderr) == (0, "")
    assert functions(found.calls()[0]) == ["inner", *["middle"] * 4]
    assert "inner at n.c:3" in found.log("show", "--stack").stdout


def test_up_to_main(trace: Trace, nested: Path) -> None:
    stack = functions(trace(nested, options=("--stack", "24")).calls()[0])
    assert stack[:8] == ["inner", *["middle"] * 6, "main"]


def test_through_a_hook_library_without_the_recorder(trace: Trace, nested: Path, shim: Path) -> None:
    calls = trace(nested, options=("--stack", "24", "--hook", str(shim / HOOK))).calls()
    assert [call["layer"] for call in calls][:2] == ["hook", "driver"]
    below = functions(calls[1])
    assert below[-8:-1] == ["inner", *["middle"] * 6] or "inner" in below
    assert "libgdbcuda-trace.so" not in str(calls[1]["stack"])


TAIL_CALLS = """
#define _GNU_SOURCE
#include <dlfcn.h>
int cuInit(unsigned flags) { return ((int (*)(unsigned))dlsym(RTLD_NEXT, "cuInit"))(flags); }
"""


def test_what_a_hook_library_jumps_to_is_called_by_its_caller(trace: Trace, nested: Path, tmp_path: Path) -> None:
    """And not by the recorder, to which it returns."""
    (tmp_path / "h.c").write_text(TAIL_CALLS)
    subprocess.run(["gcc", "-O2", "-fPIC", "-shared", "h.c", "-o", "h.so"], cwd=tmp_path, check=True)
    found = trace(nested, options=("--stack", "4", "--hook", str(tmp_path / "h.so")))
    calls = found.calls()
    assert [(call["layer"], functions(call)[0]) for call in calls] == [("hook", "inner"), ("driver", "inner")]
    assert "gdbcuda" not in str([call["stack"] for call in calls])
    assert len(re.findall("by inner at n.c:3", found.log("show").stdout)) == 2


def test_what_has_no_frame_pointers_makes_no_nonsense(trace: Trace, shim: Path, tmp_path: Path) -> None:
    (tmp_path / "n.c").write_text(PROGRAM)
    line = ["gcc", "-O2", "-fomit-frame-pointer", "-fno-optimize-sibling-calls", "n.c", "-o", "nested"]
    subprocess.run([*line, f"-L{shim}/standin", "-lcuda"], cwd=tmp_path, check=True)
    found = trace(tmp_path / "nested", options=("--stack", "24"))
    assert found.done.returncode == 0 and found.counts() == {"cuInit": 1}


def test_without_being_asked_for_there_is_none(trace: Trace, nested: Path) -> None:
    assert "stack" not in trace(nested).calls()[0]


def test_too_many(trace: Trace, nested: Path) -> None:
    done = trace(nested, options=("--stack", "25")).done
    assert (done.returncode, done.stderr) == (2, "gdbcuda: --stack is 24 at most, not 25\n")

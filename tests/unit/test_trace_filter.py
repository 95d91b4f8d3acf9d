"""gdbcuda trace --filter: calls that are not wanted leave no trace, and cost next to nothing."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from shim_support import HOOK, Run
from traced_programs import Trace, Traced, needs_recorder, trace

from gdbcuda import api
from gdbcuda.errors import UserError
from gdbcuda.rings.ring_layout import A_FILTER, RING_HEADER, WORD
from gdbcuda.rings.traced.ring_file import RingFile
from gdbcuda.shell.cli import main
from gdbcuda.shell.trace.filters import filters

__all__ = ["trace"]  # the fixture
REQUESTS = "cuMemAlloc 3020 0\ncuMemAlloc 2000 0\ncuNoSuch 13000 0\ncuMemcpyAsync 7000 2\ncuGetProcAddress 12000 0\n"
pytestmark = needs_recorder


def in_rings(found: Traced) -> int:
    """Calls that the process has recorded."""
    return sum(RingFile(path.read_bytes()).begun for path in found.folder.glob("*.ring"))


@pytest.mark.parametrize(
    "condition, sizes",
    [("bytesize > 1G", [(1 << 30) + 1, 3 << 30]), ("bytesize == 64M", [64 << 20]), ("bytesize < 0", []),
     ("bytesize * 2 > 5G || bytesize == 64M", [64 << 20, 3 << 30])],
)  # fmt: skip
def test_in_the_process(trace: Trace, condition: str, sizes: list[int]) -> None:
    found = trace("test_alloc", options=("--filter", condition))
    assert (found.done.returncode, found.done.stderr) == (0, "")
    assert [(call["name"], call["arguments"]["bytesize"]) for call in found.calls()] == [
        ("cuMemAlloc_v2", size) for size in sizes
    ]
    assert in_rings(found) == len(sizes)


def test_in_each_layer(trace: Trace, shim: Path) -> None:
    found = trace("test_alloc", options=("--hook", str(shim / HOOK), "--filter", "bytesize > 2G"))
    assert [(call["layer"], call["depth"]) for call in found.calls()] == [("hook", 0), ("driver", 1)]


def test_with_all_calls_that_are_kept(trace: Trace) -> None:
    found = trace("threads", "2", "500", options=("--filter", "N == 256", "--all"))
    assert set(found.counts()) == {"cuMemsetD8_v2"}


def test_what_is_behind_a_pointer_is_asked_when_it_is_read(trace: Trace) -> None:
    found = trace("proc_address", stdin=REQUESTS, options=("--filter", 'symbol == "cuMemAlloc"'))
    assert "--filter is asked when the log is read" in found.done.stderr
    assert "the condition reads through a pointer" in found.done.stderr
    calls = found.calls()
    assert {call["arguments"]["symbol"] for call in calls} == {"cuMemAlloc"} and len(calls) < in_rings(found)


def test_what_hands_out_functions_is_followed_and_not_shown(trace: Trace) -> None:
    found = trace("runtime_alloc", options=("--filter", "bytesize > 0"))
    assert set(found.counts()) == {"cuMemAlloc_v2"}


def test_what_is_not_freed_is_not_known_where_calls_are_left_out(
    trace: Trace, capsys: pytest.CaptureFixture[str]
) -> None:
    """cuMemFree has no size: none of its calls is recorded."""
    found = trace("runtime_alloc", options=("--filter", "bytesize > 0"))
    assert main(["log", "memory", str(found.folder)]) == 0
    shown = capsys.readouterr().out
    assert "Unknown whether freed: " in shown and "not every call of cuMemFree " in shown
    assert "(gdbcuda trace without --filter records them)" in shown
    assert "Not freed" not in shown and "not freed" not in shown


@pytest.mark.parametrize("hook", [HOOK, "sample/minimal_hook.so"])
@pytest.mark.parametrize("program", ["proc_address", "dlsym_alloc", "nvml_dlopen", "next_order"])
def test_who_asks_by_name_is_answered_as_without_us(
    trace: Trace, run: Run, shim: Path, program: str, hook: str
) -> None:
    alone = run(program, preload=[hook], stdin=REQUESTS)
    options = ("--hook", str(shim / hook), "--filter", "bytesize > 1M || 1 == 1")
    found = trace(program, stdin=REQUESTS, options=options).done
    assert (found.returncode, found.stdout) == (alone.returncode, alone.stdout)


def test_a_system_without_pages_to_execute(trace: Trace, tmp_path: Path) -> None:
    """The process records all, and the reader asks: what the filters' file has is no code here."""
    found = trace("test_alloc", options=("--filter", "bytesize > 1G"))
    for path in found.folder.glob("*.process"):
        raw, at = path.read_bytes(), RING_HEADER * WORD
        path.write_bytes(raw[:at] + raw[at:].replace(A_FILTER.to_bytes(WORD, "little"), bytes(WORD)))
    (found.folder / "condition").write_text("bytesize > 2G")
    assert [call["arguments"]["bytesize"] for call in found.calls()] == [3 << 30]


@pytest.mark.parametrize(
    "condition, said",
    [("bytesiz > 1", 'column 1: no function has a parameter "bytesiz"; did you mean bytesize?'),
     ("bytesize >", "column 11"), ("bytesize > 1 && nth == 3", "--filter is on arguments alone"),
     ("bytesize > 1 && caller in app", "--filter is on arguments alone")],
)  # fmt: skip
def test_mistakes_are_one_line(trace: Trace, condition: str, said: str) -> None:
    done = trace("test_alloc", options=("--filter", condition)).done
    assert done.returncode == 2 and done.stderr.startswith(f"gdbcuda: {said}") and done.stderr.count("\n") == 1
    assert done.stdout == ""


def test_every_function_that_a_condition_fits_has_code() -> None:
    table = api.load()
    found = filters("1 == 1", table)
    assert len(found.codes) == len(table.functions) and not found.left_to_reader
    with pytest.raises(UserError):
        filters("nonsense_of_nobody == 1", table)


CALLS = """
#include <stdio.h>
typedef unsigned u;
int cuLaunchKernel(void *function, u x, u y, u z, u a, u b, u c, u shared, void *stream, void **in, void **extra);
int main(void)
{
    for (unsigned i = 0; i < 8; i++)
        cuLaunchKernel(0, 1, 1, 1, 1, 1, 1, 1000 * i, 0, 0, 0);
    return 0;
}
"""


def test_arguments_on_the_stack(trace: Trace, shim: Path, tmp_path: Path) -> None:
    (tmp_path / "p.c").write_text(CALLS)
    line = ["gcc", "-o", str(tmp_path / "p"), str(tmp_path / "p.c"), f"-L{shim}/standin", "-lcuda"]
    subprocess.run(line, check=True)
    found = trace(tmp_path / "p", options=("--filter", "sharedMemBytes > 5000 && gridDimX == 1"))
    assert [call["arguments"]["sharedMemBytes"] for call in found.calls()] == [6000, 7000]

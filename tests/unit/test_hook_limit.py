"""The memory limit of the hook library: enforced, reported, given back."""

from __future__ import annotations

import re

import pytest
from shim_support import HOOK, Run

FAMILIES = 9


def limited(run: Run, program: str, *arguments: str, limit: str = "4g", **environment: str) -> list[str]:
    done = run(program, *arguments, preload=[HOOK], GDBCUDA_MEMORY_LIMIT=limit, **environment)
    assert done.returncode in (0, 1), done.stdout + done.stderr
    return done.stdout.splitlines()


@pytest.mark.parametrize(
    ("program", "error"), [("test_alloc", "CUDA_ERROR_OUT_OF_MEMORY"), ("runtime_alloc", "cudaErrorMemoryAllocation")]
)
def test_enforced_and_reported(run: Run, program: str, error: str) -> None:
    assert [re.sub(r" \(\d\)$", "", line) for line in limited(run, program)] == [
        "start      4096 MiB free of 4096 MiB",
        "64 MiB     allocated",
        "1 GiB + 1  allocated",
        f"3 GiB      {error}",
        "allocated  3007 MiB free of 4096 MiB",
        "copied     the same came back",
        "freed      4096 MiB free of 4096 MiB",
    ]


def supported(lines: list[str]) -> list[str]:
    return [line for line in lines if "NOT_SUPPORTED" not in line]


def test_every_family_is_counted_and_given_back(run: Run) -> None:
    lines = supported(limited(run, "families", limit="300m"))
    assert len(lines) >= FAMILIES - 1
    assert all(line.endswith("256 MiB in use, then 0 MiB") for line in lines)


def test_every_family_is_refused(run: Run) -> None:
    lines = limited(run, "families", limit="128m")
    assert len(lines) == FAMILIES
    assert all(line.endswith("CUDA_ERROR_OUT_OF_MEMORY (2)") for line in lines)


def test_both_kinds_of_default_stream(run: Run) -> None:
    assert [line.split()[1] for line in limited(run, "stream_alloc", limit="1g")] == ["CUDA_ERROR_OUT_OF_MEMORY"] * 2


def test_dlsym_reaches_it(run: Run) -> None:
    lines = limited(run, "dlsym_alloc", limit="1g")
    assert [line[-1] for line in lines if "CUresult" in line] == ["2", "2", "2"]


def test_what_it_cannot_reach(run: Run) -> None:
    plain, deep = limited(run, "deepbind", limit="1g")
    assert "OUT_OF_MEMORY" in plain
    assert "allocated" in deep


@pytest.mark.parametrize("program", ["nvml_info", "nvml_dlopen"])
def test_nvml_reports_it(run: Run, program: str) -> None:
    assert limited(run, program)[0].endswith("0 MiB used of 4096 MiB")


def test_children_inherit_it_unless_they_lose_the_preload(run: Run) -> None:
    parent, child, bare = (int(line.split()[-2]) for line in limited(run, "fork_exec"))
    assert (parent, child) == (4096, 4096)
    assert bare > 4096


def test_threads_together_stay_under_it(run: Run) -> None:
    """The sample's blocks need at most 8 * 8 * 64 KiB."""
    arguments = ("8", "500")
    assert limited(run, "threads", *arguments, limit="5m") == run("threads", *arguments).stdout.splitlines()
    refused = run("threads", *arguments, preload=[HOOK], GDBCUDA_MEMORY_LIMIT="1m")
    assert "CUDA_ERROR_OUT_OF_MEMORY" in refused.stdout


@pytest.mark.parametrize(("text", "mib"), [("2g", 2048), ("512M", 512), ("1048576k", 1024), ("2147483648", 2048)])
def test_sizes(run: Run, text: str, mib: int) -> None:
    assert limited(run, "nvml_info", limit=text)[0].endswith(f"of {mib} MiB")


@pytest.mark.parametrize("text", ["4x", "g", "-1", "1gg", "99999999999999999999g"])
def test_what_is_no_size_is_said_once(run: Run, text: str) -> None:
    done = run("test_alloc", preload=[HOOK], GDBCUDA_MEMORY_LIMIT=text)
    assert done.returncode == 0
    assert done.stderr == f"gdbcuda-hook: GDBCUDA_MEMORY_LIMIT={text} is no size (write 4g, 512m, or bytes): no limit\n"


def test_a_refusal_is_logged(run: Run) -> None:
    done = run("test_alloc", preload=[HOOK], GDBCUDA_MEMORY_LIMIT="4g", GDBCUDA_HOOK_LOG="1", GDBCUDA_HOOK_WATCH_MS="0")
    refusal = "gdbcuda-hook: refused 3221225472 bytes on device 0: 1140850689 of 4294967296 are used"
    assert refusal in done.stderr.splitlines()


def test_the_watcher_looks_at_the_devices_and_ends_quietly(run: Run) -> None:
    plain = run("threads", "4", "100").stdout
    for _ in range(10):
        done = run("threads", "4", "100", preload=[HOOK],
                   GDBCUDA_MEMORY_LIMIT="1g", GDBCUDA_HOOK_LOG="1", GDBCUDA_HOOK_WATCH_MS="1")  # fmt: skip
        assert (done.stdout, done.returncode) == (plain, 0)
        assert re.search(r"watcher: device 0 uses \d+ of 1073741824 bytes", done.stderr)


@pytest.mark.parametrize("environment", [{}, {"GDBCUDA_MEMORY_LIMIT": "1g", "GDBCUDA_HOOK_WATCH_MS": "0"}])
def test_no_watcher_without_a_limit_or_a_period(run: Run, environment: dict[str, str]) -> None:
    done = run("threads", "2", "50", preload=[HOOK], GDBCUDA_HOOK_LOG="1", **environment)
    assert "watcher" not in done.stderr


def test_the_watcher_survives_fork(run: Run) -> None:
    for _ in range(5):
        assert len(limited(run, "fork_exec", GDBCUDA_HOOK_WATCH_MS="1")) == 3

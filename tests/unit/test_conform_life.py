"""gdbcuda conform, the group "life": libraries of shim/sample/wrong/life, each with one mistake, and what is said."""

from __future__ import annotations

from pathlib import Path

import pytest
from conform_hooks import ConformFiles
from shim_support import HOOK

WRONG = {
    "before_init": ("before-init", "a program that makes calls before cuInit ends with SIGSEGV"),
    "constructor": ("constructor", "a program whose library makes calls in a constructor ends with SIGSEGV"),
    "destructor": ("destructor", "a program whose library makes calls in a destructor ends with SIGSEGV"),
    "signal_lock": ("signal", "a program whose signal handler asks how much memory is free does not end"),
    "fork_lock": ("fork", "a program whose child makes calls after fork does not end"),
    "exec_waits": ("fork-exec", "a program whose child makes calls after fork and exec does not end"),
    "cancelled": ("thread-ends", "a program whose threads end or are cancelled in calls does not end"),
    "large_frame": ("small-stack", "a program whose thread has a small stack ends with SIGSEGV"),
    "thread_stays": ("closed", "a program that calls the driver after dlclose of it ends with SIGSEGV"),
    "needs_preload": ("linked", "a program that is linked against it ends with SIGSEGV"),
    "deepbind": ("dlopen-deepbind", "a program that opens it with dlopen (deepbind) ends with SIGSEGV"),
    "never_ends": ("preload", "a program that it is preloaded into does not end"),
}
TWICE = ("a program that it is preloaded into twice, from two files ends with SIGABRT",
         "a program that opens it with dlopen, closes it and opens it again ends with SIGABRT")  # fmt: skip


@pytest.fixture(scope="module")
def files(shim: Path, tmp_path_factory: pytest.TempPathFactory) -> ConformFiles:
    return ConformFiles(tmp_path_factory.mktemp("conform"), shim)


@pytest.mark.parametrize("name", WRONG)
def test_each_mistake_is_found(files: ConformFiles, name: str) -> None:
    case, expected = WRONG[name]
    found = files.broken(files.shim / f"sample/wrong/life/{name}.so", "--only", f"life/{case}")
    assert found == [f"life/{case}: {expected}"]


def test_a_library_that_is_loaded_again(files: ConformFiles) -> None:
    cases = ("loaded-twice", "opened-again")
    found = files.broken(files.shim / "sample/wrong/life/only_once.so", *(f"--only=life/{case}" for case in cases))
    assert found == [f"life/{case}: {text}" for case, text in zip(cases, TWICE)]


def test_a_lock_that_a_killed_process_keeps(files: ConformFiles, tmp_path: Path) -> None:
    hook = files.shim / "sample/wrong/books/lock_left_held.so"
    found = files.broken(hook, "--only", "life/killed", "--env", f"QUOTA_REGION={tmp_path / 'region'}")
    assert found == ["life/killed: after kill -9 of a process the next one does not end"]


@pytest.mark.parametrize(("hook", "setting"), [(HOOK, "GDBCUDA_MEMORY_LIMIT=256m"), ("sample/quota_hook.so", "")])
def test_libraries_that_bear_all_of_it(files: ConformFiles, tmp_path: Path, hook: str, setting: str) -> None:
    """The second one shares a region with other processes."""
    report = files.data(files.shim / hook, "--only", "life", "--env", setting or f"QUOTA_REGION={tmp_path / 'region'}")
    assert report["broken"] == [] and len(report["cases"]) == 20


def test_a_result_that_is_another_one(files: ConformFiles) -> None:
    hook = files.hook("busy", "CUresult cuMemGetInfo_v2(size_t *f, size_t *t) { return CUDA_ERROR_UNKNOWN; }")
    found = files.broken(hook, "--only", "life/preload")
    assert found == ["life/preload: a program that it is preloaded into gets another result from cuMemGetInfo_v2"]


def test_a_library_that_is_reached_by_dlsym_alone(files: ConformFiles) -> None:
    """Its functions are asked for by name."""
    hook = files.shim / "sample/wrong/only_dlsym.so"
    assert files.broken(hook, "--only", "life/preload") == []
    report = files.data(hook, "--only", "books/cuMemAlloc_v2", "--limit", "1536m")
    assert "cuMemAlloc_v2 grants more than the limit" in [one["broken"] for one in report["broken"]]

"""gdbcuda trace --with uprobe: what the kernel tells of real programs, while nothing of ours is in them."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Callable

import pytest
from forking_gdbcuda import run_gdbcuda
from shim_support import HOOK, OLDER_LIBC
from watched_programs import Watched, needs_bpftrace, variables
from watched_shim import shim as shim

HERE = Path(__file__).resolve().parent
pytestmark = needs_bpftrace
Watch = Callable[..., Watched]


@pytest.fixture
def watch(shim: Path, tmp_path: Path) -> Watch:
    def run(*words: str, options: tuple[str, ...] = (), preload: str = "") -> Watched:
        log = tmp_path / "calls.jsonl"
        line = ["trace", "--with", "uprobe", "-o", log, *options, *(["--", *words] if words else [])]
        environment = {**variables(shim), **({"LD_PRELOAD": preload} if preload else {})}
        return Watched(run_gdbcuda(*line, env=environment, timeout=200), log)

    return run


@pytest.fixture(scope="module")
def program(shim: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("watched")
    flags = ["gcc", "-g", "-O2", "-Wall", "-Wextra", "-Werror", "-D_GNU_SOURCE"]
    hook = [*flags, "-shared", "-fPIC", "-o", str(folder / "libtail.so"), str(HERE / "tail_hook.c"), *OLDER_LIBC]
    subprocess.run(hook, check=True)
    subprocess.run([*flags, "-o", str(folder / "watched"), str(HERE / "watched.c"), f"-L{shim}/standin", "-lcuda"],
                   check=True)  # fmt: skip
    return folder / "watched"


@pytest.fixture(scope="module")
def seen(shim: Path, program: Path, tmp_path_factory: pytest.TempPathFactory) -> Watched:
    """One run for the tests that only look."""
    log = tmp_path_factory.mktemp("seen") / "calls.jsonl"
    line = ["trace", "--with", "uprobe", "-o", log, "--hook", program.parent / "libtail.so", "--", program]
    return Watched(run_gdbcuda(*line, env=variables(shim), timeout=200), log)


def test_the_program_is_as_without_us(seen: Watched) -> None:
    assert (seen.done.returncode, seen.done.stdout) == (3, "gdbcuda stand-in GPU\n")
    assert "lost" not in seen.done.stderr


def test_signals_are_as_without_us(watch: Watch) -> None:
    line = ["grep", "SigIgn", "/proc/self/status"]
    found = watch(*line, options=("--function", "cuInit"))
    assert found.done.stdout == subprocess.run(line, capture_output=True, text=True).stdout


def test_values_of_every_kind(seen: Watched) -> None:
    (name,), (array,), (launch,) = map(seen.named, ("cuDeviceGetName", "cuArrayCreate_v2", "cuLaunchKernel"))
    assert name["out"]["name"]["value"] == "gdbcuda stand-in GPU"
    given = array["arguments"]["pAllocateArray"]["value"]
    assert (given["Width"], given["Height"], given["NumChannels"]) == (64, 32, 4)
    assert [launch["arguments"][one] for one in ("gridDimX", "blockDimZ", "sharedMemBytes")] == [1, 6, 7]
    (asked,) = seen.named("cuModuleGetFunction")
    assert asked["arguments"]["name"] == 'a "name" | with \\ and \\xff\n'


def test_results_and_what_failed(seen: Watched) -> None:
    first, too_large, nowhere, *_ = [call for call in seen.named("cuMemAlloc_v2") if call["layer"] == "driver"]
    assert (first["result"], too_large["result"]) == ("CUDA_SUCCESS", "CUDA_ERROR_OUT_OF_MEMORY")
    assert int(first["out"]["dptr"]["value"], 16) and not too_large["out"]
    assert (nowhere["result"], nowhere["arguments"]["dptr"]) == ("CUDA_ERROR_INVALID_VALUE", None)


def test_a_hook_library_that_jumps_on(seen: Watched) -> None:
    outer = [call for call in seen.named("cuMemAlloc_v2") if call["layer"] == "hook"]
    inner = [call for call in seen.named("cuMemAlloc_v2") if call["layer"] == "driver"]
    assert [call["parent"] for call in inner] == [call["number"] for call in outer]
    assert {call["depth"] for call in inner} == {1}
    assert all(one["caller"]["function"] == "main" for one in outer)


def test_a_call_in_itself(seen: Watched) -> None:
    calls = seen.named("cuMemFree_v2")
    assert [(call["layer"], call["depth"]) for call in calls] == [("hook", 0), ("hook", 1), ("hook", 2), ("driver", 3)]
    assert all(call["seconds"] for call in calls)


def test_a_call_that_longjmp_leaves(seen: Watched) -> None:
    for call in seen.named("cuCtxSynchronize"):
        assert call["ended"] in ("unwound", "not over")


def test_children_are_watched_too(seen: Watched) -> None:
    *_, last = seen.named("cuMemAlloc_v2")
    assert last["arguments"]["bytesize"] == 8192
    assert len({call["pid"] for call in seen.calls()}) == 2


def test_every_view_reads_the_log(seen: Watched) -> None:
    for view in ("tree", "summary", "timeline", "memory", "export"):
        done = run_gdbcuda("log", view, seen.log)
        assert (done.returncode, done.stderr) == (0, ""), view


def test_a_runtime_and_what_it_becomes(watch: Watch, shim: Path) -> None:
    wanted = ("--function", "cudaMalloc", "--function", "cuMemAlloc")
    found = watch(str(shim / "sample" / "runtime_alloc"), options=wanted)
    calls = found.calls()
    assert [(call["name"], call["layer"]) for call in calls[:2]] == [
        ("cudaMalloc", "runtime"), ("cuMemAlloc_v2", "driver")
    ]  # fmt: skip
    assert calls[1]["parent"] == calls[0]["number"]
    assert calls[0]["caller"]["source"].startswith("runtime_alloc.c:")
    told = run_gdbcuda("log", "memory", found.log).stdout
    assert "Unknown whether freed: " in told and "not every call of cudaFree" in told  # of which none was watched
    assert "(gdbcuda trace --with uprobe without --function records them)" in told


@pytest.mark.parametrize(
    "condition, sizes",
    [("bytesize > 1G", [(1 << 30) + 1, 3 << 30]), ("bytesize > 1G && caller in app", [(1 << 30) + 1, 3 << 30]),
     ("nth == 2", [(1 << 30) + 1]), ("bytesize >> 30 == 3", [3 << 30])],
)  # fmt: skip
def test_conditions(watch: Watch, shim: Path, condition: str, sizes: list[int]) -> None:
    found = watch(str(shim / "sample" / "test_alloc"), options=("--function", "cuMemAlloc_v2", "--filter", condition))
    assert [call["arguments"]["bytesize"] for call in found.calls()] == sizes
    assert ("afterwards" in found.done.stderr) == ("caller" in condition or "nth" in condition)


def test_a_runtime_inside_a_program_without_a_name_for_others(shim: Path, tmp_path: Path, watch: Watch) -> None:
    source = """
        typedef unsigned long size_t; int cuMemAlloc_v2(unsigned long long *, size_t); int cuInit(unsigned);
        __attribute__((visibility("hidden"), noinline)) int cudaMalloc(void **p, size_t size)
            { return cuMemAlloc_v2((unsigned long long *)p, size) != 0 ? 2 : 0; }
        int main(void) { void *p; cuInit(0); return cudaMalloc(&p, 4242) == 2 ? 0 : 0; }"""
    program = str(tmp_path / "static_runtime")
    line = ["gcc", "-x", "c", "-", "-o", program, f"-L{shim}/standin", "-lcuda"]
    subprocess.run(line, input=source, text=True, check=True)
    found = watch(program, options=("--function", "cudaMalloc"))
    assert [(call["layer"], call["arguments"]["size"]) for call in found.calls()] == [("runtime", 4242)]


def test_a_struct_of_twenty_words(shim: Path, tmp_path: Path, watch: Watch) -> None:
    """The kernel refused the whole program for one function like that."""
    source = """
        int cudaGraphMemcpyNodeGetParams(void *, void *);
        int main(void) { long params[20] = {0}; cudaGraphMemcpyNodeGetParams(0, params); return 0; }"""
    program = str(tmp_path / "graphs")
    line = ["gcc", "-x", "c", "-", "-o", program, f"-L{shim}/standin", "-l:libcudart.so.13"]
    subprocess.run(line, input=source, text=True, check=True)
    found = watch(program, options=("--function", "cudaGraphMemcpyNodeGetParams"))
    assert [call["name"] for call in found.calls()] == ["cudaGraphMemcpyNodeGetParams"], found.done


def mistakes() -> Iterator[tuple[tuple[str, ...], str]]:
    yield (), "uprobes watch one of"
    yield ("--function", "cuMemAloc", "--", "true"), "did you mean cuMemAlloc?"
    yield ("-p", "4194303"), "no process 4194303"
    yield ("--all-of", "/etc/passwd"), "/etc/passwd"
    yield ("--", "no-such-program"), "there is no such command in PATH"
    yield ("--cgroup", "/no/such", "--", "true"), "/no/such"


@pytest.mark.parametrize("words, told", [*mistakes()])
def test_mistakes_are_a_line(words: tuple[str, ...], told: str) -> None:
    done = run_gdbcuda("trace", "--with", "uprobe", *words)
    assert done.returncode == 2 and told in done.stderr and done.stderr.count("\n") == 1, done.stderr


def test_a_library_beside_a_hook(shim: Path, watch: Watch) -> None:
    found = watch(str(shim / "sample" / "test_alloc"), options=("--hook", str(shim / HOOK), "--function", "cuMemAlloc"))
    assert [call["layer"] for call in found.calls()] == ["hook", "driver"] * 3
    assert os.path.basename(found.calls()[0]["object"]) == HOOK

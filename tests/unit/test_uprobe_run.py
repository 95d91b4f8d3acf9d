"""gdbcuda trace --with uprobe: what the kernel tells of real programs, while nothing of ours is in them."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Callable

import pytest
from shim_support import HOOK, OLDER_LIBC, ROOT, clean_environment
from watched_shim import shim as shim

from gdbcuda.observe import needs

HERE = Path(__file__).resolve().parent
GDBCUDA = (sys.executable, "-m", "gdbcuda")
Done = subprocess.CompletedProcess[str]
Calls = list[dict[str, Any]]
pytestmark = [pytest.mark.skipif(bool([*needs.missing()]), reason="; ".join(needs.missing())),
              pytest.mark.skipif(not needs.has_bpftrace(), reason="no bpftrace")]  # fmt: skip


class Watched:
    """What came of a run: the program's end and output, and the log."""

    def __init__(self, done: Done, log: Path) -> None:
        self.done, self.log = done, log

    def calls(self, *options: str) -> Calls:
        line = [*GDBCUDA, "log", "show", "--json", *options, str(self.log)]
        done = subprocess.run(line, capture_output=True, text=True, cwd=ROOT, check=True)
        return [json.loads(line) for line in done.stdout.splitlines()]

    def named(self, name: str) -> Calls:
        return [call for call in self.calls() if call["name"] == name]


Watch = Callable[..., Watched]


def variables(shim: Path, *folders: Path) -> dict[str, str]:
    libraries = ":".join(map(str, [*folders, shim / "standin", shim / "sample"]))
    return {**clean_environment(), "LD_LIBRARY_PATH": libraries, "PYTHONPATH": str(ROOT)}


@pytest.fixture
def watch(shim: Path, tmp_path: Path) -> Watch:
    def run(*words: str, options: tuple[str, ...] = (), preload: str = "") -> Watched:
        log = tmp_path / "calls.jsonl"
        line = [*GDBCUDA, "trace", "--with", "uprobe", "-o", str(log), *options, *(["--", *words] if words else [])]
        environment = {**variables(shim), **({"LD_PRELOAD": preload} if preload else {})}
        return Watched(subprocess.run(line, env=environment, capture_output=True, text=True, timeout=200), log)

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
    line = [*GDBCUDA, "trace", "--with", "uprobe", "-o", str(log), "--hook", str(program.parent / "libtail.so"), "--",
            str(program)]  # fmt: skip
    return Watched(subprocess.run(line, env=variables(shim), capture_output=True, text=True, timeout=200), log)


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
        done = subprocess.run([*GDBCUDA, "log", view, str(seen.log)], cwd=ROOT, capture_output=True, text=True)
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
    line = [*GDBCUDA, "log", "memory", str(found.log)]
    told = subprocess.run(line, cwd=ROOT, capture_output=True, text=True).stdout
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


def started(line: list[str], shim: Path) -> subprocess.Popen[str]:
    """It hears Ctrl-C, also where the tests run in the background of a script, which ignores it."""

    def hear() -> None:
        signal.signal(signal.SIGINT, signal.SIG_DFL)

    return subprocess.Popen(line, env=variables(shim), stderr=subprocess.PIPE, text=True, preexec_fn=hear)


# Each of its threads calls 200 times a second: it leaves the machine to those who watch it.
CALLING = """
#include <pthread.h>
#include <unistd.h>
int cuInit(unsigned), cuDevicePrimaryCtxRetain(void **, int), cuCtxSetCurrent(void *), cuMemAlloc_v2(void **, size_t);
int cuMemFree_v2(void *);
static void *context;
static void *allocate(void *unused) {
    void *block;
    for (cuCtxSetCurrent(context); !cuMemAlloc_v2(&block, 4096) && !cuMemFree_v2(block); usleep(5000)) ;
    return unused;
}
int main(void) {
    pthread_t thread;
    cuInit(0);
    cuDevicePrimaryCtxRetain(&context, 0);
    pthread_create(&thread, NULL, allocate, NULL);
    allocate(NULL);
    return 1;
}
"""


@pytest.fixture(scope="module")
def calling(shim: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    program = str(tmp_path_factory.mktemp("calling") / "calling")
    line = ["gcc", "-g", "-O1", "-x", "c", "-", "-o", program, f"-L{shim}/standin", "-lcuda", "-lpthread"]
    subprocess.run(line, input=CALLING, text=True, check=True)
    return program


def test_a_process_that_runs(shim: Path, tmp_path: Path, calling: str) -> None:
    target = subprocess.Popen([calling], env=variables(shim), stdout=subprocess.DEVNULL)
    log = tmp_path / "calls.jsonl"
    try:
        line = [*GDBCUDA, "trace", "--with", "uprobe", "-p", str(target.pid), "--function", "cuMemAlloc",
                "--filter", "bytesize > 1", "-o", str(log)]  # fmt: skip
        watching = started(line, shim)
        until(lambda: log.exists() and log.read_text().count("\n") > 20)
        watching.send_signal(signal.SIGINT)
        _, told = watching.communicate(timeout=100)
        assert watching.returncode == 0 and target.poll() is None, told
    finally:
        target.kill()
        target.wait()
    calls = Watched(subprocess.CompletedProcess([], 0), log).calls("--last", "50")
    assert {(call["name"], call["pid"]) for call in calls} == {("cuMemAlloc_v2", target.pid)}
    assert {call["caller"]["function"] for call in calls} == {"allocate"}


def test_a_process_that_runs_is_watched_for_a_time(shim: Path, tmp_path: Path, calling: str) -> None:
    log = tmp_path / "calls.jsonl"
    with subprocess.Popen([calling], env=variables(shim), stdout=subprocess.DEVNULL) as target:
        try:
            line = [*GDBCUDA, "trace", "--with", "uprobe", "-p", str(target.pid), "--function", "cuMemAlloc",
                    "--for", "1s", "-o", str(log)]  # fmt: skip
            told = started(line, shim).communicate(timeout=100)[1]
            assert "watching for 1 s" in told and target.poll() is None, told
        finally:
            target.kill()
    assert Watched(subprocess.CompletedProcess([], 0), log).calls("--last", "50")


JUMPING = """
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
static int never(void *block) { return 0; }
__attribute__((constructor)) static void jump(void) {
    extern int cuMemFree_v2(void *);
    unsigned char *entry = dlsym(RTLD_DEFAULT, "cuMemFree_v2"), code[12] = {0x48, 0xb8, [10] = 0xff, 0xe0};
    void *to = (void *)never, *page = (void *)((uintptr_t)entry & -4096);
    memcpy(code + 2, &to, 8);
    mprotect(page, 8192, PROT_READ | PROT_WRITE | PROT_EXEC);
    memcpy(entry, code, sizeof code);
    mprotect(page, 8192, PROT_READ | PROT_EXEC); /* where a program may write there are no uprobes */
}
"""


@pytest.mark.parametrize("way", ["-p", "--all-of"])
def test_a_function_that_begins_with_a_jump_is_left_out(shim: Path, tmp_path: Path, way: str) -> None:
    """A recorder's, or a guard's: behind the uprobe the process would go on in the middle of it."""
    source, library = "#include <dlfcn.h>\n#include <stddef.h>\n" + JUMPING + CALLING, tmp_path / "libcuda.so.1"
    shutil.copy(shim / "standin" / "libcuda.so.1", library)
    program, log = str(tmp_path / "jumping"), tmp_path / "calls.jsonl"
    line = ["gcc", "-g", "-O1", "-D_GNU_SOURCE", "-x", "c", "-", "-o", program, f"-L{shim}/standin", "-lcuda"]
    subprocess.run([*line, "-lpthread", "-ldl"], input=source, text=True, check=True)
    with subprocess.Popen([program], env=variables(shim, tmp_path), stdout=subprocess.DEVNULL) as target:
        try:
            time.sleep(1)
            line = [*GDBCUDA, "trace", "--with", "uprobe", way, str(target.pid) if way == "-p" else str(library)]
            line += ["--function", "cuMemAlloc", "--function", "cuMemFree", "--for", "1s", "-o", str(log)]
            told = started(line, shim).communicate(timeout=100)[1]
            assert target.poll() is None, told
        finally:
            target.kill()
    assert f"left out: cuMemFree_v2 of process {target.pid} begins with a jump of somebody's" in told, told
    calls = Watched(subprocess.CompletedProcess([], 0), log).calls("--last", "50")
    assert {call["name"] for call in calls} == {"cuMemAlloc_v2"}


def test_every_process_that_uses_a_library(shim: Path, tmp_path: Path) -> None:
    log = tmp_path / "calls.jsonl"
    library = Path(shutil.copy(shim / "standin" / "libcuda.so.1", tmp_path))  # the other one has other tests' calls
    line = [*GDBCUDA, "trace", "--with", "uprobe", "--all-of", str(library), "--function", "cuInit", "-o", str(log)]
    watching = started(line, shim)
    until(log.exists)
    for _ in range(2):  # they start later
        environment = variables(shim, tmp_path)
        subprocess.run([str(shim / "sample" / "test_alloc")], env=environment, check=True, capture_output=True)
    time.sleep(2)  # what is in the buffers of the kernel is told a while later
    watching.send_signal(signal.SIGINT)
    _, told = watching.communicate(timeout=100)
    assert "2 calls" in told
    assert len({call["pid"] for call in Watched(subprocess.CompletedProcess([], 0), log).calls()}) == 2


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


def test_another_mount_namespace(shim: Path, tmp_path: Path, calling: str) -> None:
    """A process that has its library where we have nothing: it is found through /proc/PID/root."""
    there, log = tmp_path / "there", tmp_path / "calls.jsonl"
    there.mkdir()
    script = f"mount --bind {shim}/standin {there} && exec {calling}"
    environment = {**clean_environment(), "LD_LIBRARY_PATH": str(there)}
    target = subprocess.Popen(["unshare", "-m", "sh", "-c", script], env=environment, stdout=subprocess.DEVNULL)
    try:
        until(lambda: "libcuda" in Path(f"/proc/{target.pid}/maps").read_text())
        assert not [*there.iterdir()]
        line = [*GDBCUDA, "trace", "--with", "uprobe", "-p", str(target.pid), "-o", str(log),
                "--function", "cuMemAlloc"]  # fmt: skip
        watching = started(line, shim)
        until(lambda: log.exists() and log.read_text().count("\n") > 20)
        watching.send_signal(signal.SIGINT)
        assert watching.wait(100) == 0
    finally:
        target.kill()
        target.wait()
    calls = Watched(subprocess.CompletedProcess([], 0), log).calls("--last", "20")
    assert {(call["object"], call["caller"]["function"]) for call in calls} == {("libcuda.so.1", "allocate")}


def until(happened: Callable[[], bool], longest: float = 60.0) -> None:
    latest = time.monotonic() + longest
    while not happened():
        assert time.monotonic() < latest, "it did not happen"
        time.sleep(0.05)


def mistakes() -> Iterator[tuple[tuple[str, ...], str]]:
    yield (), "uprobes watch one of"
    yield ("--function", "cuMemAloc", "--", "true"), "did you mean cuMemAlloc?"
    yield ("-p", "4194303"), "no process 4194303"
    yield ("--all-of", "/etc/passwd"), "/etc/passwd"
    yield ("--", "no-such-program"), "there is no such command in PATH"
    yield ("--cgroup", "/no/such", "--", "true"), "/no/such"


@pytest.mark.parametrize("words, told", [*mistakes()])
def test_mistakes_are_a_line(words: tuple[str, ...], told: str) -> None:
    done = subprocess.run([*GDBCUDA, "trace", "--with", "uprobe", *words], capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 2 and told in done.stderr and done.stderr.count("\n") == 1, done.stderr


def test_a_library_beside_a_hook(shim: Path, watch: Watch) -> None:
    found = watch(str(shim / "sample" / "test_alloc"), options=("--hook", str(shim / HOOK), "--function", "cuMemAlloc"))
    assert [call["layer"] for call in found.calls()] == ["hook", "driver"] * 3
    assert os.path.basename(found.calls()[0]["object"]) == HOOK

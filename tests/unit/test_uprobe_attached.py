"""gdbcuda trace --with uprobe of processes that run already."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest
from shim_support import ROOT, clean_environment
from watched_programs import GDBCUDA, Watched, needs_bpftrace, started, until, variables
from watched_shim import shim as shim

from gdbcuda.observe.process_code import is_mapped, mappings

pytestmark = needs_bpftrace

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
    target = subprocess.Popen([calling], env={**variables(shim), "RANK": "3"}, stdout=subprocess.DEVNULL)
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
    assert '"rank":"rank 3"' in log.read_text()


def watched_for_a_second(pid: int, log: Path, shim: Path) -> str:
    """What gdbcuda says."""
    line = [*GDBCUDA, "trace", "--with", "uprobe", "-p", str(pid), "--function", "cuMemAlloc", "--for", "1s", "-o",
            str(log)]  # fmt: skip
    return str(started(line, shim).communicate(timeout=100)[1])


def test_a_process_that_runs_is_watched_for_a_time(shim: Path, tmp_path: Path, calling: str) -> None:
    log = tmp_path / "calls.jsonl"
    with subprocess.Popen([calling], env=variables(shim), stdout=subprocess.DEVNULL) as target:
        try:
            told = watched_for_a_second(target.pid, log, shim)
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


@pytest.mark.parametrize("is_replaced", [True, False])
def test_a_library_that_is_no_more_where_it_was(shim: Path, tmp_path: Path, calling: str, is_replaced: bool) -> None:
    """An upgrade of the driver has put another one there, or none."""
    library, log = tmp_path / "libcuda.so.1", tmp_path / "calls.jsonl"
    shutil.copy(shim / "standin" / "libcuda.so.1", library)
    with subprocess.Popen([calling], env=variables(shim, tmp_path), stdout=subprocess.DEVNULL) as target:
        try:
            until(lambda: str(library) in Path(f"/proc/{target.pid}/maps").read_text())
            library.unlink()
            if is_replaced:
                shutil.copy(shim / "standin" / "libcuda.so.1", library)
            told = watched_for_a_second(target.pid, log, shim)
            assert "cuMemAlloc of libcuda.so.1 (driver)" in told and target.poll() is None, told
        finally:
            target.kill()
    calls = Watched(subprocess.CompletedProcess([], 0), log).calls("--last", "5")
    assert {(call["name"], call["layer"]) for call in calls} == {("cuMemAlloc_v2", "driver")}


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


def printed(library: str) -> subprocess.CompletedProcess[str]:
    line = [*GDBCUDA, "trace", "--with", "uprobe", "--print", "--function", "cuMemAlloc", "--all-of", library]
    return subprocess.run(line, env={**clean_environment(), "PYTHONPATH": str(ROOT)}, capture_output=True, text=True)


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
        by_path = f"/proc/{target.pid}/root{there}/libcuda.so.1"
        assert printed(f"{there}/libcuda.so.1").stderr.endswith(f"where process {target.pid} is: name {by_path}\n")
        assert f'uprobe:"{by_path}":cuMemAlloc_v2\n' in printed(by_path).stdout
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


def test_an_inode_of_another_device(tmp_path: Path) -> None:
    """The map says the same number of another file, and is not believed."""
    mapped = next(one for one in mappings(os.getpid()) if one.is_code and os.path.exists(one.file))
    other = tmp_path / "other"
    other.write_text("")
    assert is_mapped(mapped.file, os.getpid(), mapped)
    assert not is_mapped(str(other), os.getpid(), mapped._replace(inode=other.stat().st_ino))

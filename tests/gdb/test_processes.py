"""Other lives of a process: forked, attached to, started by gdbserver itself, with a static runtime, unloaded."""

from __future__ import annotations

import re
import shutil
import socket
import subprocess
import time
from pathlib import Path

import pytest
from running_program import until_threads_run
from scenario import GDBSERVER, ROOT, Scenario
from shim_support import build_shim


def test_follow_fork_child(local: Scenario) -> None:
    text = local.run(
        "fork_exec", "set follow-fork-mode child", "cuda-break cuMemGetInfo", "run", "continue", "info breakpoints"
    )
    assert text.count("Breakpoint 1  hook libgdbcuda-hook.so  cuMemGetInfo_v2(") == 2
    assert text.count("is loaded, first in the search order") == 2
    assert "was never loaded" not in text


def test_attach_to_a_program_that_preloads_it_already(local: Scenario) -> None:
    environment = {
        "LD_PRELOAD": str(local.hook),
        "LD_LIBRARY_PATH": str(local.shim / "standin"),
    }
    program = subprocess.Popen(
        [str(local.sample("threads")), "2", "100000000"], env=environment, stdout=subprocess.DEVNULL
    )
    try:
        until_threads_run(program.pid)
        text = local.run(
            None, f"attach {program.pid}", "cuda-load", "cuda-break cuMemAlloc", "continue", "detach", hook=None
        )
    finally:
        program.kill()
        program.wait()
    assert "No hook library named; in the process: libgdbcuda-hook.so" in text
    assert re.search(r"Breakpoint 1  hook libgdbcuda-hook\.so  cuMemAlloc_v2\(.*\n +called by app allocate\(\)", text)


@pytest.fixture
def multi_server():
    """A gdbserver that starts programs when told: (address to connect to)."""
    if not shutil.which("gdbserver"):
        pytest.skip("gdbserver is not installed (apt-get install gdbserver)")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    server = subprocess.Popen(
        [GDBSERVER, "--multi", f"127.0.0.1:{port}"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    time.sleep(0.5)
    yield f"127.0.0.1:{port}"
    server.kill()
    server.wait()


def test_extended_remote(local: Scenario, multi_server: str) -> None:
    program = local.sample("test_alloc")
    text = local.run(
        "test_alloc",
        f"target extended-remote {multi_server}",
        f"set remote exec-file {program}",
        f"set environment LD_LIBRARY_PATH={local.shim}/standin",
        "set startup-with-shell off",
        f"cuda-load {local.hook}",
        "cuda-break cuMemAlloc",
        "run",
        "kill",
        hook=None,
    )
    assert "is loaded, first in the search order" in text
    assert "Breakpoint 1  hook libgdbcuda-hook.so  cuMemAlloc_v2(" in text


def test_extended_remote_after_cuda_load(local: Scenario, multi_server: str) -> None:
    """In a script too, where there is no prompt between the two; and cuda-load is for a start here again behind it."""
    text = local.run(
        "test_alloc",
        f"target extended-remote {multi_server}",
        f"set remote exec-file {local.sample('test_alloc')}",
        f"set environment LD_LIBRARY_PATH={local.shim}/standin",
        "break main", "run", "kill", "disconnect", "run",
    )  # fmt: skip
    assert text.count("cuda-load: hook libgdbcuda-hook.so is loaded, first in the search order") == 2
    assert "is NOT in this process" not in text


@pytest.fixture(scope="module")
def static_cudart(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if not shutil.which("nvcc"):
        pytest.skip("nvcc is not installed: no program with a static cudart")
    out = tmp_path_factory.mktemp("nvcc") / "vector_add_static"
    source = ROOT / "shim" / "sample" / "vector_add.cu"
    subprocess.run(["nvcc", "-g", "-cudart", "static", "-o", str(out), str(source)], check=True, timeout=300)
    return out


def test_a_static_runtime_is_the_runtime_layer(scenario: Scenario, static_cudart: Path) -> None:
    """NVIDIA's own runtime, inside the program; over the stand-in its calls fail, which is enough here."""
    text = scenario.run(
        static_cudart, "cuda-break cudaMalloc", "RUN", "info breakpoints", hook=scenario.sample("minimal_hook.so")
    )
    assert "minimal_hook.so does not define it; this is the outermost that does" in text
    assert re.search(
        r"Breakpoint 1  runtime vector_add_static  cudaMalloc\(devPtr=0x\w+ -> \(not written yet\), size=4194304", text
    )


def test_a_c_plus_plus_overload_of_the_same_name_stays_off(local: Scenario, static_cudart: Path) -> None:
    program = local.shim / "sample" / "vector_add"
    build_shim("cuda")
    text = local.run(program, "cuda-break cudaMalloc", "run", "info breakpoints")
    assert "called by app to_device() at vector_add.cu:" in text  # which calls the overload of cuda_runtime.h
    places = text.rpartition("Num     Type")[2]
    assert len(re.findall(r"^1(\.\d)? .*\sy\s+0x", places, re.MULTILINE)) == 1


UNLOAD = """
#include <dlfcn.h>
#include <stdio.h>
int main(void) {
    for (int i = 0; i < 2; i++) {
        void *driver = dlopen("libcuda.so.1", RTLD_NOW);
        int (*init)(unsigned) = dlsym(driver, "cuInit");
        init(i + 40);
        dlclose(driver);
    }
    return 0;
}
"""


def test_survives_dlclose(scenario: Scenario, compile_c) -> None:
    text = scenario.run(compile_c("unload", UNLOAD), "cuda-break cuInit", "RUN", "continue", "continue", hook=None)
    assert "driver libcuda.so.1  cuInit(Flags=40)" in text
    assert "driver libcuda.so.1  cuInit(Flags=41)" in text
    assert "exited normally" in text


@pytest.mark.smoke("local")
def test_threads_are_told_apart(scenario: Scenario) -> None:
    text = scenario.run("threads", "cuda-break cuMemAlloc", "RUN", *["continue"] * 8, arguments=("4", "20"))
    numbers = set(re.findall(r"called by app allocate\(\) at threads\.c:\d+, thread (\d+)", text))
    assert len(numbers) > 1


def test_return_breakpoints_keep_threads_apart(scenario: Scenario) -> None:
    """Four threads in the same function at once: each return shows the size that this very thread asked for."""
    look = ["print bytes", "continue"] * 12
    text = scenario.run("threads", "cuda-break cuMemAlloc --on return", "RUN", *look, arguments=("4", "20"))
    decoded = re.findall(r"cuMemAlloc_v2\(dptr=0x\w+ -> 0x\w+, bytesize=(\d+) .*\) = CUDA_SUCCESS$", text, re.MULTILINE)
    own = re.findall(r"^\$\d+ = (\d+)$", text, re.MULTILINE)
    assert len(own) == 12
    assert decoded[:12] == own


LEADER_FIRST = """
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>
static void *work(void *none) { usleep(200000); exit(3); return none; }
int main(void) { pthread_t thread; pthread_create(&thread, 0, work, 0); pthread_exit(0); }
"""


def test_a_leader_that_ends_first_is_no_new_process(scenario: Scenario, compile_c) -> None:
    """gdb adds it again as a thread when the process is over; what was said of the hook holds all the same."""
    program = compile_c("leader_first", LEADER_FIRST, "-pthread")
    text = scenario.run(program, "break main", "RUN", "continue")
    assert "is loaded, first in the search order" in text
    assert "exited with code 03" in text
    assert "never loaded" not in text


def test_a_gdb_that_watches_one_process_says_so(local: Scenario, keeps_processes_apart: bool) -> None:
    both = ("set detach-on-fork off", "set schedule-multiple on")
    text = local.run("fork_exec", *both, "cuda-break cuMemGetInfo", "run", "continue")
    assert "[New inferior 2 " in text and "internal-error" not in text
    assert ("gdbcuda: this gdb watches one process at a time" in text) != keeps_processes_apart


EXECUTES = """
#include <unistd.h>
int main(int count, char **words)
{
    return count == 1 ? execl("/proc/self/exe", words[0], "again", (char *)NULL) : 0;
}
"""


def test_what_nobody_has_taken_back_goes_in_an_exec(scenario: Scenario, compile_c) -> None:
    """As what looks on in our library's way into the process, where a signal has stopped it there."""
    look_on = "Watch(int(gdb.parse_and_eval('(long)&getpid')), print)"
    look_on = f"python from gdbcuda.live.guard.watch import Watch; {look_on}"
    text = scenario.run(compile_c("executes", EXECUTES), "tbreak main", "RUN", look_on, "continue", hook=None)
    assert "is executing new program" in text and "exited normally" in text, text

"""Children: fork, vfork and exec, with one of the two followed and with both; the hook lost on the way."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
from scenario import Scenario

pytestmark = pytest.mark.usefixtures("several_processes")
BOTH = ("set detach-on-fork off", "set schedule-multiple on")
CHILD = "set follow-fork-mode child"


def test_both_after_a_fork(local: Scenario) -> None:
    """The same function in two program spaces: each has its own hook location, the driver's are off in both."""
    text = local.run(
        "fork_exec", *BOTH, "cuda-break cuMemGetInfo", "run", "continue", "cuda-call", "info breakpoints", "cuda-check"
    )
    assert "called by app show_memory() at fork_exec.c:13, thread 1\n" in text
    assert text.count("called by app show_memory() at fork_exec.c:13, thread 2.1\n") == 2
    places = [line for line in text.splitlines() if line.startswith("1.")]
    assert [line.split()[-2:] for line in places if line.split()[1] == "y"] == [["inf", "1"], ["inf", "2"]]
    assert all("memory_info.c" in line for line in places if line.split()[1] == "y")
    assert "is mapped at 0x" in text and "fork_exec: the hook is in place" in text


def test_returns_are_kept_apart_by_process(local: Scenario) -> None:
    """Parent and child have the same addresses and stack pointers: a return in one is none in the other."""
    text = local.run(
        "fork_exec", *BOTH, "cuda-break cuMemGetInfo --on return", "run", "continue", "info inferiors", "cuda-call"
    )
    assert text.count("cuMemGetInfo_v2(free=0x") == 2
    assert text.count("= CUDA_SUCCESS\n") >= 3
    assert "returned to app show_memory() at fork_exec.c:13, thread 2.1" in text


def test_requests_are_kept_apart_by_process(local: Scenario) -> None:
    """The first process's own requests are there again when it is selected; the second's carry its number."""
    text = local.run(
        "fork_exec", *BOTH, "cuda-dlsym log on", "cuda-break cuMemGetInfo", "run", "continue",
        "python print('second', gdb.execute('cuda-dlsym log --self --json', to_string=True).count('\"inferior\": 2'))",
        "inferior 1",
        "python print('first', gdb.execute('cuda-dlsym log --self --json', to_string=True).count('\"inferior\": 1'))",
    )  # fmt: skip
    counts = {
        line.split()[0]: int(line.split()[1]) for line in text.splitlines() if line.startswith(("first ", "second "))
    }
    assert counts["first"] > 3 and counts["second"] > 3


WORKS_ON = """
#include <unistd.h>
#include <sys/wait.h>
int cuInit(unsigned); int cuDeviceGet(int *, int); int cuDevicePrimaryCtxRetain(void **, int);
int cuCtxSetCurrent(void *); int cuMemAlloc_v2(unsigned long *, unsigned long);
static int work(unsigned long bytes) {
    int device; void *context; unsigned long block;
    cuInit(0); cuDeviceGet(&device, 0); cuDevicePrimaryCtxRetain(&context, device); cuCtxSetCurrent(context);
    return cuMemAlloc_v2(&block, bytes);
}
int main(void) {
    work(1000);
    if (fork() == 0) return work(3000);
    wait(0);
    return work(2000);
}
"""


@pytest.mark.parametrize("follow", [(CHILD,), BOTH], ids=["child", "both"])
def test_a_child_that_goes_on_without_exec(local: Scenario, compile_c, follow: tuple[str, ...]) -> None:
    """gdb knows no file of such a child's; the guard that its memory was copied with does no harm."""
    program = compile_c("works_on", WORKS_ON, f"-L{local.shim}/standin", "-l:libcuda.so.1")
    text = local.run(
        program, *follow, "set cuda-guard auto", "cuda-log start cuMemAlloc --in hook",
        "cuda-break cuMemAlloc if bytesize == 3000", "run", "cuda-call", "finish", "continue",
        "inferior 1", "continue", "cuda-log summary",
    )  # fmt: skip
    assert "called by app work() at works_on.c:9, thread 2.1\n" in text
    assert "returned to app work() at works_on.c:9, thread 2.1\n" in text
    assert "exited normally" in text
    assert re.search(rf"^cuMemAlloc_v2 +hook +{2 if follow == (CHILD,) else 3} ", text, re.MULTILINE)


SCRIPT = {
    "fork": "#!/bin/sh\n{program}\necho the end\n",
    "exec": "#!/bin/sh\nexec {program}\n",
    "cleaned": "#!/bin/sh\nenv -u LD_PRELOAD {program}\necho the end\n",
}


def in_script(kind: str, program: Path, directory: Path) -> Path:
    script = directory / f"{kind}.sh"
    script.write_text(SCRIPT[kind].format(program=program))
    return script


@pytest.mark.parametrize("kind", ["fork", "exec"])
def test_a_shell_script_starts_the_program(local: Scenario, tmp_path: Path, kind: str) -> None:
    script = in_script(kind, local.sample("test_alloc"), tmp_path)
    text = local.run(
        Path("/bin/sh"), CHILD, "cuda-break cuMemAlloc if bytesize > 1<<30", "run", "cuda-env SOME=thing", "continue",
        arguments=(str(script),),
    )  # fmt: skip
    assert text.count("Breakpoint 1  hook libgdbcuda-hook.so  cuMemAlloc_v2(") == 2
    assert "SOME=thing in the running process" in text
    assert "is NOT in" not in text


def test_a_hook_that_the_child_has_lost_is_said_at_once(local: Scenario, tmp_path: Path) -> None:
    script = in_script("cleaned", local.sample("test_alloc"), tmp_path)
    text = local.run(Path("/bin/sh"), CHILD, "cuda-break cuMemAlloc", "run", arguments=(str(script),))
    said = [line for line in text.splitlines() if line.startswith("cuda-load: hook")]
    assert len(said) == 1 and "is NOT in process" in said[0]
    assert "(inferior 2): the environment that it was started with has no LD_PRELOAD" in said[0]
    assert text.index(said[0]) < text.index("exited normally")


def test_a_static_child_is_said_too(local: Scenario, tmp_path: Path) -> None:
    script = in_script("exec", local.sample("static_program"), tmp_path)
    text = local.run(Path("/bin/sh"), CHILD, "run", arguments=(str(script),))
    assert "is NOT in this process: the program is static, without ld.so there is no LD_PRELOAD" in text


LAUNCHES = """
#include <stdio.h>
#include <unistd.h>
#include <sys/wait.h>
int cuInit(unsigned); int cuMemAlloc_v2(unsigned long *, unsigned long);
static int at_syscall(void) { return *(volatile unsigned char *)(void *)syscall; }
int main(void) {
    unsigned long block;
    cuInit(0); cuMemAlloc_v2(&block, 3000);
    for (int ends = 0; ends < 2; ends++) {
        usleep(ends * 300000);
        volatile int before = at_syscall(), within = 0;
        if (vfork() == 0) {
            within = at_syscall();
            if (ends) _exit(0);
            execl("/bin/true", "true", (char *)0);
        }
        wait(0);
        printf("%s: %02x %02x %02x\\n", ends ? "ends" : "executes", before, within, at_syscall());
    }
    return 0;
}
"""


def test_a_launched_child_meets_no_lookout_of_ours(local: Scenario, compile_c) -> None:
    """What it would wait for there is gdb, and its parent waits for it: gdb could not stop the parent. (Nor can it
    where the first child's end is told meanwhile, gdb alone 1 of 12 times: the program waits a moment for that.)"""
    program = compile_c("launches", LAUNCHES, f"-L{local.shim}/standin", "-l:libcuda.so.1")
    text = local.run(
        program, *BOTH, "cuda-break cuMemAlloc if bytesize == 3000", "run", "p/x *(unsigned char *)&syscall",
        *["inferior 1", "continue"] * 3,
    )  # fmt: skip
    own = re.search(r"^\$\d+ = 0x(\w+)$", text, re.MULTILINE)
    assert own and f"executes: cc {own[1]} cc\n" in text and f"ends: cc {own[1]} cc\n" in text, text
    assert "never loaded" not in text  # into the one that ends without a program


@pytest.mark.smoke
def test_what_an_ended_child_leaves_ends_no_gdb(local: Scenario, compile_c) -> None:
    """No prompt comes in between: gdb has removed the child's inferior, and goes over breakpoints at the next one."""
    program = compile_c("launches", LAUNCHES, f"-L{local.shim}/standin", "-l:libcuda.so.1")
    words = ("cuda-break cuMemAlloc if bytesize == 3000", "run", *["inferior 1", "continue"] * 3)
    text = local.run(program, *BOTH, *words)
    assert "internal-error" not in text and text.count("\nends: ") == 1, text


WORKERS = """
import ctypes, multiprocessing, sys
def work(number):
    cuda = ctypes.CDLL("libcuda.so.1")
    device, context, block = ctypes.c_int(), ctypes.c_void_p(), ctypes.c_uint64()
    cuda.cuInit(0), cuda.cuDeviceGet(ctypes.byref(device), 0)
    cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), device), cuda.cuCtxSetCurrent(context)
    print("worker", cuda.cuMemAlloc_v2(ctypes.byref(block), ctypes.c_size_t(1000 * number)), flush=True)
if __name__ == "__main__":
    multiprocessing.set_start_method(sys.argv[1])
    workers = [multiprocessing.Process(target=work, args=(number,)) for number in (1, 2)]
    for worker in workers: worker.start()
    for worker in workers: worker.join()
"""


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_multiprocessing(local: Scenario, tmp_path: Path, method: str) -> None:
    """Every worker stops where it allocates, whichever is first; the others go on when it has ended."""
    script = tmp_path / "workers.py"
    script.write_text(WORKERS)
    go_on = "python [one.threads()[-1].switch() for one in gdb.inferiors() if one.pid]"
    text = local.run(
        Path(sys.executable).resolve(), *BOTH, "cuda-break cuMemAlloc", "run", *["continue", go_on] * 3,
        arguments=(str(script), method),
    )  # fmt: skip
    assert "cuMemAlloc_v2(dptr=0x" in text and "bytesize=1000)" in text and "bytesize=2000 " in text
    assert len({line.split()[-1] for line in text.splitlines() if " through app " in line}) == 2
    assert "is NOT in" not in text

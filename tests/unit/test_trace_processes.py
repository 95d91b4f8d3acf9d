"""gdbcuda trace: children, what they are called, and what they execute."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

from shim_support import OLDER_LIBC, Run
from traced_programs import Trace, needs_recorder, trace, traced

__all__ = ["trace", "traced"]  # the fixtures
pytestmark = needs_recorder


def test_children_have_files_of_their_own(trace: Trace, traced: Path) -> None:
    found = trace(traced, "fork", "5")
    assert Counter(call["pid"] for call in found.calls() if call["name"] == "cuDeviceGet").most_common(1)[0][1] == 10
    assert sorted(Counter(call["pid"] for call in found.calls()).values()) == [5, 6, 7, 11]
    assert len(list(found.folder.glob("*.process"))) == 4


VFORKED = """
#include <sys/wait.h>
#include <unistd.h>
int cuInit(unsigned), cuDriverGetVersion(int *);
int main(void)
{
    int version;
    cuInit(0);
    pid_t child = vfork();
    if (!child) {
        cuDriverGetVersion(&version);
        _exit(0);
    }
    waitpid(child, NULL, 0);
    return cuDriverGetVersion(&version);
}
"""


def test_a_child_of_vfork_has_its_parents_file(trace: Trace, shim: Path, tmp_path: Path) -> None:
    """It has the parent's memory, and what is bound there is the parent's: so is what tells its name."""
    program = tmp_path / "vforked"
    line = ["gcc", "-x", "c", "-", "-o", str(program), "-Wl,-z,lazy", f"-L{shim}/standin", "-lcuda", *OLDER_LIBC]
    subprocess.run(line, input=VFORKED, text=True, check=True)
    found = trace(program)
    assert found.done.returncode == 0 and found.counts() == {"cuInit": 1, "cuDriverGetVersion": 2}
    assert len(list(found.folder.glob("*.process"))) == 1


def test_processes_are_named_by_their_rank(trace: Trace, traced: Path) -> None:
    """As torchrun and mpirun tell it."""
    found = trace("/bin/sh", "-c", f"RANK=1 LOCAL_RANK=0 {traced} exit 3; OMPI_COMM_WORLD_LOCAL_RANK=3 {traced} exit 3")
    heads = re.findall(r"^-- process \d+ (.*)", found.log("memory").stdout, re.MULTILINE)
    assert heads == [f"{traced.name}, rank 1", f"{traced.name}, local rank 3"]
    events = json.loads(found.log("export").stdout)["traceEvents"]
    names = [one["args"]["name"] for one in events if one["name"] == "process_name"]
    assert sorted(names) == [f"{traced.name}, local rank 3", f"{traced.name}, rank 1"]


WORKERS = """
import ctypes, os, sys
driver = ctypes.CDLL("libcuda.so.1")
driver.cuInit(0)
for rank in range(2):
    if not os.fork():
        os.environ["LOCAL_RANK"] = os.environ["RANK"] = str(rank)
        driver.cuInit(0)
        os._exit(0)
for rank in range(2):
    os.wait()
"""


def test_a_rank_that_the_worker_sets_itself(trace: Trace) -> None:
    """As what torch.multiprocessing.spawn starts does, and vLLM; its parent is none."""
    found = trace(sys.executable, "-c", WORKERS)
    name = os.path.basename(os.path.realpath(sys.executable))
    heads = re.findall(r"^-- process \d+ (.*)", found.log("memory").stdout, re.MULTILINE)
    assert sorted(heads) == [name, f"{name}, rank 0", f"{name}, rank 1"]


def test_a_program_that_runs_another_is_followed(trace: Trace, run: Run) -> None:
    found = trace("fork_exec")
    assert found.done.stdout == run("fork_exec").stdout
    assert len({call["pid"] for call in found.calls()}) > 1

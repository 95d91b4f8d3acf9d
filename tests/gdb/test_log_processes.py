"""cuda-log over several processes: what each has called, by whom, and whose memory it is."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from scenario import Scenario

from gdbcuda.shell import cli

# The same code at the same addresses, under other names and with other sizes.
PROGRAM = """
#define GDBCUDA_API_SOURCE_NAMES
#include "gdbcuda_api.h"
static CUdeviceptr block;
void WHO(void) { cuMemAlloc(&block, SIZE); }
int main(void)
{
    CUcontext context;
    cuInit(0);
    cuDevicePrimaryCtxRetain(&context, 0);
    cuCtxSetCurrent(context);
    WHO();
    return 0;
}
"""


def compiled(shim: Path, compile_c, name: str, size: int) -> Path:
    flags = (f"-I{shim}", f"-L{shim}/standin", "-lcuda")
    return compile_c(f"program_{name}", PROGRAM.replace("WHO", name).replace("SIZE", str(size)), *flags)


@pytest.mark.usefixtures("several_processes")
def test_two_programs_do_not_mix(local: Scenario, shim: Path, compile_c, tmp_path: Path, capsys) -> None:
    first, second = compiled(shim, compile_c, "first", 1000), compiled(shim, compile_c, "secnd", 2000)
    log = tmp_path / "log"
    text = local.run(
        first, f"cuda-log start --memory --in hook --to {log}", "set breakpoint pending on", "break _exit", "run",
        f"add-inferior -exec {second}", "inferior 2", "run", "cuda-memory live", "inferior 1", "cuda-memory live",
        "kill", "inferior 2", "cuda-memory leaks", "delete", "continue", "cuda-log show cuMemAlloc",
    )  # fmt: skip
    live = re.findall(r"^0x\w+ +(\d+) .* cuMemAlloc_v2 .* (\w+) at", text, re.MULTILINE)
    assert live == [("2000", "secnd"), ("1000", "first")]
    shown = re.findall(r"^#\d+ .*cuMemAlloc_v2\(.*bytesize=(\d+).*by (\w+) at", text, re.MULTILINE)
    assert shown == [("1000", "first"), ("2000", "secnd")]
    assert "not freed at exit of inferior 2: 1 block: device 2000 [1.95 KiB] in 1" in text
    begins = [json.loads(line) for line in log.read_text().splitlines() if '"phase":"B"' in line]
    processes = {(b["inferior"], b["pid"]): b["details"]["bytesize"] for b in begins if b["name"] == "cuMemAlloc_v2"}
    assert list(processes.values()) == [1000, 2000] and [number for number, _ in processes] == [1, 2]
    assert cli.main(["log", "memory", "--view", "leaks", str(log)]) == 0
    offline = capsys.readouterr().out
    assert re.findall(r"^-- process \d+ (\w+)$", offline, re.MULTILINE) == [first.name, second.name]
    assert re.findall(r"cuMemAlloc_v2 +(\w+) at", offline) == ["first", "secnd"]


@pytest.mark.usefixtures("several_processes")
def test_both_sides_of_a_fork_and_an_exec(local: Scenario, tmp_path: Path) -> None:
    """The child's program is another one: nothing of before its exec is left in its ledger."""
    log = tmp_path / "log"
    text = local.run(
        "fork_exec", "set detach-on-fork off", "set schedule-multiple on", f"cuda-log start --memory --to {log}", "run",
        "cuda-log",
    )  # fmt: skip
    events = [json.loads(line) for line in log.read_text().splitlines()]
    begins = [e for e in events if e["phase"] == "B"]
    ends = [e for e in events if e["phase"] == "E"]
    assert {b["op_id"] for b in begins} == {e["op_id"] for e in ends}, text
    assert len({(b["inferior"], b["pid"]) for b in begins}) == 2


EXEC_BESIDE = """
#define _GNU_SOURCE
#include <fcntl.h>
#include <unistd.h>
#include <sys/wait.h>
int cuMemFree_v2(unsigned long);
int main(int argc, char **argv)
{
    int gone[2];
    char byte;
    for (int i = 0; argc > 1 && i < 3; i++) cuMemFree_v2(100 + i);
    if (argc > 1) return 0;
    pipe2(gone, O_CLOEXEC);
    pid_t child = fork();
    if (!child) execl(argv[0], argv[0], "leaf", (char *)0);
    close(gone[1]);
    read(gone[0], &byte, 1);  /* the end: the child is another program now */
    for (int i = 0; i < 5; i++) cuMemFree_v2(200 + i);
    waitpid(child, 0, 0);
    return 0;
}
"""


@pytest.mark.usefixtures("several_processes")
def test_a_child_that_executes_takes_nothing_from_its_parent(local: Scenario, compile_c) -> None:
    """gdb keeps what is switched off by the function's name, and takes the parent's place for the child's."""
    program = compile_c("program", EXEC_BESIDE, f"-L{local.shim}/standin", "-l:libcuda.so.1")
    go_on = "python [one.threads()[-1].switch() for one in gdb.inferiors() if one.pid]"
    text = local.run(
        program, "set detach-on-fork off", "set schedule-multiple on", "cuda-log start cuMemFree --in driver", "run",
        *[go_on, "continue"] * 2, "cuda-log show", hook=None,
    )  # fmt: skip
    freed = re.findall(r"^#\d+ .* cuMemFree_v2\(dptr=0x(\w+)\)", text, re.MULTILINE)
    assert sorted(set(freed)) == [f"{number:x}" for number in (*range(100, 103), *range(200, 205))], text

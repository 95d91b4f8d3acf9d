"""Non-stop: one thread stands still and is looked at, the others run; here, and started by a gdbserver."""

from __future__ import annotations

import os
import re
import select
import shutil
import subprocess
import time
from collections.abc import Iterator

import pytest
from scenario import EXTENSION, GDB, NO_DEBUG_FILES, Scenario, is_cuda_gdb_11_8

SECONDS = 60


class Session:
    """A gdb at a pipe: commands are typed while the program runs, `until` waits for what appears."""

    def __init__(self, local: Scenario, *program: str) -> None:
        line = [GDB, "-nx", "-q", *NO_DEBUG_FILES, *EXTENSION, "--args", *program]
        self.gdb = subprocess.Popen(
            line, env=local.environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )
        self.text, self.seen = "", 0
        self.type("set pagination off", "set confirm off", "set non-stop on")

    def type(self, *commands: str) -> None:
        assert self.gdb.stdin is not None
        for command in commands:
            self.gdb.stdin.write(command.encode() + b"\n")
        self.gdb.stdin.flush()

    def until(self, pattern: str) -> re.Match[str]:
        """The first match behind what earlier calls have found."""
        assert self.gdb.stdout is not None
        end = time.monotonic() + SECONDS
        while True:
            found = re.compile(pattern).search(self.text, self.seen)
            if found:
                self.seen = found.end()
                return found
            ready, _, _ = select.select([self.gdb.stdout], [], [], max(end - time.monotonic(), 0))
            piece = os.read(self.gdb.stdout.fileno(), 65536) if ready else b""
            assert piece, f"{pattern!r} did not come:\n{self.text}"
            self.text += piece.decode(errors="replace")

    def ask(self, command: str) -> str:
        """What the command says."""
        self.type(command, "echo over\\n")
        start = self.seen
        self.until("over\n")
        return self.text[start : self.seen]


@pytest.fixture(params=["local", "extended-remote"])
def start(request: pytest.FixtureRequest, local: Scenario) -> Iterator:
    sessions: list[Session] = []
    is_remote = request.param == "extended-remote"
    if is_remote and not shutil.which("gdbserver"):
        pytest.skip("gdbserver is not installed (apt-get install gdbserver)")

    def begin(*arguments: str) -> Session:
        sessions.append(Session(local, str(local.sample("threads")), *arguments))
        if is_remote:
            sessions[-1].type("set sysroot /", "target extended-remote | gdbserver --multi -",
                              f"set remote exec-file {local.sample('threads')}",
                              f"set environment LD_LIBRARY_PATH {local.shim}/standin")  # fmt: skip
        sessions[-1].type(local.load(local.hook))
        return sessions[-1]

    yield begin
    for session in sessions:
        session.type("kill", *["monitor exit"] * is_remote, "quit")
        session.gdb.communicate(timeout=SECONDS)
        assert "Traceback" not in session.text and "Python Exception" not in session.text


def test_one_thread_is_looked_at_while_the_others_run(start) -> None:
    session = start("2", "100000000")
    session.type("cuda-break cuMemAlloc if thread == 2", "run &")
    session.until(r"Breakpoint 1  hook libgdbcuda-hook.so  cuMemAlloc_v2\(.*\n +called by app allocate\(\).*thread 2\n")
    assert "the program is running: pause it first (interrupt -a; or thread N, one that is stopped)" in session.ask("cuda-call")  # fmt: skip  # noqa: E501
    session.type("thread 2")
    shown = session.ask("cuda-call")
    assert "cuMemAlloc_v2 in hook libgdbcuda-hook.so, called by app allocate() at threads.c:30, thread 2" in shown
    session.type("finish &")
    session.until(r"Returned  hook libgdbcuda-hook.so  cuMemAlloc_v2\(.*\) = CUDA_SUCCESS\n +returned to app allocate")
    assert "= CUDA_SUCCESS" in session.ask("cuda-call")
    assert re.search(r"^  3 .*\(running\)$", session.ask("info threads"), re.MULTILINE)


def test_each_threads_return_is_its_own(start) -> None:
    """The first thread stays where its call has returned, while the second one's calls return there as well."""
    session = start("2", "100000000")
    session.type("cuda-break cuMemAlloc --on return", "run &")
    for _ in range(2):
        session.until(r"Breakpoint 1  hook libgdbcuda-hook.so  cuMemAlloc_v2\(.*\) = CUDA_SUCCESS\n")
    session.type("thread 2")
    first = session.ask("cuda-call")
    session.type("thread 3", "continue &")
    session.until(r"= CUDA_SUCCESS\n +returned to app allocate\(\) at threads.c:30, thread 3\n")
    session.type("thread 2")
    assert session.ask("cuda-call").rpartition("cuMemAlloc_v2 in")[2] == first.rpartition("cuMemAlloc_v2 in")[2]


def test_the_log_counts_what_the_program_counts(start) -> None:
    if is_cuda_gdb_11_8():
        pytest.skip("cuda-gdb 11.8 alone, with three false conditions, does not let such a program come to its end")
    session = start("4", "60")
    session.type("cuda-log start cuMemAlloc cuMemFree --in hook", "cuda-dlsym log on", "run &")
    session.until("exited normally")
    counts = re.findall(r"cuMemAlloc_v2 (\d+) cuMemFree_v2 (\d+)", session.text)
    assert len(counts) == 4
    summary = session.ask("cuda-log summary")
    for name, numbers in zip(("cuMemAlloc_v2", "cuMemFree_v2"), zip(*counts)):
        assert re.search(rf"^{name} +hook +{sum(map(int, numbers))} ", summary, re.MULTILINE)


def test_guards_wait_for_all_stop(start) -> None:
    session = start("2", "100000000")
    session.type("set cuda-guard auto", "cuda-break cuMemAlloc if bytesize == 1", "run &")
    session.until(r"\[New (Thread|LWP)")
    assert "non-stop" in session.ask("cuda-guards")

"""gdbcuda fail, delay and set: a run with a fault, whose streams and end are the program's own."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from scenario import Scenario

FAIL = ("fail", "cuMemAlloc", "with", "CUDA_ERROR_OUT_OF_MEMORY")
ENDS = """
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
int cuInit(unsigned);
int main(int count, char **words)
{
    char line[100] = "";
    int result = cuInit(0);
    printf("%d %s[%s]\\n", result, fgets(line, sizeof line, stdin) ? line : "", words[1]);
    fprintf(stderr, "%s %s\\n", getenv("COLUMNS") ? "columns" : "plain", getenv("SHELL") ? getenv("SHELL") : "none");
    fflush(stdout);
    if (!strcmp(words[1], "abort"))
        abort();
    if (!strcmp(words[1], "crash") && result)
        *(volatile int *)8 = 1;
    if (!strcmp(words[1], "wait"))
        pause();
    return count == 2 ? 42 : 43;
}
"""


@pytest.fixture
def ends(compile_c, shim: Path) -> Path:
    return compile_c("ends", ENDS, f"-L{shim}/standin", "-l:libcuda.so.1")


def gdbcuda(place: Scenario, *words: object, **more: str) -> subprocess.CompletedProcess[str]:
    line = [sys.executable, "-m", "gdbcuda", *map(str, words)]
    kept = {name: value for name, value in place.environment().items() if name not in ("COLUMNS", "SHELL")} | more
    kept["PYTHONPATH"] = str(Path(__file__).resolve().parents[2])
    return subprocess.run(line, capture_output=True, text=True, timeout=120, check=False, env=kept, input="typed\n")


@pytest.mark.smoke
def test_the_program_ends_as_it_would(local: Scenario, ends: Path) -> None:
    done = gdbcuda(local, "fail", "cuInit", "with", "999", "--", ends, "two words; $HOME 'x'")
    assert (done.returncode, done.stdout) == (42, "999 typed\n[two words; $HOME 'x']\n"), done
    assert done.stderr == "plain none\ngdbcuda: cuda-fail cuInit --from app with 999: injected 1 time\n", done


@pytest.mark.parametrize(("word", "number"), [("abort", signal.SIGABRT), ("crash", signal.SIGSEGV)])
def test_a_signal_that_ends_it(local: Scenario, ends: Path, word: str, number: int) -> None:
    done = gdbcuda(local, "fail", "cuInit", "with", "CUDA_ERROR_UNKNOWN", "--", ends, word, SHELL="/bin/other")
    assert done.returncode == -number and done.stdout == f"999 typed\n[{word}]\n", done
    assert done.stderr.startswith("plain /bin/other\n") and done.stderr.endswith(": injected 1 time\n"), done


def test_what_the_hook_library_makes_of_it(local: Scenario) -> None:
    words = ("fail", "--hook", local.hook, "cuMemAlloc", "--in", "driver", "if", "nth == 2", "with", "2", "--")
    done = gdbcuda(local, *words, local.sample("test_alloc"))
    assert "1 GiB + 1  CUDA_ERROR_OUT_OF_MEMORY (2)" in done.stdout and done.returncode == 1, done
    assert "freed      16384 MiB free of 16384 MiB" in done.stdout, done
    assert done.stderr.endswith("with 2 if nth == 2: injected 1 time\n"), done


def test_a_script_and_a_hook_library_behind_the_fault(local: Scenario, tmp_path: Path) -> None:
    script = tmp_path / "script"
    script.write_text("#!/bin/sh -e\necho \"$0 [$1]\"\n")
    script.chmod(0o755)
    done = gdbcuda(local, *FAIL, "--hook", local.hook, "--", script, "two words")
    assert (done.returncode, done.stdout) == (0, f"{script} [two words]\n"), done
    assert done.stderr.endswith("injected 0 times\n") and len(done.stderr.splitlines()) == 1, done


def test_set_and_delay(local: Scenario) -> None:
    test_alloc = local.sample("test_alloc")
    done = gdbcuda(local, "set", "cuMemGetInfo", "total", "=", "2G", "on", "return", "--", test_alloc)
    assert done.stdout.count(" MiB free of 2048 MiB\n") == 3 and done.returncode == 0, done
    assert done.stderr.endswith("total = 2G on return: injected 3 times\n"), done
    began = time.monotonic()
    done = gdbcuda(local, "delay", "cuMemAlloc", "700ms", "--", test_alloc)
    assert done.returncode == 0 and time.monotonic() - began > 2.1 and "injected 3 times" in done.stderr, done


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((*FAIL[:-1], "CUDA_ERROR_OUT_OF_MEMRY", "--", "true"), "did you mean CUDA_ERROR_OUT_OF_MEMORY?"),
        ((*FAIL, "--", "/no/such"), "cannot start /no/such: no such file"),
        ((*FAIL, "--", "/etc/passwd"), "cannot start /etc/passwd: it is not executable"),
        (FAIL, "name the fault, and the program behind --, for example: gdbcuda fail cuMemAlloc with"),
        (("set", "--", "true"), "for example: gdbcuda set cuMemGetInfo total = 2G on return -- ./train"),
        (("delay", "cuMemAlloc", "--", "true"), "cuda-delay: TIME is missing"),
        (("fail", "--hook", "/no/hook.so", *FAIL[1:], "--", "true"), "/no/hook.so"),
    ],
)
def test_mistakes(local: Scenario, words: tuple[str, ...], said: str) -> None:
    done = gdbcuda(local, *words)
    assert done.returncode == 2 and done.stdout == "" and said in done.stderr, done
    assert len(done.stderr.splitlines()) == 1, done.stderr


def test_an_interrupt_is_the_programs(local: Scenario, ends: Path) -> None:
    """Typed at a terminal."""
    pid, terminal = pty.fork()
    if not pid:
        os.environ.update(local.environment() | {"PYTHONPATH": str(Path(__file__).resolve().parents[2])})
        os.execv(sys.executable, [sys.executable, "-m", "gdbcuda", "fail", "cuInit", "with", "3", "--", ends, "wait"])
    os.write(terminal, b"typed\n")
    seen = b""
    while b"[wait]" not in seen:
        seen += os.read(terminal, 1000)
    time.sleep(1)
    os.write(terminal, b"\x03")
    while True:
        try:
            more = os.read(terminal, 1000)
        except OSError:
            break
        seen += more
        if not more:
            break
    _, status = os.waitpid(pid, 0)
    assert os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGINT, (status, seen)
    assert b"injected 1 time" in seen, seen

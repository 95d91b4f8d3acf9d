"""What is run by a fork of a Python that has imported gdbcuda is as `python -m gdbcuda` is."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from forking_gdbcuda import run_gdbcuda
from shim_support import ROOT


# Each command once, as far as it comes without a file: what a fork has imported would hide that a module of it is not.
@pytest.mark.parametrize("line", [
    "--version", "frobnicate", "log show none", "log summary none", "log gpu none", "log kernel none", "help none",
    "check none", "path", "demo /dev/null/x", "new-hook /dev/null/x", "run -- ./none", "trace -o /dev/null/x -- ./none",
    "ab -- ./none", "fail cuInit -- ./none", "delay cuInit -- ./none", "set cuInit -- ./none", "conform none",
    "wrap-flags cuInit", "ide none", "remote none", "completion",
])  # fmt: skip
def test_it_says_and_ends_the_same(line: str) -> None:
    words = line.split()
    alone = subprocess.run([sys.executable, "-m", "gdbcuda", *words], cwd=ROOT, capture_output=True, text=True)
    forked = run_gdbcuda(*words)
    assert (forked.returncode, forked.stdout, forked.stderr) == (alone.returncode, alone.stdout, alone.stderr)


def test_a_program_inherits_what_was_given_and_nothing_else(shim: Path, tmp_path: Path) -> None:
    script = ("read typed; ulimit -n; pwd; ls /proc/$$/fd >files; wc -l <files; env | grep -c '^_*PYTHON'; "
              "echo $typed $WORD >&2")
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "WORD": "here"}
    done = run_gdbcuda("trace", "-o", tmp_path / "log", "--", "sh", "-c", script, env=environment, cwd=tmp_path,
                       input="typed\n", limits={resource.RLIMIT_NOFILE: 99})  # fmt: skip
    alone = subprocess.run(["sh", "-c", f"ulimit -n 99; {script}"], env=environment, cwd=tmp_path, input="typed\n",
                           capture_output=True, text=True)  # fmt: skip
    assert done.stdout == alone.stdout and done.stderr.splitlines()[0] == "typed here"


def test_what_does_not_end_in_time_is_killed_and_others_follow() -> None:
    with pytest.raises(subprocess.TimeoutExpired):
        run_gdbcuda("help", "guards", timeout=0)
    assert run_gdbcuda("path").stdout == f"{ROOT}/gdbcuda.py\n"


def test_several_beside_each_other() -> None:
    with ThreadPoolExecutor() as beside:
        lines = [beside.submit(run_gdbcuda, "help", topic) for topic in ("guards", "trace", "log")]
    assert [one.result().returncode for one in lines] == [0, 0, 0]
    assert len({one.result().stdout for one in lines}) == 3

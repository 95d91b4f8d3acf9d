"""`gdbcuda run`: a program and all that it starts under one gdb, with nobody at the prompt or somebody."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import interpreters_here
import pytest
from run_command import RunTypist, run
from scenario import ROOT, Scenario, is_cuda_gdb

PYTHON = next(iter(interpreters_here.found().values()))
TORCHRUN = """#!{python}
import os, subprocess, sys
n = int(sys.argv[1])
environment = lambda i: {{**os.environ, "RANK": str(i), "LOCAL_RANK": str(i)}}
ranks = [subprocess.Popen([sys.executable, *sys.argv[2:]], env=environment(i)) for i in range(n)]
sys.exit(max(abs(one.wait()) for one in ranks))
"""
WORKERS = """
import ctypes, multiprocessing, os, sys, time

def step(rank):
    print("step of", rank, flush=True)
    time.sleep(1)  # who has ended cannot be asked for its rank
    if rank == 1:
        ctypes.string_at(1)

def work(rank):
    os.environ["RANK"] = str(rank)
    step(rank)

if __name__ == "__main__":
    if "RANK" in os.environ:
        step(int(os.environ["RANK"]))
        sys.exit(0)
    context = multiprocessing.get_context(sys.argv[1])
    all = [context.Process(target=work, args=(rank,)) for rank in range(2)]
    [one.start() for one in all]
    [one.join() for one in all]
    sys.exit(max(abs(one.exitcode) for one in all))
"""


@pytest.fixture(autouse=True)
def _keeps_children() -> None:
    if is_cuda_gdb():
        pytest.skip("cuda-gdb keeps no children: gdbcuda run says so")


@pytest.fixture
def workers(tmp_path: Path) -> Path:
    path = tmp_path / "workers.py"
    path.write_text(WORKERS)
    return path


@pytest.fixture
def torchrun(tmp_path: Path) -> Path:
    path = tmp_path / "torchrun"
    path.write_text(TORCHRUN.format(python=PYTHON))
    path.chmod(0o755)
    return path


def test_a_rank_that_dies_is_told_with_its_lines_of_python(local: Scenario, torchrun: Path, workers: Path) -> None:
    done = run(local, "--", torchrun, 2, workers)
    assert done.returncode == 11
    assert sorted(done.stdout.splitlines()) == ["[rank 0] step of 0", "[rank 1] step of 1"]
    dies = WORKERS.splitlines().index("        ctypes.string_at(1)") + 1
    told = re.search(r"SIGSEGV in rank 1, process \d+\n.*string_at\(\)\n  workers.py:(\d+) in step\(\)\n", done.stderr)
    assert told and int(told[1]) == dies
    assert re.search(rf"\[python\] step \(\) at \S*workers.py:{dies}\n", done.stderr)


HANGS = """
import os, signal, sys, time
def barrier(place):
    open(place, "w").close()
    while os.path.exists(place): time.sleep(0.01)
def find(place):
    while not os.path.exists(place): time.sleep(0.01)
    signal.raise_signal(signal.SIGINT)
(find if os.environ["RANK"] == "1" else barrier)(sys.argv[1])
"""


SH = """RANK=0 {python} {script} {place} & RANK=2 {python} {script} {place}.2 &
until [ -e {place} ] && [ -e {place}.2 ]; do :; done; kill -INT $$; rm {place} {place}.2; wait"""


def test_an_interrupt_in_a_launcher_without_python_says_where_each_rank_stands(
    local: Scenario, tmp_path: Path, keeps_processes_apart: bool
) -> None:  # fmt: skip
    """As mpirun, or a shell script."""
    if not keeps_processes_apart:
        pytest.skip("before gdb 13 one process at a time is watched")
    script = tmp_path / "hangs.py"
    script.write_text(HANGS)
    line = SH.format(python=PYTHON, script=script, place=tmp_path / "waits")
    typist = RunTypist(local, "--ranks", "--", "sh", "-c", line)
    typist.end()
    told = r"rank (\d), process \d+, is at hangs.py:[45] in barrier\(\)(?:, |\n)"  # or in what it calls
    assert sorted(re.findall(told, typist.started)) == ["0", "2"], typist.started


def test_an_interrupt_says_where_each_rank_stands(
    local: Scenario, tmp_path: Path, torchrun: Path, keeps_processes_apart: bool
) -> None:  # fmt: skip
    """As one who types Ctrl-C since one of them hangs wants to know."""
    if not keeps_processes_apart:
        pytest.skip("before gdb 13 one process at a time is watched")
    script = tmp_path / "hangs.py"
    script.write_text(HANGS)
    typist = RunTypist(local, "--", torchrun, 2, script, tmp_path / "waits")
    typist.end()
    told = (r"SIGINT in rank 1, process \d+\n  hangs.py:8 in find\(\)\n  .*\n"
            r"rank 0, process \d+, is at hangs.py:[45] in barrier\(\)(?:, |\n)")  # fmt: skip
    assert re.search(told, typist.started), typist.started


def test_a_thread_of_one_of_several_processes_is_called_as_gdb_calls_it(local: Scenario) -> None:
    done = run(local, "--memory", "--", "sh", "-c", "sh -c 'kill -SEGV $$; :'; exit 0")
    threads = re.findall(r"cuda-log: SIGSEGV in thread (\S+), which has made no recorded call", done.stderr)
    assert threads and set(threads) <= {"2.1", "3.1"}, done.stderr


def test_a_process_with_threads_ends_as_its_signal_says(local: Scenario) -> None:
    """gdb lets its threads go on one by one, and the kernel has ended all when the first one takes the signal along."""
    starts = "[threading.Thread(target=time.sleep, args=(60,), daemon=True).start() for _ in range(12)]"
    done = run(local, "--", PYTHON, "-c", f"import ctypes, threading, time; {starts}; ctypes.string_at(1)")
    assert (done.returncode, "gdbcuda:" in done.stderr) == (139, False), done.stderr


@pytest.mark.parametrize("how", ["spawn", "fork"])
def test_workers_of_multiprocessing(local: Scenario, workers: Path, how: str) -> None:
    done = run(local, "--ranks", "--", PYTHON, workers, how)
    assert (done.returncode, sorted(done.stdout.splitlines())) == (11, ["[rank 0] step of 0", "[rank 1] step of 1"])
    assert re.search(r"SIGSEGV in rank 1, process \d+\n(?:  .*\n)*  workers.py:\d+ in work\(\)\n", done.stderr)


@pytest.mark.parametrize(("end", "status"), [("exit 7", 7), ("kill -TERM $$", 143), ("kill -KILL $$", 137)])
def test_the_status_is_the_programs_own(
    local: Scenario, end: str, status: int, keeps_processes_apart: bool
) -> None:  # fmt: skip
    done = run(local, "--", "sh", "-c", f'/bin/true; read x; echo "$x"; echo err >&2; {end}', stdin="in\n")
    told = "" if keeps_processes_apart else r"gdbcuda: this gdb watches one process at a time: .*\n"
    assert (done.returncode, done.stdout) == (status, "in\n") and re.fullmatch(f"{told}err\n", done.stderr)


def test_the_program_sees_nothing_of_us(local: Scenario) -> None:
    alone = subprocess.run(["env"], env={**local.environment(), "SHELL": "/bin/odd"}, capture_output=True, text=True)
    there = run(local, "--", "env", SHELL="/bin/odd").stdout
    ours = {"GDBCUDA_GDB", "LINES", "COLUMNS", "_"}  # gdb sets LINES and COLUMNS
    assert {line for line in there.splitlines() if line.split("=")[0] not in ours} == {
        line for line in alone.stdout.splitlines() if line.split("=")[0] not in ours
    }
    assert run(local, "--", "sh", "-c", "ls /proc/$$/fd").stdout.split() == ["0", "1", "2"]


def test_what_is_meant_for_the_programs_python_reaches_it_alone(local: Scenario) -> None:
    """gdb's own has no help with the first, does not load us with the second, and does not begin with the third where
    it is of another version."""
    given = {"PYTHONOPTIMIZE": "2", "PYTHONWARNINGS": "error", "PYTHONHOME": sys.base_prefix}
    done = run(local, "--break", "cuInit", "--", "env", **given)
    assert {f"{name}={value}" for name, value in given.items()} <= {*done.stdout.splitlines()}
    assert (done.returncode, "Breakpoint 1: cuInit" in done.stderr) == (0, True)


def test_a_hook_library_a_breakpoint_and_memory(local: Scenario) -> None:
    stop, script = "cuMemAlloc if caller in load_weights", ROOT / "shim" / "sample" / "train.py"
    done = run(local, "--hook", local.hook, "--break", stop, "--memory", "--", PYTHON, script)
    assert (done.returncode, done.stdout) == (0, "") and "_exit" not in done.stderr
    assert "cuda-load: hook libgdbcuda-hook.so is loaded, first in the search order\n" in done.stderr
    assert len(re.findall(r"called by train.py:\d+ in allocate\(\)", done.stderr)) == 1
    assert "cuda-memory: not freed at exit: 1 block" in done.stderr


def test_each_rank_stops_at_its_calls(local: Scenario, torchrun: Path, keeps_processes_apart: bool) -> None:
    if not keeps_processes_apart:
        pytest.skip("before gdb 13 one process at a time is watched")
    script = ROOT / "shim" / "sample" / "train.py"
    done = run(local, "--break", "cuMemAlloc if bytesize == 6000", "--", torchrun, 2, script)
    assert done.returncode == 0
    found = re.findall(r"through .*, (rank \d), thread \d+\.1$", done.stderr, re.MULTILINE)
    assert sorted(found) == ["rank 0", "rank 1"]


def test_processes_one_after_the_other_all_stop(local: Scenario, keeps_processes_apart: bool) -> None:
    """Where the one before has ended gdb switches the breakpoint off, since it finds the function nowhere."""
    if not keeps_processes_apart:
        pytest.skip("before gdb 13 one process at a time is watched")
    program = local.sample("dlsym_alloc")
    done = run(local, "--break", "cuInit", "--", "sh", "-c", f"{program}; {program}; exit 0")
    assert (done.returncode, len(re.findall("^Breakpoint 1  driver .* cuInit", done.stderr, re.MULTILINE))) == (0, 2)


def test_where_gdb_cannot_go_on_it_does_not_try_for_ever(local: Scenario) -> None:
    """gdb may lose a process that is killed in a certain moment: Couldn't get registers."""
    fail = "raise gdb.error('no registers')"
    text = local.run("test_alloc", "break main", "run", "python from gdbcuda.live.running import to_the_end as end",
                     f"python end.together.gdb_cli.execute_aloud = lambda line: exec({fail!r})",
                     "python print('WENT', end.go_on())", hook=None)  # fmt: skip
    assert text.count("gdbcuda: continue: no registers\n") == 2 and "WENT False" in text
    assert "gdb cannot let the program go on: it is left alone\n" in text


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "gdbcuda: name the program behind --"),
        (("--", "no-such-program"), "gdbcuda: cannot start no-such-program: there is no such command in PATH"),
        (("--hook", "no.so", "--", "true"), "gdbcuda: cannot read no.so: no such file"),
        (("--break", "cuMemAllocc", "--", "sh", "-c", "echo ran"), "gdbcuda: cuda-break: no function 'cuMemAllocc'"),
    ],
)
def test_a_mistake_starts_nothing(local: Scenario, words: tuple[str, ...], said: str) -> None:
    done = run(local, *words)
    assert (done.returncode, done.stdout) == (2, "") and said in done.stderr


def test_at_a_terminal_it_stops_in_the_rank_and_goes_on(local: Scenario, torchrun: Path, workers: Path) -> None:
    typist = RunTypist(local, "--", torchrun, 2, workers)
    try:
        assert "SIGSEGV in rank 1, process" in typist.started and "Python Exception" not in typist.started
        assert " step () at " in typist.type("bt")
        text = typist.started + typist.type("continue")
        assert re.search(r"\[Inferior 1 \(process \d+\) exited with code 013\]", text)
        text += typist.type("shell sleep 1")  # the program's output comes beside gdb's
        assert "[rank 0] step of 0\n" in text and "[rank 1] step of 1\n" in text
    finally:
        typist.end()

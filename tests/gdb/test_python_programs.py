"""Calls that a Python script makes: stops, bt, log and conditions name its lines, in every CPython of this machine."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import gradients
import interpreters_here
import pytest
from forking_gdbcuda import run_gdbcuda
from scenario import GDB, ROOT, Scenario, execute

SCRIPT = ROOT / "shim" / "sample" / "train.py"
HERE = interpreters_here.found()
NEWEST = max(HERE, key=lambda one: int(one[2:]))
LINES = {text.strip(): number for number, text in enumerate(SCRIPT.read_text().splitlines(), 1)}
ASKS = LINES["check(driver.cuMemAlloc_v2(ctypes.byref(block), ctypes.c_size_t(size)))"]
LOADS = LINES["self.weights = allocate(64 << 20)"]
SORTS = LINES["blocks = [allocate(size) for size in sorted(batch, key=lambda size: -size)]"]
STEPS = LINES["model.step([size, 2 * size])"]


def pythons() -> list[object]:
    each = (f"3.{minor}" for minor in interpreters_here.MINORS)
    return [pytest.param(one, marks=() if one in HERE else pytest.mark.skip(reason=f"no Python {one} on this machine"))
            for one in each]  # fmt: skip


def debugged(scenario: Scenario, *commands: str, version: str = "", **more: object) -> str:
    python = HERE[version or next(iter(HERE))]
    return scenario.run(Path(python).resolve(), *commands, hook=None, arguments=(str(SCRIPT),), **more)  # type: ignore[arg-type]


def names_of(text: str) -> list[tuple[str, int]]:
    """Of the frames of Python in a backtrace."""
    return [(name, int(line)) for name, line in re.findall(r"\[python\] (\S+) \(\) at \S*train.py:(\d+)", text)]


@pytest.mark.parametrize("version", pythons())
def test_a_stop_and_its_backtrace(local: Scenario, version: str) -> None:
    text = debugged(local, "cuda-break cuMemAlloc if bytesize == 6000", "run", "bt", "cuda-call", version=version)
    assert f"called by train.py:{ASKS} in allocate()\n" in text and "through app libffi" in text
    minor = int(version[2:])
    comprehension = "Model.step.<locals>.<listcomp>" if minor == 11 else "<listcomp>"
    inlined = [(comprehension, SORTS)] if minor < 12 else []
    member = "Model.step" if minor >= 11 else "step"
    outer = [(member, SORTS), ("main", STEPS), ("<module>", len(SCRIPT.read_text().splitlines()))]
    assert names_of(text) == [("allocate", ASKS), *inlined, *outer]
    assert f"cuMemAlloc_v2 in driver libcuda.so.1, called by train.py:{ASKS} in allocate(), through app" in text
    assert "_PyEval_EvalFrameDefault" not in text


def test_through_gdbserver(shim: Path) -> None:
    remote = Scenario(shim, "gdbserver")
    text = debugged(remote, "cuda-break cuMemAlloc if bytesize == 6000", "RUN", "bt")
    assert f"called by train.py:{ASKS} in allocate()\n" in text
    assert ("main", STEPS) in names_of(text)


def test_in_a_core_file(local: Scenario, tmp_path: Path) -> None:
    core = tmp_path / "core"
    debugged(local, "cuda-break cuMemAlloc if bytesize == 6000", "run", f"generate-core-file {core}", "kill")
    text = debugged(local, f"core-file {core}", "bt")
    assert ("main", STEPS) in names_of(text) and ("allocate", ASKS) in names_of(text)


@pytest.mark.parametrize(
    ("words", "sizes"),
    [
        ("if caller in load_weights", [64 << 20]),
        ("if caller in Model.step && bytesize < 5000", [2000, 1000, 3000]),
        ("if !(caller in load_weights) && bytesize < 2500", [2000, 1000]),
        ("if nth == 2 && caller in Model.step", [1000]),
        (f"--from train.py:{STEPS} if bytesize > 5000", [6000]),
        ("--from elsewhere.py", []),
        ("if caller in driver || caller in load_weights", [64 << 20]),
        ("--from app", [64 << 20, 2000, 1000, 6000, 3000]),
    ],
)
def test_the_caller_may_be_any_frame_of_python(local: Scenario, words: str, sizes: list[int]) -> None:
    version = "3.12" if "3.12" in HERE else NEWEST
    go_on = ["continue"] * max(len(sizes) - 1, 0)
    text = debugged(local, f"cuda-break cuMemAlloc {words}", "run", *go_on, "info breakpoints", version=version)
    found = [int(size) for size in re.findall(r"^Breakpoint 1  driver.*bytesize=(\d+)", text, re.MULTILINE)]
    assert found == sizes


def test_the_log_names_the_lines(local: Scenario, tmp_path: Path) -> None:
    log = tmp_path / "calls.jsonl"
    version = NEWEST
    text = debugged(
        local, f"cuda-log start cuMemAlloc --stack 2 --to {log}", "run", "cuda-log show cuMemAlloc --stack --last 1",
        "echo ====\\n", "cuda-log show if caller in load_weights", "echo ====\\n", "cuda-memory leaks", version=version,
    )  # fmt: skip
    last, loading, leaks = text.rpartition("exited normally]")[2].split("====\n")
    assert f"by allocate at train.py:{ASKS}" in last and f"         from main at train.py:{STEPS}\n" in last
    assert loading.count("cuMemAlloc_v2(") == 1 and "bytesize=67108864" in loading
    assert f"allocate at train.py:{ASKS}" in leaks
    shown = run_gdbcuda("log", "show", log, "--function", "cuMemAlloc", "--last", "1", "--json", check=True)
    call = json.loads(shown.stdout)
    assert call["python"] == {"function": "allocate", "object": str(SCRIPT), "line": ASKS, "layer": "app",
                              "source": f"train.py:{ASKS}"}  # fmt: skip


@pytest.mark.parametrize("transport", ["local", "gdbserver"])
def test_a_thread_that_makes_gradients(shim: Path, tmp_path: Path, transport: str) -> None:
    """It runs no Python: the line that waits for them is told, and is the caller; its backtrace is its own."""
    path = gradients.script(tmp_path, shim / "standin")
    python, run = Path(HERE[NEWEST]).resolve(), "RUN" if transport == "gdbserver" else "run"
    text = Scenario(shim, transport).run(
        python, "cuda-break cuMemAlloc if caller in step", "cuda-log start cuMemAlloc", run, "bt", "continue",
        "cuda-log show", hook=None, arguments=(str(path),))  # fmt: skip
    line = f"called by steps.py:{gradients.WAITS} in step(), torch/autograd/graph.py:2 in _engine_run_backward()\n"
    assert text.count("Breakpoint 1  driver") == 1 and line in text and "[python]" not in text
    shown = re.findall(r"bytesize=(\d+).* by (step|worker)", text.rpartition("exited")[2])
    assert shown == [("4096", "step"), ("8192", "worker"), ("12288", "worker")]


def test_a_program_without_python_says_nothing_of_it(local: Scenario) -> None:
    text = local.run("test_alloc", "cuda-break cuMemAlloc", "run", "bt")
    assert "[python]" not in text and "through" not in text and "called by app use_first_device" not in text


def test_gdb_that_was_attached_before_we_were_sourced(local: Scenario, tmp_path: Path) -> None:
    """gdb -p PID -x gdbcuda.py: nothing of the process is loaded any more while we listen."""
    waiting = tmp_path / "waiting.py"
    stands = "    print('here', flush=True)\n    input()\n"
    waiting.write_text(SCRIPT.read_text().replace("    model = Model()\n", stands))
    process = subprocess.Popen([HERE[max(HERE)], str(waiting)], env=local.environment(), stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, text=True)  # fmt: skip
    assert process.stdout is not None and process.stdout.readline() == "here\n"
    line = [GDB, "-nx", "-q", "-batch", "-p", str(process.pid), "-x", str(ROOT / "gdbcuda.py"), "-ex", "bt"]
    text = execute(line, local.environment())
    process.communicate("\n")
    assert re.search(rf"\[python\] main \(\) at {waiting}:\d+\n", text)


@pytest.mark.parametrize(
    ("words", "is_hit"),
    [
        ("if caller in step", False),
        ("if caller in load_weights && bytesize > 5", True),
        ("if caller in load_weights && bytesize < 5", False),
        ("--from step", False),
        ("--from load_weights if nth == 1", True),
    ],
)
def test_failing_calls_of_a_script(local: Scenario, tmp_path: Path, words: str, is_hit: bool) -> None:
    """The process looks at the result, gdb at the caller."""
    script = tmp_path / "refused.py"
    refused = "        try: allocate(1 << 60)\n        except MemoryError: pass\n"
    script.write_text(SCRIPT.read_text().replace("        self.weights = allocate(64 << 20)\n", refused))
    text = local.run(Path(HERE[max(HERE)]).resolve(), f"cuda-break cuMemAlloc --on error {words}", "run",
                     arguments=(str(script),))  # fmt: skip
    refusal = "= CUDA_ERROR_OUT_OF_MEMORY (2)\n              returned to refused.py:"
    assert (refusal in text) is is_hit
    assert ("exited normally" in text) is not is_hit

"""cuda-log start --fast --python: the process itself notes which lines of Python led to a call."""

from __future__ import annotations

import os
import platform
import re
import subprocess
from pathlib import Path

import interpreters_here
import pytest
from running_program import calls, gdbcuda
from scenario import ROOT, Scenario
from test_fast_log import lists_locations

pytestmark = [
    pytest.mark.skipif(platform.machine() != "x86_64", reason="the recorder is made for x86-64"),
    pytest.mark.skipif(not lists_locations(), reason="--fast needs gdb 13"),
]
SCRIPT = ROOT / "shim" / "sample" / "train.py"
HERE = interpreters_here.found()
ANY = next(iter(HERE.values()))
LINES = {text.strip(): number for number, text in enumerate(SCRIPT.read_text().splitlines(), 1)}
ASKS = LINES["check(driver.cuMemAlloc_v2(ctypes.byref(block), ctypes.c_size_t(size)))"]
LOADS = LINES["self.weights = allocate(64 << 20)"]
STEPS = LINES["model.step([size, 2 * size])"]
START = "cuda-log start --fast --python cuMemAlloc cuMemFree"


def ran(scenario: Scenario, *commands: str, python: str = ANY) -> str:
    return scenario.run(Path(python).resolve(), *commands, hook=None, arguments=(str(SCRIPT),))


@pytest.mark.parametrize("version", HERE)
def test_every_allocation_has_its_lines(local: Scenario, version: str) -> None:
    text = ran(local, START, "run", "cuda-log show --stack", "cuda-memory leaks", python=HERE[version])
    told = re.findall(rf"cuMemAlloc_v2\(.*by allocate at train.py:{ASKS}\n", text)
    assert len(told) == 5 and text.count(f"         from main at train.py:{STEPS}\n") == 4, text
    assert re.search(rf"from (Model\.)?load_weights at train.py:{LOADS}\n +from main", text)
    assert not re.search(r"cuMemFree_v2\(.*by \w+ at train", text)
    assert re.search(rf"allocate at train.py:{ASKS} +#0", text.partition("the first")[2])


def test_functions_that_are_named(local: Scenario) -> None:
    text = ran(local, "cuda-log start --fast --python-for cuMemFree cuMemAlloc cuMemFree", "run", "cuda-log show")
    assert len(re.findall(r"cuMemFree_v2\(.*by (?:Model\.)?step at train", text)) == 4
    assert not re.search(r"cuMemAlloc_v2\(.*at train", text)


@pytest.mark.parametrize("words, sizes", [
    ("load_weights", [64 << 20]), (f"train.py:{STEPS}", [2000, 1000, 6000, 3000]), ("elsewhere.py", []),
    ("elsewhere,load_weights", [64 << 20]), ("app", [64 << 20, 2000, 1000, 6000, 3000]),
])  # fmt: skip
def test_callers_are_lines_of_python_too(local: Scenario, words: str, sizes: list[int]) -> None:
    text = ran(local, f"cuda-log start --fast cuMemAlloc --from {words}", "run", "cuda-log show cuMemAlloc")
    assert [int(size) for size in re.findall(r"^#.*cuMemAlloc_v2\(.*bytesize=(\d+)", text, re.MULTILINE)] == sizes


def test_out_of_a_core_file(local: Scenario, tmp_path: Path) -> None:
    """No stop came before: the process knows by itself what it has recorded."""
    core = tmp_path / "core"
    ran(local, START, "set breakpoint pending on", "break cuMemFree_v2", "run", f"generate-core-file {core}", "kill")
    text = ran(local, f"core-file {core}", "cuda-log show cuMemAlloc --stack --last 1")
    assert f"by allocate at train.py:{ASKS}\n" in text and f"from main at train.py:{STEPS}\n" in text


WAITING = f"""
import sys, time
sys.path.insert(0, {str(SCRIPT.parent)!r})
import train
def work():
    block = train.allocate(4096)
    train.driver.cuMemFree_v2(block)
train.start()
print("ready", flush=True)
while True:
    exec("work()")
    time.sleep(0.01)
"""


def test_a_process_that_runs(local: Scenario, tmp_path: Path) -> None:
    """Twice: the second folder has all names again."""
    environment = {**os.environ, "LD_LIBRARY_PATH": f"{local.shim}/standin"}
    program = subprocess.Popen([ANY, "-c", WAITING], env=environment, stdout=subprocess.PIPE, text=True)
    try:
        assert program.stdout is not None and program.stdout.readline() == "ready\n"
        for folder in (tmp_path / "first", tmp_path / "second"):
            done = gdbcuda("trace", "-p", program.pid, "--python", "--for", "700ms", "-o", folder)
            assert done.returncode == 0, done
            made = [one for one in calls(folder) if one["name"] == "cuMemAlloc_v2"]
            assert len(made) > 3
            assert {one["python"]["source"] for one in made} == {f"train.py:{ASKS}"}
            assert all([place.get("function") for place in one["stack"]][1:3] == ["allocate", "work"] for one in made)
    finally:
        program.kill()
        program.communicate()


def test_a_program_without_python(local: Scenario) -> None:
    text = local.run("test_alloc", "cuda-log start --fast --python", "run", "cuda-log show cuMemAlloc --stack")
    assert re.search(r"cuMemAlloc_v2\(.*by \w+ at test_alloc.c:\d+", text) and "train.py" not in text


def test_by_stops_it_is_refused(local: Scenario) -> None:
    text = local.run("test_alloc", "cuda-log start --python", "cuda-log start --fast --python-for cuMemAllocc")
    assert "--python is of --fast: by stops every call has its lines of Python" in text
    assert "no function 'cuMemAllocc' in the API" in text

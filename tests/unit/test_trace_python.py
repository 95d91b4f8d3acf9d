"""gdbcuda trace --python: the lines of Python that led to a call, as Python itself says them, in every CPython here."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import gradients
import interpreters_here
import pytest
from forking_gdbcuda import run_gdbcuda
from shim_support import ROOT
from traced_programs import Trace, needs_recorder, trace

from gdbcuda.rings.ring_layout import MAGIC_STACK, PYTHON, WORD
from gdbcuda.rings.traced.trace_python import PythonStacks

__all__ = ["trace"]  # the fixture
pytestmark = needs_recorder
HERE = interpreters_here.found()
EVERY = {**HERE, **interpreters_here.without_gil()}
ANY = next(iter(HERE.values()))
PROGRAM = """
import ctypes, functools, json, os, sys, threading, traceback

driver = ctypes.CDLL("libcuda.so.1")
driver.cuInit(0)
pointer = ctypes.c_uint64()
told = []

def here(kind, frame):
    frames = []
    while frame:
        frames.append([frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name])
        frame = frame.f_back
    told.append([kind, frames])

def allocate(kind):
    here(kind, sys._getframe()); driver.cuMemAlloc_v2(ctypes.byref(pointer), ctypes.c_size_t(4096))

class Käse:
    def __init__(self, kind): allocate(kind)
    @property
    def value(self): return allocate("property")

def generator():
    for kind in ("first", "second"):
        yield allocate(kind)

def deep(left):
    if left:
        return deep(left - 1)
    allocate("deep")

def wide(
    one,
    two=None,
): return one(
    "wide"
)

async def coroutine(): allocate("coroutine")

Käse("object").value
for _ in generator(): pass
(lambda: allocate("lambda"))()
[allocate("list") for _ in range(2)]
sorted([2, 1], key=lambda one: allocate("sorted") or one)
deep(50)
wide(allocate)
for number in range(20):
    exec(compile("\\n" * number + f"def 名前{number}(): allocate('exec')\\n名前{number}()", f"<made {number}>", "exec"))
try: coroutine().send(None)
except StopIteration: pass
one = threading.Thread(target=functools.partial(allocate, "thread")); one.start(); one.join()
if not os.fork():
    told.clear(); allocate("child"); print(json.dumps(told), flush=True); os._exit(0)
os.wait()
print(json.dumps(told))
"""
MAPS = """
import ctypes
driver = ctypes.CDLL("libcuda.so.1")
size, place, handle, context = ctypes.c_size_t(2 << 20), ctypes.c_uint64(), ctypes.c_uint64(), ctypes.c_void_p()
pinned_on_the_device = (ctypes.c_int * 8)(1, 0, 1)
driver.cuInit(0)
driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0)
driver.cuCtxSetCurrent(context)
def segment():
    none = ctypes.c_uint64()
    assert not driver.cuMemAddressReserve(ctypes.byref(place), size, none, none, none)
    assert not driver.cuMemCreate(ctypes.byref(handle), size, pinned_on_the_device, none)
    assert not driver.cuMemMap(place, size, none, handle, none)
segment()
"""
FUZZ = """
import ctypes, random, sys
words = (ctypes.c_uint64 * {size}).in_dll(ctypes.CDLL({library!r}), "gdbcuda_python_v1")
driver = ctypes.CDLL("libcuda.so.1"); driver.cuInit(0)
version = ctypes.byref(ctypes.c_int())
chance, right = random.Random({seed}), list(words)
held = [bytes([chance.randrange(256) for _ in range(4096)]) for _ in range(64)]
for _ in range(3000):
    for place, most in {fields}:
        words[place] = chance.randrange(most) * 8 if chance.random() < 0.5 else right[place]
    driver.cuDriverGetVersion(version)
words[:] = right
driver.cuDriverGetVersion(version)
"""


def script(folder: Path, text: str = PROGRAM) -> Path:
    path = folder / "scrípt.py"
    path.write_text(text)
    return path


def frames_of(call: dict[str, Any]) -> list[list[Any]]:
    """[file, line, bare name of the function], innermost first; the first of the stack is the native caller."""
    return [[one["object"], one["line"], one["function"].rpartition(".")[2]] for one in call["stack"][1:]]


# who keeps the calls does not know which Python it is
@pytest.mark.parametrize(("version", "options"), [*((one, ()) for one in EVERY), ([*HERE][-1], ("--all",))])
def test_as_python_itself_says(trace: Trace, tmp_path: Path, version: str, options: tuple[str, ...]) -> None:
    found = trace(EVERY[version], str(script(tmp_path)), options=("--python", *options), PYTHONWARNINGS="ignore")
    assert (found.done.returncode, found.done.stderr) == (0, "")
    child, parent = map(json.loads, found.done.stdout.splitlines())
    calls = [one for one in found.calls() if one["name"] == "cuMemAlloc_v2"]
    recorded = {pid: [frames_of(one) for one in calls if one["pid"] == pid] for pid in {one["pid"] for one in calls}}
    assert sorted(map(len, recorded.values())) == [1, len(parent)] and len(parent) > 30
    for expected in (child, parent):
        there = next(one for one in recorded.values() if len(one) == len(expected))
        for (kind, frames), stack in zip(expected, there):
            assert stack == frames, kind


DEEP = """
import ctypes
driver = ctypes.CDLL("libcuda.so.1"); driver.cuInit(0)
def deep(left): return deep(left - 1) if left else driver.cuMemAlloc_v2(ctypes.byref(ctypes.c_uint64()), 4096)
def main(): deep(400)
main()
"""


def test_a_deep_stack_has_both_its_ends(trace: Trace, tmp_path: Path) -> None:
    """Who has asked for a block is the innermost frame, or the outermost."""
    found = trace(ANY, str(script(tmp_path, DEEP)), options=("--python",))
    call, = found.calls("--if", "caller in main", "--function", "cuMemAlloc")
    names = [one["function"] for one in call["stack"][1:]]
    assert names == ["deep"] * 96 + ["<277 frames more>"] + ["deep"] * 28 + ["main", "<module>"]
    assert found.log("show", "--stack").stdout.count("         from <277 frames more>\n") == 1


def test_views_have_the_lines(trace: Trace) -> None:
    path = ROOT / "shim" / "sample" / "train.py"
    line = next(i for i, text in enumerate(path.read_text().splitlines(), 1) if "driver.cuMemAlloc_v2(" in text)
    found = trace(ANY, str(path), options=("--python",))
    assert f"by allocate at train.py:{line}\n" in found.log("show").stdout
    assert f"allocate at train.py:{line}" in found.log("memory", "--view", "leaks").stdout
    assert f"allocate at train.py:{line}" in found.log("summary").stdout
    assert [one["name"] for one in found.calls("--if", "caller in load_weights")] == ["cuMemAlloc_v2"]
    assert f"train.py:{line}" in found.log("export", "--format", "chrome").stdout


@pytest.mark.parametrize("version", HERE)
def test_a_thread_that_makes_gradients(trace: Trace, shim: Path, tmp_path: Path, version: str) -> None:
    """It runs no Python: the lines of the one thread that waits for them stand for it."""
    path = gradients.script(tmp_path, shim / "standin")
    found = trace(HERE[version], str(path), options=("--python",))
    assert (found.done.returncode, found.done.stderr) == (0, "")
    lines = {one["arguments"]["bytesize"]: frames_of(one)[:2] if "stack" in one else [] for one in found.calls()
             if one["name"] == "cuMemAlloc_v2"}  # fmt: skip
    graph = str(tmp_path / "site-packages" / "torch" / "autograd" / "graph.py")
    waits = [[graph, 2, "_engine_run_backward"], [str(path), gradients.WAITS, "step"]]
    assert lines == {4096: waits, 8192: [], 12288: []}


SERVED = {
    "bin/served": "import sys\nfrom served.engine import main\nif __name__ == '__main__':\n    sys.exit(main())\n",
    "site-packages/served/engine.py": """import multiprocessing
from torch import empty
def load():
    empty(4096)
def main():
    load()
    worker = multiprocessing.get_context("spawn").Process(target=load)
    worker.start(), worker.join()
""",
    "site-packages/torch.py": """import ctypes
driver = ctypes.CDLL("libcuda.so.1"); driver.cuInit(0)
def empty(size): driver.cuMemAlloc_v2(ctypes.byref(ctypes.c_uint64()), size)
""",
}  # fmt: skip


def test_an_installed_program_has_its_own_lines(trace: Trace, tmp_path: Path) -> None:
    """vLLM's command is a script that pip has made, its workers are started by a line of Python's own."""
    for name, text in SERVED.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    found = trace(ANY, str(tmp_path / "bin" / "served"), options=("--python",),
                  PYTHONPATH=f"{tmp_path / 'site-packages'}:{ROOT}")  # fmt: skip
    assert (found.done.returncode, found.done.stderr) == (0, "")
    sites = [(one["pid"], one["python"]["source"]) for one in found.calls("--function", "cuMemAlloc")]
    assert [line for _, line in sites] == ["served/engine.py:4"] * 2 and len({*sites}) == 2


def test_calls_of_other_functions(trace: Trace) -> None:
    path = ROOT / "shim" / "sample" / "train.py"
    found = trace(ANY, str(path), options=("--python-for", "cuMemFree", "--stack", "2"))
    assert {one["name"] for one in found.calls() if "python" in one} == {"cuMemFree_v2"}


def test_memory_that_is_mapped_has_its_lines(trace: Trace, tmp_path: Path) -> None:
    """As the expandable segments of PyTorch are."""
    found = trace(ANY, str(script(tmp_path, MAPS)), options=("--python",))
    assert (found.done.returncode, found.done.stderr) == (0, "")
    lines = {one["name"]: frames_of(one)[0][1] for one in found.calls() if "python" in one}
    rows = [*enumerate(MAPS.splitlines(), 1)]
    assert lines == {name: next(n for n, row in rows if name in row) for name in ("cuMemCreate", "cuMemMap")}


def test_a_program_without_python(trace: Trace) -> None:
    found = trace("test_alloc", options=("--python",))
    assert (found.done.returncode, found.done.stderr) == (0, "")
    assert not [one for one in found.calls() if "stack" in one] and not (found.folder / "stacks.python").exists()


@pytest.mark.parametrize("seed", range(3))
def test_no_pointer_is_taken_on_trust(trace: Trace, shim: Path, tmp_path: Path, seed: int) -> None:
    """Words of a thread state and of a frame are followed as if they were frames and code."""
    fields = [(PYTHON["FRAME"], 64), (PYTHON["PREVIOUS"], 8), (PYTHON["CODE"], 8), (PYTHON["CODE_FILE"], 16),
              (PYTHON["CODE_NAME"], 16), (PYTHON["CODE_LINES"], 16), (PYTHON["PTHREAD"], 64)]  # fmt: skip
    text = FUZZ.format(size=PYTHON["SIZE"], library=str(shim / "libgdbcuda-trace.so"), seed=seed, fields=fields)
    found = trace(ANY, str(script(tmp_path, text)), options=("--python-for", "cuDriverGetVersion"))
    assert (found.done.returncode, found.done.stderr) == (0, "")
    assert len({json.dumps(one["stack"]) for one in found.calls() if "stack" in one}) > 3


def test_a_file_that_is_cut_off_or_spoilt(trace: Trace, tmp_path: Path) -> None:
    found = trace(ANY, str(script(tmp_path)), options=("--python",))
    raw = (found.folder / "stacks.python").read_bytes()
    whole = PythonStacks(raw)
    assert len(whole.stacks) > 25 and all(map(whole.frames, whole.stacks))
    chance = random.Random(1)
    for _ in range(200):
        cut = chance.randrange(len(raw))
        for data in (raw[:cut], raw[:cut] + chance.randbytes(chance.randrange(40)) + raw[cut:]):
            read = PythonStacks(data)
            for number in read.stacks:
                read.frames(number)
    begin = raw.index(MAGIC_STACK.to_bytes(WORD, "little"))
    later = PythonStacks(raw[:begin] + b"torn" + raw[begin + 5 :])
    assert len(later.stacks) == len(whole.stacks) - 1


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--python-for", "cuMemAllocc", "--", "true"), "no function 'cuMemAllocc' in the API"),
        (("--python-for", "cuMemAllocc", "-p", "1"), "no function 'cuMemAllocc' in the API"),
        (("--python", "--with", "strace", "--", "true"), "--python is for --with recorder"),
    ],
)
def test_mistakes(words: tuple[str, ...], said: str) -> None:
    done = run_gdbcuda("trace", *words)
    assert done.returncode == 2 and said in done.stderr and done.stderr.count("\n") == 1

"""Stacks of Python that few scripts have: the lines that can be read are told, in the right order."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import interpreters_here
import pytest
from scenario import ROOT, Scenario

SCRIPT = ROOT / "shim" / "sample" / "train.py"
HERE = interpreters_here.found()
NEWEST = max(HERE, key=lambda one: int(one[2:]))
PROGRAM = """
import ctypes, sys, train
try:
    import _interpreters as interpreters
    kinds, run = ["isolated"], interpreters.exec
except ImportError:
    import _xxsubinterpreters as interpreters
    kinds, run = [], interpreters.run_string
def scribbled():
    code = caller.__code__
    words = (ctypes.c_uint64 * 30).from_address(id(code))
    names = {id(code.co_filename), id(code.co_name), id(getattr(code, "co_qualname", 0))}
    kept = {at: word for at, word in enumerate(words) if word in names}
    for at in kept: words[at] = 8
    train.allocate(1000)
    for at, word in kept.items(): words[at] = word
def caller(): scribbled()
def outer(): run(interpreters.create(*kinds), INNER)
INNER = f"import sys; sys.path.insert(0, {sys.path[0]!r}); import train\\ndef inner(): train.allocate(3000)\\ninner()"
train.start()
caller()
exec(compile("\\n\\ntrain.allocate(2000)", "n" * 5000, "exec"))
outer()
ctypes.CDLL(sys.argv[1]).cublasCreate_v2()
"""
LIBRARY = """
int cuMemAlloc_v2(void **block, unsigned long size);
int cublasCreate_v2(void) { static void *block; return cuMemAlloc_v2(&block, 4000); }
__attribute__((constructor)) static void begin(void) { static void *block; cuMemAlloc_v2(&block, 5000); }
"""
LINES = {text: number for number, text in enumerate(PROGRAM.splitlines(), 1)}
NAMED = LINES["def outer(): run(interpreters.create(*kinds), INNER)"]
BLAS = LINES["ctypes.CDLL(sys.argv[1]).cublasCreate_v2()"]


@pytest.fixture
def program(shim: Path, tmp_path: Path) -> tuple[str, ...]:
    (tmp_path / "odd.py").write_text(PROGRAM)
    (tmp_path / "train.py").write_text(SCRIPT.read_text())
    (tmp_path / "blas.c").write_text(LIBRARY)
    library = tmp_path / "libcublas.so.12"
    line = ["gcc", "-shared", "-fPIC", "-o", library, tmp_path / "blas.c", f"-L{shim}/standin", "-lcuda"]
    subprocess.run(line, check=True)
    return str(tmp_path / "odd.py"), str(library)


def frames(text: str) -> list[str]:
    """Of Python in a backtrace: "allocate train.py:23"."""
    text = text.replace("<script>", "<string>")  # what a subinterpreter runs, since 3.13
    found = re.findall(r"\[python\] (\S+) \(\)(?: at )?(?:\S*/)?(\S*)$", text, re.MULTILINE)
    return [f"{name} {place}".rstrip() for name, place in found]


@pytest.mark.parametrize("version", [one for one in HERE if one in ("3.9", NEWEST)])
def test_every_line_that_can_be_read(shim: Path, program: tuple[str, ...], version: str) -> None:
    """Names that something has written over, one that is too long, a thread in two interpreters, and a library of
    NVIDIA's in between, whose constructor comes before any Python."""
    local = Scenario(shim, variables=(f"LD_PRELOAD={program[1]}",))
    text = local.run(Path(HERE[version]).resolve(), "cuda-break cuMemAlloc", "cuda-log start cuMemAlloc --stack 9",
                     "run", "bt", *["continue", "bt"] * 4, "continue", "cuda-log show cuMemAlloc --stack", hook=None,
                     arguments=program)  # fmt: skip
    stops = re.split("^Breakpoint 1  driver.*\n|exited normally", text, flags=re.MULTILINE)[1:]
    constructor, scribbled, long, two, library, log = stops
    assert constructor.startswith("              called by app libcublas.so.12 begin()") and not frames(constructor)
    asks = next(line for line in SCRIPT.read_text().splitlines() if "cuMemAlloc_v2(" in line)
    allocates = f"allocate train.py:{SCRIPT.read_text().splitlines().index(asks) + 1}"
    unknown = [f"? ?:{LINES['def caller(): scribbled()']}", f"<module> odd.py:{LINES['caller()']}"]
    assert frames(scribbled) == [allocates, f"scribbled odd.py:{LINES['    train.allocate(1000)']}", *unknown]
    assert frames(long)[:2] == [allocates, "<module> ?:3"] and frames(long)[2].startswith("<module> odd.py:")
    inner = [allocates, "inner <string>:2", "<module> <string>:3"]
    assert frames(two) == [*inner, f"outer odd.py:{NAMED}", f"<module> odd.py:{LINES['outer()']}"]
    assert f"called by odd.py:{BLAS} in <module>\n              through app libcublas.so.12" in library
    assert "from ? at ?:" in log and "from <module> at ?:3\n" in log
    assert f"by <module> at odd.py:{BLAS} through libcublas.so.12\n" in log

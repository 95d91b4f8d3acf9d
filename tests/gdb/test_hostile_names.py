"""A program that means ill: the names of its file, its folder, its library, sources, functions and threads, its
environment and the strings that it hands over hold escapes, ends of lines and marks of direction. None gets through."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from scenario import GDB, ROOT, Scenario

EVIL = "e\x1b[32m\x9b2J\nready\t\u202e\x07"
HARMLESS = "h" * len(EVIL.encode())  # stands in the compiler's place for the other
SHOWN = r"e\x1b[32m\x9b2J\nready\t\u202e\x07"

LIBRARY = f"""
static int {HARMLESS}(void) {{ return 0; }}
int cuMemAlloc_v2(unsigned long long *dptr, unsigned long size) {{ return {HARMLESS}(); }}
"""
PROGRAM = f"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/prctl.h>
int cuInit(unsigned), cuDeviceGet(int *, int), cuDevicePrimaryCtxRetain(void **, int), cuCtxSetCurrent(void *);
int cuMemAlloc_v2(unsigned long long *, size_t), cuMemFree_v2(unsigned long long);
int cuModuleGetFunction(void **, void *, const char *);
static unsigned long long block;
static const char *evil;
__attribute__((noinline)) static int {HARMLESS}(void)
{{
    void *function, *context; int device;
    cuInit(0); cuDeviceGet(&device, 0); cuDevicePrimaryCtxRetain(&context, device); cuCtxSetCurrent(context);
    cuMemAlloc_v2(&block, 4096);
    cuModuleGetFunction(&function, (void *)1, evil);
    cuMemFree_v2(block);
    cuMemFree_v2(block);
    return cuMemAlloc_v2(&block, (size_t)1 << 50);
}}
static void *work(void *unused) {{ prctl(PR_SET_NAME, getenv("THREAD")); {HARMLESS}(); return NULL; }}
int main(void)
{{
    pthread_t thread;
    unsigned long long own;
    evil = getenv("EVIL");
    void *library = dlopen(getenv("LIBRARY"), RTLD_NOW);
    dlsym(RTLD_DEFAULT, evil);
    int (*alloc)(unsigned long long *, size_t) = dlsym(library, "cuMemAlloc_v2");
    alloc(&own, 64);
    pthread_create(&thread, NULL, work, NULL);
    return pthread_join(thread, NULL);
}}
"""
BEFORE = ("cuda-break dlsym", "cuda-log start --stack 4 --memory", "cuda-dlsym log on", "cuda-break cuMemAlloc",
          "cuda-break cuModuleGetFunction", "cuda-break cuMemFree --on error",
          f'cuda-break cuMemAlloc if caller in "{HARMLESS}"')  # fmt: skip
AT_STOPS = ("bt", "cuda-call", "cuda-call --json", "cuda-load", "cuda-check", "cuda-check --quiet", "cuda-version",
            "cuda-env EVIL", "cuda-env LIBRARY", "cuda-env NEW=x", "cuda-route", "cuda-route --all cuMemAlloc",
            "cuda-route --unhooked", "cuda-route --json", "cuda-dlsym", "cuda-dlsym log show --self",
            "cuda-dlsym log show --json", "cuda-memory", "cuda-memory live", "cuda-memory at block", "cuda-memory peak",
            "cuda-memory problems", "cuda-memory leaks", "cuda-memory by-site", "cuda-guards", "info breakpoints",
            "cuda-log", "cuda-log show --stack", "cuda-log show --tree", "cuda-log show --changed", "cuda-log summary",
            "cuda-log show --json", "cuda-break cuMemAlloc --from nobody", "cuda-break nobody", "cuda-remote --host a",
            "cuda-memory nonsense", "print $_cuda_layer()", "cuda-dlsym answer cuInit with cuNothing")  # fmt: skip
# In gdb, with our own text kept apart from gdb's, which prints names as they are.
DRIVE = """
import gdb, json, os
said, real, style = [], gdb.write, os.environ["STYLE"]
def write(text, *stream):
    said.append((command, text))
    real(text, *stream)
gdb.write = write
def run(one):
    global command
    command = one
    try:
        gdb.execute(one)
    except gdb.error as problem:
        said.append((one, str(problem)))
for one in ["source " + os.environ["SOURCE"], "set cuda-style " + style, "set pagination off",
            "set breakpoint pending on", "file " + os.environ["PROGRAM"], *json.loads(os.environ["BEFORE"])]:
    run(one)
for one in json.loads(os.environ["START"]):
    run(one)
for stop in range(12):
    if gdb.selected_inferior().pid:
        for one in json.loads(os.environ["AT_STOPS"]):
            run(one)
        run("continue")
run("cuda-log summary")
bt = gdb.execute("complete cuda-break cuInit --from ", to_string=True)
json.dump([*said, ("completion", bt)], open(os.environ["SAID"], "w"))
"""


@pytest.fixture(scope="module")
def evil_files(tmp_path_factory: pytest.TempPathFactory, shim: Path) -> tuple[Path, Path]:
    """The library, and a link to the program, for its own name cannot be typed."""
    folder = tmp_path_factory.mktemp("files")
    (folder / f"{HARMLESS}src").mkdir()
    (folder / f"in {EVIL}").mkdir()
    made = []
    driver = str(shim / "standin" / "libcuda.so.1")
    for name, text, flags in (("library.c", LIBRARY, ["-shared", "-fPIC"]),
                              ("program.c", PROGRAM, ["-lpthread", driver])):  # fmt: skip
        source = folder / f"{HARMLESS}src" / f"{HARMLESS}{name}"
        source.write_text(text)
        subprocess.run(["gcc", "-g", "-O0", str(source), "-o", str(folder / "made"), *flags], check=True, timeout=60)
        made.append(folder / f"in {EVIL}" / f"lib{EVIL}{name}.so")
        made[-1].write_bytes((folder / "made").read_bytes().replace(HARMLESS.encode(), EVIL.encode()))
        made[-1].chmod(0o755)
    (folder / "link").symlink_to(made[1])
    return made[0], folder / "link"


def controls(text: str) -> str:
    """What is not printable but the ends of lines, and our own colours."""
    sys.path.insert(0, str(ROOT))
    from gdbcuda.text.printable import visible
    from gdbcuda.text.render import ROLES

    for code in {"0", *ROLES.values()}:
        text = text.replace(f"\x1b[{code}m", "")
    return "".join(c for c in text if c != "\n" and visible(c) != c)


@pytest.mark.parametrize("style", ["on", "off"])
def test_no_view_lets_it_through(
    scenario: Scenario, evil_files: tuple[Path, Path], style: str, tmp_path: Path
) -> None:
    """(gdbserver's lists of libraries and threads are no XML any more with such names, and gdb 13 dies of it.)"""
    library, program = evil_files
    if scenario.place == "gdbserver":
        library = Path(shutil.copy(library, tmp_path / "libplain.so"))
    (tmp_path / "drive.py").write_text(DRIVE)
    start = ["run"] if scenario.place == "local" else [
        "set remotetimeout 60", f"target remote | gdbserver --once - {program}", "continue"]  # fmt: skip
    environment = scenario.environment() | {
        "EVIL": EVIL, "THREAD": EVIL if scenario.place == "local" else "worker", "LIBRARY": str(library),
        "PROGRAM": str(program), "SOURCE": str(ROOT / "gdbcuda.py"),
        "STYLE": style, "START": json.dumps(start), "BEFORE": json.dumps(BEFORE), "AT_STOPS": json.dumps(AT_STOPS),
        "SAID": str(tmp_path / "said"),
    }  # fmt: skip
    done = subprocess.run([GDB, "-nx", "-q", "-batch", "-x", str(tmp_path / "drive.py")], env=environment, timeout=240,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)  # fmt: skip
    output = done.stdout.decode(errors="replace")
    assert "fault of gdbcuda" not in output and "Python Exception" not in output, output
    assert (tmp_path / "said").exists(), output
    said = json.loads((tmp_path / "said").read_text())
    for command, text in said:
        assert not controls(text), (command, text)
        assert "\nready" not in text and (style == "on" or "\x1b" not in text), (command, text)
        assert "\x1b[32me" not in text and "\x1b[32m\\x9b" not in text, (command, text)
    seen = {command for command, text in said if SHOWN in text}
    expected = {"cuda-call", "cuda-load", "cuda-check", "cuda-version", "cuda-env EVIL", "cuda-route", "cuda-dlsym",
                "cuda-log show --stack", "cuda-log show --tree", "cuda-log summary", "cuda-dlsym log show --self",
                "cuda-memory problems", "cuda-break cuMemAlloc --from nobody", "continue"}  # fmt: skip
    if scenario.place == "gdbserver":
        expected -= {"cuda-load", "cuda-check", "cuda-version"}
    assert expected <= seen, expected - seen
    rows = [row for row in output.splitlines() if row.startswith("#") and " in [app] " in row]
    assert rows and all(not controls(row) for row in rows), "the names in bt"
    as_json = [json.loads(text) for command, text in said if command == "cuda-call --json" and text.startswith("{")]
    calls = [one for one in as_json if "resolver" not in one]  # the others are requests, at a stop on dlsym
    assert EVIL in {one["caller"]["function"] for one in calls} and len(calls) < len(as_json)


OPENS = """
#include <dlfcn.h>
#include <stdlib.h>
int main(void) { dlopen(getenv("LIBRARY"), RTLD_NOW); abort(); }
"""


def test_a_name_is_no_command(
    local: Scenario, compile_c, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """gdb takes a text with ends of lines for several commands."""
    monkeypatch.chdir(tmp_path)  # there it would be
    name = tmp_path / "lib\nshell touch touched\n.so"
    name.write_bytes(compile_c("libmine.so", LIBRARY, "-shared").read_bytes())
    text = local.run(compile_c("program", OPENS), "RUN", "cuda-route --all", "cuda-check", "cuda-dlsym", "cuda-load",
                     "cuda-dlsym log on", "cuda-break cuMemAlloc", "cuda-version", "bt", hook=None,
                     environment={"LIBRARY": str(name)})  # fmt: skip
    assert r"lib\nshell touch touched\n.so" in text
    assert not (tmp_path / "touched").exists()

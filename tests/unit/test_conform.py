"""gdbcuda conform: hook libraries that break one promise each, and what is said of them."""

from __future__ import annotations

import re
import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

import pytest
from conform_hooks import BEGIN, ConformFiles
from shim_support import HOOK, SHIM

from gdbcuda import api
from gdbcuda.api.table import STATUS_TYPES
from gdbcuda.shell.conform import cases as conform_cases
from gdbcuda.shell.conform.options import ConformOptions

ALLOC = "CUresult cuMemAlloc_v2(CUdeviceptr *p, size_t n)"
COPY = "CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr d, const void *s, size_t n, CUstream stream)"
INFO = "CUresult cuMemGetInfo_v2(size_t *f, size_t *t)"
PADDED = f"{ALLOC} {{ return NEXT(cuMemAlloc_v2)(p, n + 512); }}"
DROPPED = f"{COPY} {{ return NEXT(cuMemcpyHtoDAsync_v2)(d, s, n, 0); }}"
PASSED_ON = f"{ALLOC} {{ return NEXT(cuMemAlloc_v2)(p, n); }}"
WATCHES = f"""
#include <pthread.h>
static void *watch(void *unused) {{ size_t f, t; for (;;) {{ NEXT(cuMemGetInfo_v2)(&f, &t); usleep(20); }} }}
CUresult cuInit(unsigned flags)
{{ CUresult r = NEXT(cuInit)(flags); pthread_t own; if (!r) pthread_create(&own, NULL, watch, NULL); return r; }}
{INFO} {{ return NEXT(cuMemGetInfo_v2)(f, t); }}"""
RIGHT = {
    "passed_on": PASSED_ON,
    "own_place": f"{ALLOC} {{ CUdeviceptr own; CUresult r = NEXT(cuMemAlloc_v2)(&own, n); if (p && !r) *p = own; "
                 "return p ? r : NEXT(cuMemAlloc_v2)(p, n); }",
    "refused": f"{ALLOC} {{ return n > 1ul << 32 ? CUDA_ERROR_OUT_OF_MEMORY : NEXT(cuMemAlloc_v2)(p, n); }}",
    "watches": WATCHES,
    "tried_again": f"{ALLOC} {{ CUresult r = NEXT(cuMemAlloc_v2)(p, n); "
                   "return r == CUDA_ERROR_OUT_OF_MEMORY ? NEXT(cuMemAlloc_v2)(p, n) : r; }",
}  # fmt: skip
DLSYM = """
static void *real(void *h, const char *s)
{ return ((void *(*)(void *, const char *))dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.2.5"))(h, s); }
#define NEXT2(name) ((__typeof__(&name))real(RTLD_NEXT, #name))
CUresult cuMemAlloc_v2(CUdeviceptr *p, size_t n) { return NEXT2(cuMemAlloc_v2)(p, n); }
CUresult cuMemFree_v2(CUdeviceptr p) { return NEXT2(cuMemFree_v2)(p); }
void *dlsym(void *h, const char *s)
{ return h == RTLD_NEXT || strcmp(s, "cuMemFree_v2") || !real(h, s) ? real(h, s) : (void *)cuMemFree_v2; }
"""
RESOLVED = ("cuMemAllocAsync", "cuMemAllocAsync by *", "cuMemFree", "cuMemFreeAsync", "cuMemFreeAsync_ptsz",
            "cuMemFreeHost", "cuMemFree_v2", "cuMemAdvise by *", "*other*")


@pytest.fixture(scope="module")
def files(shim: Path, tmp_path_factory: pytest.TempPathFactory) -> ConformFiles:
    return ConformFiles(tmp_path_factory.mktemp("conform"), shim)


@pytest.mark.parametrize("name", RIGHT)
def test_what_is_passed_on_rightly(files: ConformFiles, name: str) -> None:
    """As another pointer to the same, within a limit of its own, or at the second try; calls of a thread of the hook
    library's own are no calls of the program."""
    groups = ("transparent", "status", "faults")
    chosen = [f"--only={one}" for one in (groups if name != "tried_again" else ("transparent", "faults"))]
    assert files.broken(files.hook(name, RIGHT[name]), *chosen) == []


def test_names_that_are_answered_rightly(files: ConformFiles) -> None:
    chosen = [f"--only=resolving/{glob}" for glob in RESOLVED]
    assert files.broken(files.hook("names", DLSYM), *chosen) == []


@pytest.mark.parametrize("hook, case, said", [
    ("transparent/size_padded", "transparent/cuMemAlloc_v2", "result 0, errno 77"),
    ("transparent/by_value", "transparent/cuIpcOpenMemHandle_v2", "result 0, errno 77"),
    ("transparent/by_dlsym", "transparent/cuMemAlloc_v2", "result 0, errno 77"),
    ("transparent/registers", "transparent/cuMemFree_v2", "not as before: rbx=0x5a5a5a5a5a5a5b00>"),
    ("transparent/sampled", "transparent/cuMemcpyHtoD_v2", "result 0, errno"),
    ("transparent/static_answer", "transparent/nvmlDeviceGetMemoryInfo", "result 999, errno 77"),
    ("resolving/suffix_taken", "resolving/unknown names by cuGetProcAddress", "cuMemAlloc_v2 of "),
    ("minus_one", "status/cuMemAlloc_v2", "result -1, errno 11"),
    ("status/one_hidden", "status/cuMemAlloc_v2", "result 999, errno 77"),
    ("status/null_crashes", "status/cuMemGetInfo_v2", ""),
    ("resolving/others_taken", "resolving/names of others", "cuMemFree_v2 of "),
    ("resolving/prefix_compared", "resolving/cuMemFreeHost", "cuMemFree_v2 of "),
    ("resolving/version_fixed", "resolving/cuMemAdvise by cuGetProcAddress", "cuMemAdvise_v2 of "),
    ("resolving/dlerror_left", "resolving/names of others", "libc.so.6, dlerror: /"),
    ("faults/given_up", "faults/cuMemAlloc_v2", "result 2, errno 11"),
    ("faults/well", "faults/a run with cuMemAlloc_v2", "made cuMemAlloc_v2 0"),
])  # fmt: skip
def test_the_program_that_shows_it(files: ConformFiles, tmp_path: Path, hook: str, case: str, said: str) -> None:
    """It compiles, and does what the case has found."""
    (tmp_path / "case.c").write_text(shown_by(files.shim / f"sample/wrong/{hook}.so", case, tmp_path / "region"))
    lines = (tmp_path / "case.c").read_text().splitlines()
    compiled, played = (next(line for line in lines if word in line).strip() for word in ("gcc -std", "LD_PRELOAD="))
    shown = subprocess.run(f"{compiled} && {played}", shell=True, cwd=tmp_path, capture_output=True, text=True)
    assert said in shown.stdout and ("Segmentation fault" in shown.stderr) == (hook == "status/null_crashes"), shown
    assert any("gdbcuda gdb -ex 'cuda-load" in line for line in lines)


@pytest.mark.parametrize("hook, case, commands", [
    ("resolving/new_each_time", "resolving/cuMemFree_v2", "cuda-break dlsym"),
    ("resolving/dlvsym_invents", "resolving/cuMemFree_v2", "cuda-break dlvsym"),
    ("life/in_own_name", "life/stacked", "cuda-break dlsym --from any"),
    ("books/half_refused", "books/processes",
     "set detach-on-fork off|set schedule-multiple on|cuda-break cuMemAlloc_v2"),
])  # fmt: skip
def test_the_session_stops_where_the_calls_are(shim: Path, tmp_path: Path, hook: str, case: str, commands: str) -> None:
    """In what hands out functions where none is called, and in the processes that a program forks."""
    shown = shown_by(shim / f"sample/wrong/{hook}.so", case, tmp_path / "region")
    session = next(line for line in shown.splitlines() if "gdbcuda gdb" in line)
    given = [word for word in shlex.split(session.partition("gdbcuda gdb ")[2]) if " " in word]
    assert given[1:] == commands.split("|")


def test_what_one_leaves_behind_that_is_killed_is_shown_too(files: ConformFiles, tmp_path: Path) -> None:
    """By the next process, as often as it takes."""
    hook, region = files.shim / "sample/wrong/books/keeps_the_dead.so", f"QUOTA_REGION={tmp_path / 'region'}"
    environment = ("--env", f"QUOTA={256 << 20}", "--env", region, "--limit", "256m")
    assert files.run(hook, *environment, "--show", "books/killed", "-o", tmp_path / "case").returncode == 0
    lines = (tmp_path / "case" / "case.c").read_text().splitlines()
    compiled, kills, follows = (line.strip() for line in lines[2:5])
    assert kills.startswith("for i in ") and "do timeout -s KILL 0.$i env " in kills and kills.endswith(" ./case")
    played, _, ending = follows.partition(" || ")
    assert played.startswith("timeout -s KILL 5 env ") and ending == "break; done"
    shown = subprocess.run(f"{compiled} && {played}", shell=True, cwd=tmp_path / "case", capture_output=True, text=True)
    assert shown.returncode == 0 and shown.stdout.startswith("step 0 0\nsays cuMemGetInfo_v2 0 free "), shown


def shown_by(hook: Path, case: str, region: Path) -> str:
    wanted = ConformOptions()
    wanted.lib, wanted.show, wanted.limit = str(hook), case, 256 << 20
    wanted.only, wanted.env = [], [f"QUOTA={256 << 20}", f"QUOTA_REGION={region}"]
    wanted.seconds, wanted.seed, wanted.real = 600, 1, False
    return conform_cases.shown(wanted)


def test_a_library_that_it_is_linked_against_is_found(files: ConformFiles, tmp_path: Path) -> None:
    """As the loader finds it for the user, or by --env; without it nothing can be said of the hook library."""
    helper, hook = files.hook("helper", "int helper(void) { return 0; }"), tmp_path / "libneeds.so"
    source = tmp_path / "needs.c"
    source.write_text(f"{BEGIN}int helper(void);\n{PASSED_ON.replace('{', '{ helper();', 1)}\n")
    own = [f"-L{helper.parent}", "-lhelper", "-ldl"]
    subprocess.run(["gcc", "-w", "-shared", "-fPIC", "-D_GNU_SOURCE", f"-I{files.shim}", "-o", hook, source, *own],
                   check=True)  # fmt: skip
    chosen, there = ("--only", "transparent/cuMemAlloc_v2"), str(helper.parent)
    without = files.run(hook, *chosen)
    assert without.returncode == 2 and "does not find libhelper.so, which the hook library needs" in without.stderr
    assert files.run(hook, *chosen, LD_LIBRARY_PATH=there).returncode == 0
    assert files.run(hook, *chosen, "--env", f"LD_LIBRARY_PATH={there}").returncode == 0


def test_what_holds_is_not_shown(files: ConformFiles) -> None:
    done = files.run(files.hook("holds", PASSED_ON), "--show", "transparent/cuMemAlloc_v2")
    assert done.stderr == "gdbcuda: transparent/cuMemAlloc_v2 is kept: there is nothing to show (seed 1)\n"


def test_our_own_hook_library_bears_a_driver_that_fails(files: ConformFiles, shim: Path) -> None:
    """All that has to do with memory, where it asks the driver besides, and some of what it passes on."""
    chosen = ("cuMem*", "cuArray*", "cuCtx*", "cuDevicePrimary*", "nvmlDeviceGetMemory*", "a run with *")
    words = [*(f"--only=faults/{one}" for one in chosen), "--env", "GDBCUDA_MEMORY_LIMIT=256m", "--limit", "256m"]
    report = files.data(shim / HOOK, *words)
    assert report["broken"] == [] and len(report["cases"]) > 200


def test_our_own_hook_library_answers_each_name(files: ConformFiles, shim: Path) -> None:
    report = files.data(shim / HOOK, "--only", "resolving", "--seconds", "1000")
    assert report["broken"] == [] and report["not_run"] == [] and len(report["cases"]) > 1400


@pytest.mark.parametrize("group", ["transparent", "status"])
def test_our_own_hook_library_passes_all_on(files: ConformFiles, shim: Path, group: str) -> None:
    """Each function that is written by hand, and of the generated ones, which differ by their types alone, one of each
    kind: all of them would take a minute. A hundred statuses say nothing else of an argument that is made otherwise."""
    functions = api.load().functions.values() if group == "transparent" else of_a_status()
    kinds = {kind(one, with_notes=group == "transparent"): one.symbol for one in functions}
    chosen = {*hand_written(), *kinds.values()} & {one.symbol for one in functions}
    words = [word for name in sorted(chosen) for word in ("--only", f"{group}/{name}")]
    report = files.data(shim / HOOK, *words, "--seconds", "1000")
    assert report["broken"] == [] and report["not_run"] == []
    assert len(report["cases"]) > {"transparent": 500, "status": 300}[group]


def hand_written() -> Iterator[str]:
    for source in (SHIM / "hook").glob("*.c"):
        yield from re.findall(r"^HOOK\b[^(;]*?\b(\w+)\(", source.read_text(), re.MULTILINE)


def kind(function: api.Function, with_notes: bool) -> tuple[object, ...]:
    """What the compiler makes a wrapper of, kinds and sizes; and with the notes what `conform` makes arguments of."""
    notes = [repr(one.notes) for one in function.parameters] if with_notes else []
    types = function.result, *(one.type for one in function.parameters)
    return (function.api, *((one.kind, one.size) for one in types), *notes)


def of_a_status() -> list[api.Function]:
    return [one for one in api.load().functions.values() if one.result.spelling == STATUS_TYPES[one.api]]


def test_a_library_with_which_nothing_begins(files: ConformFiles) -> None:
    done = files.run(files.hook("gone", "__attribute__((constructor)) static void begin(void) { abort(); }"))
    assert "start: a program does not begin with it\n    it ends with SIGABRT" in done.stdout
    assert done.returncode == 1


def test_what_is_meant_is_allowed(files: ConformFiles, tmp_path: Path) -> None:
    hook, meant = files.hook("padded", PADDED), tmp_path / "meant.txt"
    accepted = files.data(hook, "--only", "transparent", "--accept", meant, "--junit", tmp_path / "accepted.xml")
    assert (accepted["status"], accepted["broken"], len(accepted["allowed"])) == (0, [], 1)
    assert ElementTree.parse(tmp_path / "accepted.xml").getroot().get("failures") == "0"
    assert meant.read_text().splitlines()[2:] == ["transparent/cuMemAlloc_v2: argument bytesize is changed"]
    assert files.run(hook, "--only", "transparent", "--allow", meant, "--seed", "7").returncode == 0
    other = files.hook("dropped", DROPPED)
    done = files.run(other, "--only", "transparent", "--allow", meant)
    assert done.returncode == 1 and "Allowed, and not seen:\n  transparent/cuMemAlloc_v2" in done.stdout


def test_a_report_for_ci(files: ConformFiles, tmp_path: Path) -> None:
    hook = files.hook("ci", f"{ALLOC} {{ return NEXT(cuMemAlloc_v2)(p, n + 1); }}\n"
                            f"{INFO} {{ return NEXT(cuMemGetInfo_v2)(f, t); }}")  # fmt: skip
    assert files.run(hook, "--only", "transparent/cu*", "--junit", tmp_path / "conform.xml").returncode == 1
    suite = ElementTree.parse(tmp_path / "conform.xml").getroot()
    assert (suite.get("tests"), suite.get("failures")) == ("2", "1")
    assert {case.get("name"): len(case) for case in suite} == {
        "transparent/cuMemAlloc_v2": 1, "transparent/cuMemGetInfo_v2": 0
    }  # fmt: skip
    seen, again = (suite[0][0].text or "").splitlines()[1:]
    assert " -> " in seen and again == f"gdbcuda conform {hook} --show transparent/cuMemAlloc_v2"


def test_the_same_seed_makes_the_same(files: ConformFiles) -> None:
    hook = files.hook("seeded", PADDED)
    first, again, other = (files.data(hook, "--only", "transparent", "--seed", seed)["broken"] for seed in "334")
    assert first == again and first != other


@pytest.mark.parametrize(
    "words, line",
    [(("nowhere.so",), "gdbcuda: cannot read nowhere.so: no such file or directory"),
     (("README.md",), "gdbcuda: README.md: is not an ELF file (begins with '# gdbcud')"),
     (("HOOK", "--only", "cuMmAlloc_v2"),
      "gdbcuda: there is no case cuMmAlloc_v2; did you mean cuMemAlloc_v2?"),
     (("HOOK", "--allow", "nowhere"),
      "gdbcuda: cannot read nowhere: no such file or directory; --accept FILE writes one"),
     (("HOOK", "--junit", "nowhere/conform.xml"),
      "gdbcuda: cannot write nowhere/conform.xml: there is no folder nowhere"),
     (("HOOK", "--jobs", "0"), "gdbcuda: --jobs is how many cases are played at a time, 1 or more"),
     ((), "gdbcuda: name the hook library, for example: gdbcuda conform ./libvgpu.so")],
)  # fmt: skip
def test_a_mistake_is_one_line(files: ConformFiles, shim: Path, words: tuple[str, ...], line: str) -> None:
    done = files.run(*(shim / "sample/minimal_hook.so" if word == "HOOK" else word for word in words))
    assert (done.returncode, done.stderr.splitlines()) == (2, [line])

"""gdbcuda conform, the group "life": libraries that bear it."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from conform_hooks import BEGIN, ConformFiles
from shim_support import HOOK

from gdbcuda.compare.findings import Difference
from gdbcuda.contract.case_report import ConformReport, text


@pytest.fixture(scope="module")
def files(shim: Path, tmp_path_factory: pytest.TempPathFactory) -> ConformFiles:
    return ConformFiles(tmp_path_factory.mktemp("conform"), shim)


@pytest.mark.parametrize(("hook", "setting"), [(HOOK, "GDBCUDA_MEMORY_LIMIT=256m"), ("sample/quota_hook.so", "")])
def test_libraries_that_bear_all_of_it(files: ConformFiles, tmp_path: Path, hook: str, setting: str) -> None:
    """The second one shares a region with other processes."""
    report = files.data(files.shim / hook, "--only", "life", "--env", setting or f"QUOTA_REGION={tmp_path / 'region'}")
    assert report["broken"] == [] and len(report["cases"]) == 30


def test_a_library_that_is_reached_by_dlsym_alone(files: ConformFiles) -> None:
    """Its functions are asked for by name."""
    hook = files.shim / "sample/wrong/only_dlsym.so"
    assert files.broken(hook, "--only", "life/preload") == []
    report = files.data(hook, "--only", "books/cuMemAlloc_v2", "--limit", "1536m")
    assert "cuMemAlloc_v2 grants more than the limit" in [one["broken"] for one in report["broken"]]


def test_a_lock_that_no_other_process_has_over_a_fork(files: ConformFiles) -> None:
    """Without a region that is shared, the lock is the process's own."""
    assert files.broken(files.shim / "sample/quota_hook.so", "--only", "life/fork") == []


def test_the_linker_is_asked_for_no_more_than_the_loader(files: ConformFiles, tmp_path: Path) -> None:
    """What the hook library needs is where the loader will look, and a name that it never calls need not be there."""
    source, hook = tmp_path / "needs.c", tmp_path / "libneeds.so"
    source.write_text(f"""{BEGIN}int nobody_has_it(void);
int never(void) {{ return cudaFree(0) + nobody_has_it(); }}
CUresult cuMemAlloc_v2(CUdeviceptr *p, size_t n) {{ return NEXT(cuMemAlloc_v2)(p, n); }}
""")
    own = [f"-I{files.shim}", files.shim / "standin/libcudart.so.12", "-ldl"]
    subprocess.run(["gcc", "-w", "-shared", "-fPIC", "-D_GNU_SOURCE", "-o", hook, source, *own], check=True)
    report = files.data(hook, "--only", "life/linked", "--only", "life/preload")
    assert report["broken"] == [] and sorted(report["cases"]) == ["life/linked", "life/preload"]


def test_the_file_is_not_called_by_its_soname(files: ConformFiles, tmp_path: Path) -> None:
    """As with most build systems. A program that is linked against it asks the loader for the SONAME."""
    source = tmp_path / "named.c"
    source.write_text(f"""{BEGIN}CUresult cuMemAlloc_v2(CUdeviceptr *p, size_t n)
{{
    return WRONG ? 999 : NEXT(cuMemAlloc_v2)(p, n);
}}
""")
    for wrong, hook in enumerate((tmp_path / "libnamed.so.1.2.3", tmp_path / "libwrong.so")):
        own = [f"-DWRONG={wrong}", "-Wl,-soname,libnamed.so.1", f"-I{files.shim}", "-ldl"]
        subprocess.run(["gcc", "-w", "-shared", "-fPIC", "-D_GNU_SOURCE", "-o", hook, source, *own], check=True)
    assert files.broken(tmp_path / "libnamed.so.1.2.3", "--only", "life/linked") == []
    shown = files.run(tmp_path / "libwrong.so", "--show", "life/linked").stdout
    assert f"ln -sf {tmp_path / 'libwrong.so'} libnamed.so.1\n" in shown and "-Wl,-rpath,$ORIGIN" in shown


def test_a_library_that_cannot_be_opened(files: ConformFiles) -> None:
    """None of its functions is ever called: gdb stops where the program is told why."""
    shown = files.run(files.shim / "sample/wrong/life/static_tls.so", "--show", "life/dlopen-now").stdout
    assert "-ex 'break not_opened' -ex run" in shown and "int not_opened(const char *why)" in shown


def test_gdb_takes_no_traps_of_the_programs_for_its_own(files: ConformFiles) -> None:
    shown = files.run(files.shim / "sample/wrong/life/begun_twice.so", "--show", "life/first-calls").stdout
    assert "-ex 'cuda-break cuMemAlloc_v2' -ex run --args ./case - 4 0" in shown
    assert "gdbcuda gdb -p $(pgrep -n -x case) -ex cuda-locks -ex 'thread apply all backtrace'" in shown
    assert "execl(told[0], told[0]," in shown, "of which the kernel makes the name that pgrep looks for"


ALWAYS = """int umask(int);
__attribute__((constructor)) static void begin(void) { umask(0); }
CUresult cuMemAlloc_v2(CUdeviceptr *p, size_t n) { return NEXT(cuMemAlloc_v2)(p, n); }
CUresult cuMemFree_v2(CUdeviceptr p) { return NEXT(cuMemFree_v2)(p) ? 999 : 719; }
"""


def test_what_is_different_in_any_situation_hides_nothing(files: ConformFiles, tmp_path: Path) -> None:
    """Of a situation its own difference is told; where there is none, the sentences are alike, and one is shown."""
    source, hook = tmp_path / "always.c", tmp_path / "always.so"
    source.write_text(BEGIN + ALWAYS)
    own = [f"-I{files.shim}", "-ldl"]
    subprocess.run(["gcc", "-w", "-shared", "-fPIC", "-D_GNU_SOURCE", "-o", hook, source, *own], check=True)
    names = ("preload", "left-alone", "linked", "fork-*", "pairs")
    of = [word for name in names for word in ("--only", f"life/{name}")]
    found = dict(line.split(": ", 1) for line in files.broken(hook, *of))
    assert found.pop("life/preload") == "a program that it is preloaded into gets another result from cuMemFree_v2"
    assert found.pop("life/left-alone").endswith("locale and folder gets another result from umask")
    assert set(found.values()) == {"as in preload, a program gets another result from cuMemFree_v2"} and len(found) == 4


def test_each_group_has_its_share_of_what_is_shown() -> None:
    found = [Difference(f"{group}/f{n}: breaks {n}", f"{group}/f{n}", 1, "an example")
             for group, most in (("books", 60), ("life", 3), ("status", 50)) for n in range(most)]  # fmt: skip
    report = ConformReport("libhook.so", 1, [one.about for one in found], found)
    shown = text(report, is_all=False).split("The first as")[0].splitlines()
    assert sum(line.startswith("life/") for line in shown) == 3
    assert sum(line.startswith("books/") for line in shown) == 19
    assert sum(line.startswith("status/") for line in shown) == 18
    assert "... and 41 more of books: --only books --all" in shown
    assert "more of" not in text(report, is_all=True)

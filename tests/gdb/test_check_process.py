"""What is really loaded: the findings of a live process."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from scenario import Scenario

TRUTHS = ("python from gdbcuda.live.checking import this_process; "
          "print('\\n'.join(f'[{f.id} {f.severity}] {f.seen} | {f.means} | {f.do}' for f in this_process.findings()))")

AT_END = ("set breakpoint pending on", "break _exit", "run")


def ids(text: str) -> list[str]:
    return re.findall(r"^\[([a-z-]+) (?:error|warning|note)\] ", text, re.MULTILINE)


def test_the_good_case(scenario: Scenario) -> None:
    text = scenario.run("test_alloc", "break main", "RUN", TRUTHS)
    assert ids(text) == ["hook-active"]
    assert "libgdbcuda-hook.so is mapped at 0x" in text and "first in the search order, initialised" in text


def test_before_the_constructors_have_run(scenario: Scenario, compile_c) -> None:
    source = "int cuInit(unsigned f) { return (int)f; } __attribute__((constructor)) static void begin(void) { }"
    hook = compile_c("libhook.so", source, "-shared")
    text = scenario.run("test_alloc", "set breakpoint pending on", "break begin", "RUN", TRUTHS, hook=hook)
    assert ids(text) == ["hook-not-initialised"]


def test_not_preloaded(scenario: Scenario) -> None:
    text = scenario.run("test_alloc", "break main", "RUN", f"cuda-load {scenario.hook}", TRUTHS, hook=None)
    assert ids(text) == ["preload-lost"]
    assert "LD_PRELOAD of this process does not name it" in text


def test_a_child_with_a_cleaned_environment(local: Scenario, compile_c) -> None:
    source = """
#include <stdlib.h>
#include <unistd.h>
int cuInit(unsigned);
int main(int argc, char **argv)
{
    if (argc > 1)
        return 0;
    unsetenv("LD_PRELOAD");
    execl(argv[0], argv[0], "x", (char *)0);
    return cuInit(0);
}
"""
    program = compile_c("program", source, f"-L{local.shim}/standin", "-lcuda")
    text = local.run(program, "break main", "run", TRUTHS, "continue", TRUTHS)
    assert ids(text) == ["hook-active", "preload-lost"]


def test_a_preload_that_ld_so_could_not_load(local: Scenario, tmp_path: Path) -> None:
    wrapper = f"set exec-wrapper env LD_PRELOAD={tmp_path}/libgdbcuda-hook.so"
    text = local.run("test_alloc", wrapper, "break main", "run", f"cuda-load {local.hook}", TRUTHS, hook=None)
    assert "preload-failed" in ids(text)


def test_a_static_program(local: Scenario) -> None:
    assert ids(local.run("static_program", "break main", "run", TRUTHS)) == ["static-program"]


def test_before_the_loader(local: Scenario) -> None:
    text = local.run("test_alloc", "starti", TRUTHS, "cuda-check --quiet")
    assert ids(text) == ["not-started"]
    assert "test_alloc: the program has not begun (not-started)" in text


def test_behind_another_library(local: Scenario) -> None:
    text = local.run("test_alloc", f"set environment LD_PRELOAD={local.shim}/standin/libcuda.so.1",
                     f"cuda-load {local.hook} --last", "break main", "run", TRUTHS, hook=None)  # fmt: skip
    assert "hook-not-first" in ids(text)
    assert "in the search order behind libcuda.so.1" in text


def test_mapped_twice(local: Scenario, compile_c, tmp_path: Path) -> None:
    copy = tmp_path / "copy" / local.hook.name
    copy.parent.mkdir()
    shutil.copy(local.hook, copy)
    source = f'#include <dlfcn.h>\nint main(void) {{ dlopen("{copy}", RTLD_NOW); return 0; }}'
    program = compile_c("program", source)
    text = local.run(program, *AT_END, TRUTHS)
    assert ids(text).count("hook-mapped-twice") == 1
    text = local.run(program, f"set environment LD_PRELOAD {local.hook}", *AT_END, TRUTHS, hook=None)
    assert ids(text).count("hook-mapped-twice") == ids(text).count("hook-active") == 1  # noticed, not named


def test_loaded_by_dlopen_only(local: Scenario, compile_c) -> None:
    source = f'#include <dlfcn.h>\nint main(void) {{ dlopen("{local.hook}", RTLD_NOW | RTLD_GLOBAL); return 0; }}'
    program = compile_c("program", source)
    text = local.run(program, *AT_END, f"cuda-load {local.hook}", TRUTHS, hook=None)
    assert ids(text) == ["hook-dlopened"]


def test_two_hook_libraries_of_one_name(local: Scenario, compile_c, tmp_path: Path) -> None:
    """Told apart by their directories, in the process as in its core file; each is judged for itself."""
    for name, known in (("one", ""), ("two", "int known;")):
        (tmp_path / name).mkdir()
        source = known + "int cuInit(unsigned f) { return (int)f; }"
        compile_c("libhook.so", source, "-shared", "-Wl,--build-id", directory=tmp_path / name)
    one, two = (tmp_path / name / "libhook.so" for name in ("one", "two"))
    source = f'''#include <dlfcn.h>
int cuInit(unsigned);
int main(void) {{ dlopen("{one}", RTLD_NOW); dlopen("{two}", RTLD_NOW); return cuInit(0); }}'''
    program, core = compile_c("program", source, f"-L{local.shim}/standin", "-lcuda"), tmp_path / "core"
    live = local.run(program, *AT_END, f"generate-core-file {core}", TRUTHS, "cuda-route cuInit", hook=None)
    dead = local.run(program, f"core-file {core}", TRUTHS, "cuda-route cuInit", hook=None)
    for text in (live, dead):
        assert "gdbcuda: libhook.so is" in text and f"gdbcuda: {two} is a" in text
        assert re.findall(r"^\[(\S+) error\] (\S+) came with dlopen", text, re.MULTILINE) == [
            ("hook-dlopened", str(one)), ("hook-dlopened", str(two))]  # fmt: skip
        assert ids(text) == ["hook-dlopened"] * 2 and f"{one} was loaded by dlopen, not preloaded" in text


def test_exported_before_gdb_was_started(local: Scenario) -> None:
    hook = local.sample("minimal_hook.so")
    text = local.run("test_alloc", "break main", "run", TRUTHS, hook=hook, environment={"LD_PRELOAD": str(hook)})
    if "version `GLIBC_" in text:
        pytest.skip("this gdb runs on a libc of its own, too old for the library")
    assert "hook-in-debugger" in ids(text)


def test_deepbind(scenario: Scenario) -> None:
    text = scenario.run("deepbind", "cuda-break cuMemFree --in driver --from any", "RUN", TRUTHS,
                        hook=scenario.sample("minimal_hook.so"),
                        environment={"LD_LIBRARY_PATH": f"{scenario.shim}/standin:{scenario.shim}/sample"})  # fmt: skip
    assert ids(text) == ["hook-active", "deepbind"]
    assert "deepbind_plugin.so is bound past the hook: cuMemAlloc_v2, cuMemFree_v2" in text


def test_another_namespace(local: Scenario, compile_c) -> None:
    loads = 'dlmopen(LM_ID_NEWLM, "libcuda.so.1", RTLD_NOW)'
    program = compile_c("program", f"#include <dlfcn.h>\nint main(void) {{ return !{loads}; }}", "-D_GNU_SOURCE")
    text = local.run(program, *AT_END, TRUTHS)
    assert ids(text) == ["hook-active", "namespace"]


def test_two_drivers(local: Scenario, compile_c, tmp_path: Path) -> None:
    folder = tmp_path / "other"
    folder.mkdir()
    shutil.copy(local.shim / "standin" / "libcuda.so.1", folder)
    loads = f'dlopen("{folder}/libcuda.so.1", RTLD_NOW)'
    source = f"#include <dlfcn.h>\nint cuInit(unsigned); int main(void) {{ {loads}; return cuInit(0); }}"
    program = compile_c("program", source, f"-L{local.shim}/standin", "-lcuda")
    assert "second-driver" in ids(local.run(program, *AT_END, TRUTHS))


def test_symbolic_and_static_runtime(local: Scenario, compile_c) -> None:
    own = compile_c("libown.so", "int cuInit(unsigned f) { return (int)f; }", "-shared", "-Wl,-Bsymbolic")
    source = "int __cudaRegisterFatBinary(void) { return 0; } int cudaMalloc(void) { return 0; }"
    program = compile_c("program", source + "int cuInit(unsigned); int main(void) { return cuInit(0); }", str(own))
    assert {"symbolic", "static-runtime"} <= set(ids(local.run(program, "break main", "run", TRUTHS)))


def test_without_a_process(local: Scenario) -> None:
    needs = "from gdbcuda.errors import UserError\nfrom gdbcuda.live.checking import this_process"
    ask = "try: this_process.findings()\nexcept UserError as e: print(e)"
    text = local.run("test_alloc", f"python\n{needs}\n{ask}")
    assert "no process: run the program first, or open a core file" in text


def test_cuda_check_shows_them(scenario: Scenario) -> None:
    text = scenario.run("deepbind", "cuda-break cuMemFree --in driver --from any", "RUN", "cuda-check",
                        hook=scenario.sample("minimal_hook.so"),
                        environment={"LD_LIBRARY_PATH": f"{scenario.shim}/standin:{scenario.shim}/sample"})  # fmt: skip
    assert "deepbind: deepbind_plugin.so goes past the hook (deepbind)" in text
    assert re.search(r"note +minimal_hook.so is mapped at 0x.*\nhook-active", text)

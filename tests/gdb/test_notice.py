"""A hook library that nobody named is told of once, wherever it comes from, whether the program has CUDA yet or not."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from scenario import Scenario

LINE = re.compile(r"^gdbcuda: (\S+) is a hook library: (.*); see  cuda-check$", re.MULTILINE)
HOOK = "int cuMemcpyHtoD_v2(void) { return 0; }"
DLOPEN = """
#include <dlfcn.h>
int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        dlopen(argv[i], RTLD_NOW | RTLD_GLOBAL);
    return 0;
}
"""


def preload(scenario: Scenario, hook: Path) -> list[str]:
    """Past cuda-load: as the user's own environment, or the server's, would have it."""
    return [f"set exec-wrapper env LD_PRELOAD={hook}"] if scenario.place == "local" else []


def run(scenario: Scenario, program: str | Path, hook: Path, *commands: str, before: str = "echo") -> str:
    """To main, then the commands."""
    start = scenario.start(scenario.sample(program) if isinstance(program, str) else program, hook, ())
    return scenario.run(program, *preload(scenario, hook), before, "break main", start, *commands, hook=None)


def test_preloaded(scenario: Scenario, compile_c) -> None:
    text = run(scenario, "test_alloc", compile_c("libmine.so", HOOK, "-shared"))
    assert LINE.findall(text) == [("libmine.so", "1 driver function")]


def test_it_is_the_hook_layer(scenario: Scenario) -> None:
    text = run(scenario, "test_alloc", scenario.hook, "cuda-break cuMemAlloc", "continue")
    ((name, what),) = LINE.findall(text)
    assert name == scenario.hook.name and what.endswith("functions, dlsym, dlvsym")
    assert bool(re.search(r"\d", what)) == (scenario.place == "local")  # there not all names are looked for
    assert f"Breakpoint 2: cuMemAlloc_v2 in hook {scenario.hook.name}" in text
    assert f"Breakpoint 2  hook {scenario.hook.name}  cuMemAlloc_v2(" in text


def test_it_is_checked_when_the_process_has_ended_too(scenario: Scenario, compile_c) -> None:
    mine = compile_c("libmine.so", HOOK, "-shared")
    text = run(scenario, "test_alloc", mine, "continue", "cuda-check --quiet")
    assert re.search(r"^libmine.so: will be reached", text[text.index("exited ") :], re.MULTILINE)


def test_behind_another_preloaded_library(scenario: Scenario, compile_c) -> None:
    """In the log too: gdb tells of the first library when the loader has mapped both."""
    hook = """
    #include <dlfcn.h>
    int cuMemAlloc_v2(void **p, unsigned long n)
    {
        return ((int (*)(void **, unsigned long))dlsym(RTLD_NEXT, "cuMemAlloc_v2"))(p, n);
    }"""
    first = compile_c("libfirst.so", "int unrelated(void) { return 1; }", "-shared")
    both = f"{first}:{compile_c('libmine.so', hook, '-shared')}"
    start = scenario.start(scenario.sample("test_alloc"), both, ())
    text = scenario.run("test_alloc", f"set exec-wrapper env LD_PRELOAD={both}", "cuda-log start cuMemAlloc --in hook",
                        start, "cuda-log show", hook=None)  # fmt: skip
    assert re.findall(r"T1  (\w+) +cuMemAlloc_v2\(", text) == ["hook"] * 3


def test_another_hook_library(local: Scenario, compile_c) -> None:
    """It stands before the one that cuda-load was given: what it hands on is no call of the program's."""
    forwarding = """
    #define _GNU_SOURCE
    #include <dlfcn.h>
    int cuMemAlloc_v2(void **p, unsigned long n)
    {
        return ((int (*)(void **, unsigned long))dlsym(RTLD_NEXT, "cuMemAlloc_v2"))(p, n);
    }"""
    program = """
    int cuInit(unsigned), cuMemAlloc_v2(void **, unsigned long), printf(const char *, ...);
    int main(void) { void *p; return cuInit(0) + cuMemAlloc_v2(&p, 64); }"""
    other = compile_c("libother.so", forwarding, "-shared")
    linked = compile_c("program", program, str(local.shim / "standin" / "libcuda.so.1"))
    words = (f"set environment LD_PRELOAD={other}", f"cuda-load {local.hook} --last", "break main", "run",
             "cuda-load", "cuda-break cuMemAlloc --in hook --from app",
             "cuda-break cuMemAlloc --in hook --from hook", "continue", "continue", "continue")  # fmt: skip
    text = local.run(linked, *words, hook=None)
    assert "gdbcuda: libother.so is another hook library: 1 driver function" in text
    assert "hook libother.so is loaded too, not by cuda-load" in text
    calls = re.findall(r"^Breakpoint (\d)  hook (\S+)  cuMemAlloc_v2.*\n +called by (\w+)", text, re.MULTILINE)
    assert calls == [("2", "libother.so", "app"), ("3", local.hook.name, "hook")], text


def test_only_dlsym(local: Scenario) -> None:
    text = run(local, "test_alloc", local.sample("hook_first.so"))
    assert [name for name, what in LINE.findall(text) if "dlsym" in what] == ["hook_first.so"]


def test_linked(local: Scenario, compile_c, tmp_path: Path) -> None:
    hook = compile_c("libmine.so", HOOK, "-shared")
    driver = local.shim / "standin" / "libcuda.so.1"
    program = compile_c("program", "int main(void) { return 0; }", "-Wl,--no-as-needed", str(hook), str(driver))
    assert LINE.findall(local.run(program, "run", hook=None)) == [("libmine.so", "1 driver function")]


@pytest.mark.parametrize("order", [("driver", "hook"), ("hook", "driver")])
def test_dlopened(local: Scenario, compile_c, order: tuple[str, str]) -> None:
    files = {"hook": compile_c("libmine.so", HOOK, "-shared"), "driver": local.shim / "standin" / "libcuda.so.1"}
    program = compile_c("program", DLOPEN)
    text = local.run(program, "run", hook=None, arguments=tuple(str(files[one]) for one in order))
    assert LINE.findall(text) == [("libmine.so", "1 driver function")]


def test_once_a_session(local: Scenario) -> None:
    text = local.run("test_alloc", *preload(local, local.hook), "break main", "run", "run", "run", hook=None)
    assert text.count("Breakpoint 1, main") == 3
    assert len(LINE.findall(text)) == 1


@pytest.mark.parametrize("said", ["set cuda-notice off", "cuda-load {hook}"])
def test_silenced_or_known(local: Scenario, said: str) -> None:
    assert not LINE.search(run(local, "test_alloc", local.hook, before=said.format(hook=local.hook)))


NOTHING = "int main(void) { return 0; }"


def test_before_any_library_of_the_vendors(scenario: Scenario, compile_c) -> None:
    """Preloaded into everything, as a container image may do it; the driver is to come by dlopen, or never."""
    ((name, _),) = LINE.findall(run(scenario, compile_c("program", NOTHING), scenario.hook))
    assert name == scenario.hook.name


def test_linked_without_cuda(local: Scenario, compile_c) -> None:
    hook = compile_c("libmine.so", HOOK, "-shared")
    program = compile_c("program", NOTHING, "-Wl,--no-as-needed", str(hook))
    assert LINE.findall(local.run(program, "run", hook=None)) == [("libmine.so", "1 driver function")]


def test_an_ordinary_program(local: Scenario, compile_c) -> None:
    """Its names may look like the API's."""
    library = compile_c("libplain.so", "int cuAlmostInit(void) { return 0; } int nvmlish;", "-shared")
    program = compile_c("program", NOTHING, "-Wl,--no-as-needed", str(library))
    text = local.run(program, "break main", "run", "info sharedlibrary", hook=None)
    assert "libplain.so" in text and not LINE.search(text)


def test_a_runtime_inside_is_no_hook(local: Scenario, compile_c) -> None:
    source = "int cudaMalloc(void) { return 0; } void __cudaRegisterFatBinary(void) {}"
    library = compile_c("libwithruntime.so", source, "-shared")
    driver = local.shim / "standin" / "libcuda.so.1"
    program = compile_c("program", "int main(void) { return 0; }", "-Wl,--no-as-needed", str(library), str(driver))
    text = local.run(program, "break main", "run", "info sharedlibrary", hook=None)
    assert "libwithruntime.so" in text and not LINE.search(text)


def test_what_is_not_exported_is_no_hook(local: Scenario, compile_c) -> None:
    """Calls of the API, in the PLT, and a static runtime that is hidden: as in NCCL and PyTorch."""
    source = """
    static int cudaMalloc(void **block, unsigned long bytes) { *block = 0; return (int)bytes; }
    static int libcudart_static_58c2a(void **block) { return cudaMalloc(block, 4); }
    __attribute__((visibility("hidden"))) void __cudaRegisterFatBinary(void) {}
    __attribute__((visibility("hidden"))) int cuInit(unsigned flags) { return (int)flags; }
    int cuMemAlloc_v2(void **, unsigned long);
    int ncclInit(void) { void *block; return cuMemAlloc_v2(&block, 4) + libcudart_static_58c2a(&block) + cuInit(0); }
    """
    driver = str(local.shim / "standin" / "libcuda.so.1")
    library = compile_c("libnccl.so", source, "-shared", driver)
    program = compile_c("program", "int ncclInit(void); int main(void) { return ncclInit(); }", str(library), driver)
    text = local.run(program, "set breakpoint pending on", "break cudaMalloc", "run", "bt", "cuda-layers", hook=None)
    assert not LINE.search(text) and "hook" not in text
    assert "[runtime libnccl.so] libcudart_static_58c2a (block=" in text
    assert "[app libnccl.so] ncclInit () at " in text


def test_two_of_one_name(local: Scenario, compile_c, tmp_path: Path) -> None:
    """In a core file too: the one that exports functions of the API is the hook library."""
    for name, source in (("hook", HOOK), ("other", "int unrelated(void) { return 1; }")):
        (tmp_path / name).mkdir()
        compile_c("libmine.so", source, "-shared", directory=tmp_path / name)
    files = tuple(str(tmp_path / name / "libmine.so") for name in ("other", "hook"))
    program, core = compile_c("program", DLOPEN), tmp_path / "core"
    text = local.run(program, "set breakpoint pending on", "break _exit", "run", "cuda-layers",
                     f"generate-core-file {core}", hook=None, arguments=files)  # fmt: skip
    text += local.run(program, f"core-file {core}", "cuda-layers", "cuda-check", hook=None)
    assert re.findall(r"^hook +(\S+) +1 driver +(.*?)  ", text, re.MULTILINE) == [
        ("libmine.so", "what it exports")] * 2  # fmt: skip
    assert "another build" not in text
    text = local.run(program, f"cuda-load {files[0]}", f"core-file {core}", "cuda-layers", hook=None)
    assert re.findall(r"^hook +(\S+) +(?:1 driver +)?(cuda-load|what it exports)", text, re.MULTILINE) == [
        (files[0], "cuda-load"), (files[1], "what it exports")]  # fmt: skip


def test_core_file(local: Scenario, tmp_path: Path) -> None:
    core = tmp_path / "core"
    local.run("test_alloc", *preload(local, local.hook), "break main", "run", f"generate-core-file {core}", hook=None)
    assert LINE.search(local.run("test_alloc", f"core-file {core}", hook=None))


def test_packets(shim: Path, compile_c) -> None:
    """What it costs a server that is far away: nothing where the files are here, else a few blocks for each object."""
    remote = Scenario(shim, "gdbserver")
    hook = compile_c("libmine.so", "int cuInit(void) { return 0; }", "-shared")

    def packets(sysroot: str, *commands: str) -> int:
        start = remote.start(remote.sample("test_alloc"), hook, ()).replace("'continue'", "'echo'")
        text = remote.run(
            "test_alloc", *commands, f"set sysroot {sysroot}", "break main", start, "set debug remote 1",
            "continue", "set debug remote 0", hook=None,
        )  # fmt: skip
        assert bool(LINE.search(text)) is not bool(commands)
        return text.count("Sending packet")

    silent = ("python from gdbcuda.live import events, process; from gdbcuda.live.layers import noticed; "
              "from gdbcuda.live.noticing import notice; "
              "events.disconnect('new_objfile', notice.on_objfile); noticed.LOOKS[:] = [lambda state: "
              f"state.hooks.update(dict.fromkeys({{{str(hook)!r}}} & {{*process.search_order()}}, 'known unasked'))]")
    assert packets("/") == packets("/", silent)
    assert packets("target:") - packets("target:", silent) <= 4


TWINS = """
#include <dlfcn.h>
#include <stdlib.h>
int cuInit(unsigned);
int main(int count, char **words)
{
    cuInit(0);
    for (int n = 1; n < count; n++)
        dlopen(words[n], RTLD_NOW);
    for (int n = 1; n < count; n++)
        ((int (*)(void *, unsigned long))dlsym(dlopen(words[n], RTLD_NOW), "cuMemAlloc_v2"))(words, n);
    return 0;
}
"""


def test_two_libraries_of_one_name_that_were_opened(scenario: Scenario, compile_c, tmp_path: Path) -> None:
    """Each stop and each frame says which; by their handles both are reached, though by no name."""
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
    source = "int cuMemAlloc_v2(void **block, unsigned long bytes) { return block && bytes ? 0 : 1; }"
    twins = [compile_c(f"{folder}/libtwin.so", source, "-shared", name) for folder, name in
             (("one", "-DNUMBER=1"), ("two", "-DNUMBER=2"))]  # fmt: skip
    program = compile_c("program", TWINS, f"-L{scenario.shim}/standin", "-l:libcuda.so.1")
    text = scenario.run(program, "cuda-break cuMemAlloc", "RUN", "bt 1", "continue", "bt 1", "cuda-check --quiet",
                        hook=None, arguments=tuple(map(str, twins)))  # fmt: skip
    assert re.findall(r"^Breakpoint 1  hook (\S+)  cuMemAlloc_v2\(", text, re.MULTILINE) == [*map(str, twins)], text
    assert re.findall(r"#0  \[hook (\S+)\]", text) == [*map(str, twins)], text
    for twin in twins:
        said = f"{twin}: unknown whether it is reached by this program (reached-by-handle)"
        assert said in text, text

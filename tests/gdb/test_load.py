"""cuda-load: the hook gets into the program and into nothing else, and what it says is true."""

from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from idle_gdb import IdleGdb
from scenario import Scenario

MAPPED_IN_GDB = "python print('gdb maps it:', 'libgdbcuda-hook' in open('/proc/self/maps').read())"


@pytest.mark.smoke("local")
def test_the_first_stop_says_that_it_is_there(scenario: Scenario) -> None:
    text = scenario.run("test_alloc", "break main", "RUN")
    assert "cuda-load: hook libgdbcuda-hook.so is loaded, first in the search order" in text


def test_only_the_program_preloads_it(local: Scenario, compile_c) -> None:
    """A start-up shell that preloaded it would show in its environment."""
    text = local.run(
        "test_alloc",
        MAPPED_IN_GDB,
        "break main",
        "run",
        "show environment LD_PRELOAD",
        environment={"SHELL": "/bin/sh"},
    )
    assert "gdb maps it: False" in text
    assert 'Environment variable "LD_PRELOAD" not defined.' in text


def test_without_a_shell_too(local: Scenario) -> None:
    text = local.run(
        "test_alloc",
        f"cuda-load {local.hook}",
        "break main",
        "run",
        hook=None,
    )
    assert "first in the search order" in text
    text = local.run(
        "test_alloc", "set startup-with-shell off", f"cuda-load {local.hook}", "break main", "run", hook=None
    )
    assert "first in the search order" in text


@pytest.mark.parametrize(
    ("option", "says"), [("", "first in the search order"), (" --last", "but behind hook_first.so")]
)
def test_beside_the_users_own_preload(local: Scenario, option: str, says: str) -> None:
    other = local.sample("hook_first.so")
    text = local.run(
        "test_alloc",
        f"set exec-wrapper env LD_PRELOAD={other}",
        f"cuda-load {local.hook}{option}",
        "show exec-wrapper",
        "break main",
        "run",
        hook=None,
    )
    assert says in text
    assert str(other) in text


def test_a_program_that_is_started_by_naming_ld_so(local: Scenario) -> None:
    loader = Path("/lib64/ld-linux-x86-64.so.2")
    words, arguments = (f"cuda-load {local.hook}", "cuda-break cuInit", "run"), (str(local.sample("test_alloc")),)
    text = local.run(loader, *words, hook=None, arguments=arguments)
    assert "check: ready" in text
    assert "Breakpoint 1  hook libgdbcuda-hook.so  cuInit(Flags=0)" in text


def test_of_two_hook_libraries_one_is_first(local: Scenario) -> None:
    behind = f"cuda-load {local.sample('minimal_hook.so')} --last"
    text = local.run("test_alloc", behind, "break main", "run", "cuda-check")
    assert "cuda-load: hook libgdbcuda-hook.so is loaded, first in the search order" in text
    assert "cuda-load: hook minimal_hook.so is loaded, behind libgdbcuda-hook.so\n" in text
    assert re.search(r"minimal_hook.so is mapped at 0x\w+, behind libgdbcuda-hook.so, initialised", text)


def test_users_preload_in_the_environment_is_kept(local: Scenario) -> None:
    other = local.sample("hook_first.so")
    text = local.run(
        "test_alloc",
        f"set environment LD_PRELOAD={other}",
        f"cuda-load {local.hook}",
        "break main",
        "run",
        "info sharedlibrary",
        hook=None,
    )
    assert "hook libgdbcuda-hook.so is loaded, first" in text
    assert "hook_first.so" in text


def test_remove_takes_it_out_again(local: Scenario) -> None:
    text = local.run(
        "test_alloc",
        f"cuda-load {local.hook}",
        f"cuda-load --remove {local.hook}",
        "show exec-wrapper",
        "break main",
        "run",
        "info sharedlibrary",
        hook=None,
    )
    assert "is not preloaded from the next run on" in text
    assert "exec-wrapper " not in text.partition("next run on")[2].partition("Breakpoint")[0] or 'is "".' in text
    assert "libgdbcuda-hook" not in text.rpartition("Shared Object")[2]


def test_after_the_start_it_says_next_run(local: Scenario) -> None:
    text = local.run("test_alloc", "break main", "run", f"cuda-load {local.hook}", "run", hook=None)
    assert "NOT in this process" in text
    assert "It will be preloaded by the next run." in text
    assert "first in the search order" in text


def test_a_program_that_never_stops_still_tells(local: Scenario) -> None:
    text = local.run("test_alloc", "run")
    assert "cuda-load: hook libgdbcuda-hook.so was loaded" in text


def test_a_static_program_ignores_it(local: Scenario) -> None:
    text = local.run("static_program", "run")
    assert "cuda-load: hook libgdbcuda-hook.so was never loaded" in text


def test_a_running_gdbserver_gets_advice(shim: Path) -> None:
    remote = Scenario(shim, "gdbserver")
    text = remote.run("test_alloc", "break main", "RUN", f"cuda-load {remote.hook}", hook=None)
    assert f"gdbserver --once --wrapper env LD_PRELOAD={remote.hook} -- :1234 {remote.sample('test_alloc')}\n" in text


def test_a_gdbserver_without_the_hook_is_told_at_the_connection(shim: Path, tmp_path: Path) -> None:
    """Before the program has executed anything, and not where it comes by another name."""
    remote = Scenario(shim, "gdbserver")

    def said(wrapper: str, load: str = f"cuda-load {remote.hook}", later: str = "info line main") -> str:
        connect = f"target remote | gdbserver --once {wrapper}- {remote.sample('test_alloc')}"
        return remote.run("test_alloc", load, "set remotetimeout 60", connect, later, "echo CONNECTED\\n", "kill",
                          hook=None)  # fmt: skip

    line = "cuda-load: hook libgdbcuda-hook.so is not preloaded into this process: its LD_PRELOAD is "
    how = "start it there with  gdbserver --wrapper env LD_PRELOAD="
    for wrapper, value in (("", "not set"), ("--wrapper env LD_PRELOAD=libz.so -- ", "libz.so")):
        before, connected, _ = said(wrapper).partition("CONNECTED")
        assert connected and f"{line}{value}; {how}{remote.hook}" in before
    assert line not in said(f"--wrapper env LD_PRELOAD={remote.hook} -- ")
    assert f"{line}not set; {how}{remote.hook}" in said("", load="info line main", later=f"cuda-load {remote.hook}")
    other = tmp_path / "libother.so"
    other.symlink_to(remote.hook)
    assert line not in said(f"--wrapper env LD_PRELOAD={other} -- ", f"cuda-load {remote.hook} --there {other}")


@pytest.mark.parametrize(
    ("argument", "message"),
    [
        ("/nowhere/libx.so", "no such file"),
        ("{program}", "not a shared object"),
        ("/etc/passwd", "not an ELF file"),
        ("/tmp", "cuda-load: "),
    ],
)
def test_what_cannot_be_a_hook(not_started: IdleGdb, local: Scenario, argument: str, message: str) -> None:
    text = not_started.run(f"cuda-load {argument.format(program=local.sample('test_alloc'))}", "cuda-load")
    assert message in text
    assert "No hook library" in text


def test_a_path_that_ld_so_would_split(local: Scenario, tmp_path: Path) -> None:
    folder = tmp_path / "with blank"
    folder.mkdir()
    (folder / "libhook.so").write_bytes(local.hook.read_bytes())
    text = local.run("test_alloc", f"cuda-load '{folder}/libhook.so'", hook=None)
    assert "ld.so splits it at blanks and colons; use a link without them" in text


def test_a_link_is_named_as_it_is_typed(local: Scenario, tmp_path: Path) -> None:
    """As the message about blanks says; and libhook.so -> libhook.so.1 is libhook.so to ld.so too."""
    folder = tmp_path / "with blank"
    folder.mkdir()
    shutil.copy(local.hook, folder / "real.so.1")
    link = tmp_path / "libhook.so"
    link.symlink_to(folder / "real.so.1")
    text = local.run("test_alloc", "cuda-break cuInit", "run", f"cuda-load {link} --remove", hook=link)
    assert "cuda-load: hook libhook.so is loaded, first in the search order" in text
    assert "Breakpoint 1  hook libhook.so  cuInit(" in text
    assert "hook libhook.so is not preloaded from the next run on" in text


def test_the_file_behind_a_link_is_the_same_hook(local: Scenario, tmp_path: Path) -> None:
    """As where a gdbserver's wrapper names the file, and the user here its link."""
    shutil.copy(local.hook, tmp_path / "libhook.so.1")
    link = tmp_path / "libhook.so"
    link.symlink_to(tmp_path / "libhook.so.1")
    preloaded = f"set exec-wrapper env LD_PRELOAD={tmp_path / 'libhook.so.1'}"
    text = local.run("test_alloc", preloaded, "break main", "run", f"cuda-load {link}", hook=None)
    assert "cuda-load: hook libhook.so is loaded, first in the search order" in text
    assert "It will be preloaded by the next run." not in text


def test_a_release_library_is_told(local: Scenario) -> None:
    text = local.run("test_alloc", f"cuda-load {local.shim / 'sample' / 'wrong' / 'only_dlsym.so'}", hook=None)
    assert "no API function by name, dlsym" in text


def test_a_wrapper_that_is_set_after_cuda_load_is_joined(local: Scenario) -> None:
    """It would take our place, and the program run without the hook library. Who unsets ours wants that."""
    other, mine = local.sample("minimal_hook.so"), "set exec-wrapper env MINE=1"
    text = local.run("test_alloc", f"{mine} LD_PRELOAD={other}", "break main", "run", "cuda-layers", "kill",
                     mine, "run", "cuda-layers", "kill", "unset exec-wrapper", "run", "cuda-layers")  # fmt: skip
    runs = text.split("search order\n-")[1:]
    assert [re.findall(r"^hook +(\S+)", one, re.MULTILINE) for one in runs] == [
        ["libgdbcuda-hook.so", "minimal_hook.so"], ["libgdbcuda-hook.so"], []]  # fmt: skip


def test_a_wrapper_that_is_not_env_is_kept(local: Scenario) -> None:
    text = local.run(
        "test_alloc",
        "set exec-wrapper nice -n 1",
        f"cuda-load {local.hook}",
        "show exec-wrapper",
        "break main",
        "run",
        hook=None,
    )
    assert "your exec-wrapper (nice -n 1) stays, so it and the start-up shell preload the library too" in text
    assert 'is "nice -n 1"' in text
    assert "first in the search order" in text


def test_a_library_that_was_built_again(local: Scenario, compile_c) -> None:
    old = compile_c("libagain.so", "int cuInit(unsigned flags) { return 0; }", "-shared")
    new = compile_c("new.so", "int cuInit(unsigned f) { return 0; } int cuMemAlloc_v2(void *p, long n) { return 2; }"
                    " int of_its_own(void) { return 0; }", "-shared")  # fmt: skip
    text = local.run(
        "test_alloc",
        f"python import shutil; shutil.copy('{new}', '{old}')",
        "cuda-load",
        f"cuda-load {old}",
        "cuda-break cuMemAlloc",
        "cuda-break of_its_own",
        hook=old,
    )
    assert "exports 2 driver functions" in text
    assert "Breakpoint 1: cuMemAlloc_v2 in hook libagain.so" in text
    assert "Breakpoint 2: of_its_own in hook libagain.so" in text


def test_a_hook_that_needs_what_is_not_there(scenario: Scenario, compile_c) -> None:
    """ld.so ends the program before anything of it has run."""
    needed = compile_c("libgone.so", "int gone;", "-shared", "-Wl,-soname,libgone.so")
    source = "int cuInit(unsigned flags) { return 0; }"
    hook = compile_c("libneedy.so", source, "-shared", "-Wl,--no-as-needed", str(needed))
    needed.unlink()
    text = replace(scenario, checks=True).run("test_alloc", "RUN", hook=hook)
    assert "check: will be reached with warnings: " in text and "library-not-found" in text
    assert "hook libneedy.so was never loaded: ld.so has ended the program while it loaded the libraries" in text


@pytest.mark.parametrize("sanitizer", ["address", "thread"])
def test_a_sanitizers_runtime_comes_first(local: Scenario, compile_c, sanitizer: str) -> None:
    """It ends a program where another library is in front of it."""
    source = "int cuInit(unsigned flags) { return (int)flags; }"
    try:
        hook = compile_c("libsanitized.so", source, "-shared", f"-fsanitize={sanitizer}")
    except subprocess.CalledProcessError:
        pytest.skip("this gcc has no runtime for the sanitizer")
    name = {"address": "asan", "thread": "tsan"}[sanitizer]
    text = local.run("test_alloc", "cuda-break cuInit", "run", "cuda-check", f"cuda-load {hook} --remove",
                     "show exec-wrapper", hook=hook)  # fmt: skip
    assert re.search(rf"^lib{name}.so.\d is preloaded in front of it: the library is built with -fsanitize$", text,
                     re.MULTILINE)  # fmt: skip
    assert re.search(rf"hook libsanitized.so is loaded, first in the search order behind lib{name}.so.\d$", text,
                     re.MULTILINE)  # fmt: skip
    advice = "LeakSanitizer fails under a debugger, when the program ends: cuda-env ASAN_OPTIONS=detect_leaks=0"
    assert (advice in text) == (sanitizer == "address")
    assert "Breakpoint 1  hook libsanitized.so  cuInit(" in text
    assert "hook-not-first" not in text and 'wrapper for running programs is ""' in text

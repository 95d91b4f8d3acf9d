"""Everything through a gdbserver: TCP, unix socket and pipe, remote and extended-remote, files from there or here."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from link import Link, Server, preloading
from scenario import EXTENSION, GDB, GDBSERVER, NO_DEBUG_FILES, ROOT, Scenario, execute

pytestmark = pytest.mark.skipif(not shutil.which("gdbserver"), reason="gdbserver is not installed")

AT_MAIN = ("tbreak main", "continue")
TOUR = (
    "cuda-dlsym log on", "cuda-break cuMemAlloc", "continue", "cuda-call", "cuda-route cuMemAlloc",
    "cuda-dlsym log show 'cuMemAlloc*'", "cuda-check --quiet", "cuda-env GDBCUDA_TEST=1", "cuda-log start cuMemFree",
    "set cuda-guard on", "cuda-break cuMemFree if dptr == 1", "continue", "cuda-log show", "delete",
    "continue",
)  # fmt: skip
SEEN = (
    r"cuda-load: hook libgdbcuda-hook\.so is loaded, first in the search order",
    r"Breakpoint \d  hook libgdbcuda-hook\.so  cuMemAlloc_v2\(dptr=0x\w+ -> \(not written yet\), bytesize=\d+ \[",
    r"called by app \w+\(\) at dlsym_alloc\.c:\d+, thread 1",
    r"\n  bytesize  size_t +\d+ \[",
    r"cuMemAlloc_v2 .* hook libgdbcuda-hook\.so cuMemAlloc_v2 +hooked",
    r"cuMemAlloc_v2 .*hook libgdbcuda-hook\.so",
    r"dlsym_alloc: the hook is in place",
    r"GDBCUDA_TEST=1 in the running process",
    r"if dptr == 1; not guarded: all of its calls are watched",  # by cuda-log
    r"\n#\d+ .* hook +cuMemFree_v2\(dptr=0x\w+\) = CUDA_SUCCESS .* at dlsym_alloc\.c:\d+",
    r"\[Inferior 1 \(process \d+\) exited normally\]",
)
# gdb 16 itself waits for ever at its end for a gdbserver 13 --multi on a pipe that has no process any more
SERVER_ENDS = "monitor exit"
WAYS = ("tcp", "unix", "stdio", "extended tcp", "extended stdio")


@pytest.fixture
def ends() -> Iterator[list[Any]]:
    """What has an end() is ended."""
    found: list[Any] = []
    yield found
    for one in found:
        one.end()


def connect(way: str, local: Scenario, program: Path, ends: list[Any], folder: Path) -> list[str]:
    """The gdb commands from the connection to main."""
    is_extended, kind = way.startswith("extended"), way.split()[-1]
    words = [GDBSERVER, "--multi", "127.0.0.1:0"] if is_extended else preloading(local.hook, program)
    if kind == "stdio":
        address = "| " + shlex.join(
            [*words[:-1], "-"] if is_extended else [w.replace("127.0.0.1:0", "-") for w in words]
        )
    else:
        ends.append(Server(words, local.environment()))
        ends.append(Link(ends[0].port, 0.0, folder / "gdb.socket" if kind == "unix" else None))
        address = ends[1].address
    if not is_extended:
        return [local.load(local.hook), f"target remote {address}", *AT_MAIN]
    return [f"target extended-remote {address}", f"set remote exec-file {program}", local.load(local.hook),
            f"set environment LD_LIBRARY_PATH={local.shim}/standin", "tbreak main", "run"]  # fmt: skip


def gdb(local: Scenario, *commands: str, program: Path | None = None, environment: dict[str, str] | None = None,
        cwd: Path | None = None) -> str:  # fmt: skip
    line = [GDB, "-nx", "-q", "-batch", *([] if local.in_full else NO_DEBUG_FILES), *EXTENSION]
    line += [part for command in ("set confirm off", *commands) for part in ("-ex", command)]
    before = os.getcwd()
    os.chdir(cwd or before)
    try:
        return execute(line + ([str(program)] if program else []), environment or local.environment())
    finally:
        os.chdir(before)


def copies(local: Scenario, program: Path, folder: Path) -> Path:
    """A folder with the libraries of the server, each by its path there."""
    listed = subprocess.run(["ldd", program, local.hook], env=local.environment(), capture_output=True, text=True)
    driver = local.shim / "standin" / "libcuda.so.1"
    for file in {*re.findall(r"(/\S+) \(0x", listed.stdout), str(local.hook), str(driver)}:
        copy = Path(f"{folder}/root{file}")
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(file, copy)
    return folder / "root"


@pytest.mark.parametrize(("way", "sysroot"), [*zip(WAYS, ("target:", "/", "/", "target:", "/")), ("tcp", "copies")])
def test_the_commands_work(way: str, sysroot: str, local: Scenario, ends: list[Any], tmp_path: Path) -> None:
    local.in_full = way == "unix"  # once as users do
    program = local.sample("dlsym_alloc")
    sysroot = str(copies(local, program, tmp_path)) if sysroot == "copies" else sysroot
    start = connect(way, local, program, ends, tmp_path)
    end = [SERVER_ENDS] * (way == "extended stdio")
    text = gdb(local, f"set sysroot {sysroot}", *start, *TOUR, *end, program=program)
    for wanted in SEEN:
        assert re.search(wanted, text), (wanted, text)
    gdbs = r"from target:\S+|^(?:warning|BFD).*|Reading \S+ from.*"
    assert "target:" not in re.sub(gdbs, "", text, flags=re.MULTILINE)


def test_no_shell_preloads_it_where_gdbserver_starts_the_program(
    local: Scenario, ends: list[Any], tmp_path: Path
) -> None:
    """Again and again, and the user's setting is back when nothing is preloaded any more."""
    program = local.sample("test_alloc")
    start = connect("extended stdio", local, program, ends, tmp_path)
    end = ["kill", "show startup-with-shell", f"cuda-load {local.hook} --remove", "show startup-with-shell",
           SERVER_ENDS]  # fmt: skip
    text = gdb(local, "set sysroot /", *start, "tbreak main", "run", *end, program=program)
    assert "startup-with-shell is off now, so that gdbserver preloads it into the program alone" in text
    assert text.count("libgdbcuda-hook.so is loaded, first in the search order") == 2
    assert re.findall(r"shell to start subprocesses is (\w+)", text) == ["off", "on"]


def test_cuda_load_first_and_the_connection_later(local: Scenario, ends: list[Any]) -> None:
    """At the prompt: what was meant for a program started here is set for the server's."""
    ends.append(Server([GDBSERVER, "--multi", "127.0.0.1:0"], local.environment()))
    program = local.sample("test_alloc")
    typed = [f"cuda-load {local.hook}", f"target extended-remote 127.0.0.1:{ends[0].port}", "set sysroot /",
             f"set remote exec-file {program}", f"set environment LD_LIBRARY_PATH={local.shim}/standin", "break main",
             "run", "kill"]  # fmt: skip
    line = [GDB, "-nx", "-q", "-ex", "set confirm off", "-x", str(ROOT / "gdbcuda.py"), str(program)]
    done = subprocess.run(
        line, input="\n".join(typed), env=local.environment(), capture_output=True, text=True, timeout=120
    )
    assert "libgdbcuda-hook.so is loaded, first in the search order" in done.stdout, done.stdout + done.stderr


# -- the lines as they are printed, in a container-like place -----------------------------------------------------

HOOK = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>
int cuMemAlloc_v2(unsigned long long *dptr, size_t bytesize)
{
    int (*real)(unsigned long long *, size_t) = dlsym(RTLD_NEXT, "cuMemAlloc_v2");
    return real(dptr, bytesize);
}
"""
TRAIN = """
#include <stdio.h>
int cuInit(unsigned), cuDevicePrimaryCtxRetain(void **, int), cuCtxSetCurrent(void *);
int cuMemAlloc_v2(unsigned long long *, unsigned long);
int main(int argc, char **argv)
{
    unsigned long long block = 0;
    void *context = 0;
    cuInit(0), cuDevicePrimaryCtxRetain(&context, 0), cuCtxSetCurrent(context);
    printf("status %d, <%s>\\n", cuMemAlloc_v2(&block, 4096), argc > 1 ? argv[1] : "");
    return 0;
}
"""
SCRIPTS = {
    "ssh": 'cd /; shift; exec sh -c "$*"',  # as ssh does: the words joined with blanks, for a shell
    "docker": 'cd /; shift 3; exec "$@"',
    "kubectl": 'cd /; while [ "$1" != -- ]; do shift; done; shift; exec "$@"',
}


@pytest.fixture
def project(tmp_path: Path, local: Scenario) -> Path:
    """A checkout (src, build), compiled as if in /libvgpu; on the "server" a stripped copy of the library elsewhere."""
    for name in ("src", "build", "there", "bin"):
        (tmp_path / name).mkdir()
    (tmp_path / "src" / "hook.c").write_text(HOOK)
    (tmp_path / "src" / "train.c").write_text(TRAIN)
    for name, flags in (("hook", ("-shared", "-fPIC", "-o", "build/libvgpu.so")), ("train", ("-o", "build/train"))):
        source = str(tmp_path / "src" / f"{name}.c")
        subprocess.run(["gcc", "-g", f"-fdebug-prefix-map={tmp_path}=/libvgpu", source, *flags,
                        f"-L{local.shim}/standin", "-lcuda", "-Wl,--build-id"], check=True, cwd=tmp_path)  # fmt: skip
    subprocess.run(["strip", "-o", "there/libvgpu.so", "build/libvgpu.so"], check=True, cwd=tmp_path)
    for name, script in SCRIPTS.items():
        (tmp_path / "bin" / name).write_text(f"#!/bin/sh\n{script}\n")
        (tmp_path / "bin" / name).chmod(0o755)
    return tmp_path


def printed(local: Scenario, project: Path, *options: str) -> dict[str, Any]:
    words = f"--hook build/libvgpu.so --hook-there {project}/there/libvgpu.so --program-there {project}/build/train"
    text = gdb(local, f"cuda-remote --json {words} {' '.join(options)}", program=Path("build/train"), cwd=project)
    return dict(json.loads(text[text.index("{") :]))


@pytest.mark.parametrize("way", ["--ssh me@gpu", "--container trainer", "--pod ml/train-0", "--ssh gpu --container x"])
def test_what_is_printed_works_as_it_is(way: str, local: Scenario, project: Path) -> None:
    plan = printed(local, project, way, "--", '"$HOME it\'s"')
    environment = local.environment() | {"PATH": f"{project}/bin:{os.environ['PATH']}"}
    text = gdb(local, *plan["commands"], "cuda-break cuMemAlloc", "continue", "continue", environment=environment)
    assert "hook libvgpu.so is loaded, first in the search order" in text
    assert re.search(r"Breakpoint 2  hook libvgpu\.so  cuMemAlloc_v2\(.*bytesize=4096", text)
    assert "called by app main() at train.c:10" in text
    assert "status 0, <$HOME it's>" in text
    assert plan["commands"][-1] == "cuda-check"


def test_the_line_for_the_server_works_as_it_is(local: Scenario, project: Path, ends: list[Any]) -> None:
    """Only the port is another: one that is free."""
    plan = printed(local, project, "--host", "localhost")
    assert re.search(r" -- :1234 \S+/build/train$", plan["server"])
    line = ["sh", "-c", "exec " + plan["server"].replace(":1234", "localhost:0")]
    ends.append(Server(line, local.environment(), cwd=Path("/")))
    commands = [one.replace(":1234", f":{ends[0].port}") for one in plan["commands"]]
    text = gdb(local, *commands)
    assert "train: the hook is in place with warnings: debug-info-here" in text


def test_connect_runs_the_commands(local: Scenario, project: Path) -> None:
    environment = local.environment() | {"PATH": f"{project}/bin:{os.environ['PATH']}"}
    words = f"--container trainer --hook build/libvgpu.so --hook-there {project}/there/libvgpu.so --connect"
    text = gdb(local, f"cuda-remote {words} --program-there {project}/build/train", f"cuda-remote {words}",
               program=Path("build/train"), cwd=project, environment=environment)  # fmt: skip
    assert "train: the hook is in place with warnings: debug-info-here" in text
    assert "cuda-remote: there is a process already: kill it or detach from it first" in text


def test_options_that_may_be_given_again(local: Scenario) -> None:
    words = "--env A=1 --env 'B=x y' --path-map /a=/here --path-map /b=/there"
    text = gdb(local, f"cuda-remote --multi {words}", program=local.sample("test_alloc"))
    for line in ("set environment A=1", "set environment B=x y", "set substitute-path /a /here",
                 "set substitute-path /b /there"):  # fmt: skip
        assert f"\n  {line}\n" in text


def test_a_server_that_does_not_listen(local: Scenario) -> None:
    words = ("set tcp connect-timeout 2", "cuda-remote --connect --port 1")  # gdb tries again for 15 seconds
    text = gdb(local, *words, program=local.sample("test_alloc"))
    why = r"cuda-remote: (?:localhost:1|could not connect): .*; is this running there\?  (cuda-)?gdbserver --once :1 /"
    assert re.search(why, text)


def test_a_container_without_gdbserver(local: Scenario, project: Path) -> None:
    """What docker says, and what to try without gdb."""
    environment = local.environment() | {"PATH": f"{project}/bin:{os.environ['PATH']}"}
    words = "--container trainer --connect --gdbserver /no/gdbserver"
    text = gdb(local, f"cuda-remote {words}", program=Path("build/train"), cwd=project, environment=environment)
    advice = re.search(r"; see above, and try in a shell:  (docker exec -i trainer /no/gdbserver --version)\n", text)
    lost = "Broken pipe|Connection reset"  # gdb may write before it reads
    assert advice and re.search(rf"/no/gdbserver: not found|{lost}", text)
    tried = subprocess.run(advice[1], shell=True, env=environment, capture_output=True, text=True, check=False)
    assert tried.returncode == 127


# -- cuda-check ---------------------------------------------------------------------------------------------------


def checked(local: Scenario, project: Path, *then: str, sysroot: str = "target:") -> str:
    there = preloading(project / "there" / "libvgpu.so", project / "build" / "train", address="-")
    start = (f"set sysroot {sysroot}", "cuda-load build/libvgpu.so", f"target remote | {shlex.join(there)}", *AT_MAIN)
    return gdb(local, *start, *then, program=Path("build/train"), cwd=project)


def test_stripped_there_and_complete_here(local: Scenario, project: Path) -> None:
    """What it says to type, typed: the lines are there, and the finding is gone."""
    text = checked(local, project, "cuda-check")
    assert re.search(r"debug-info-here +\S+/build/libvgpu\.so is the same build", text)
    advice = re.search(r"add-symbol-file (\S+) -o (0x[0-9a-f]+)", text)
    rule = re.search(r"set substitute-path (\S+ \S+)", text)
    text = checked(local, project, advice[0], rule[0], "cuda-break cuMemAlloc", "continue", "cuda-check")
    assert re.search(r'hook\.c:7\n7\t    .*dlsym\(RTLD_NEXT, "cuMemAlloc_v2"\)', text)
    last = text[text.index("Breakpoint 2  hook") :]
    assert not re.search("debug-info-here|sources-not-found|sources-missing", last), last
    assert text.count("same-build") == 2 and text.count("sources-found") == 2


def test_another_build_there(local: Scenario, project: Path) -> None:
    source = project / "src" / "hook.c"
    source.write_text(HOOK.replace("return real", "\n\n    return real"))
    subprocess.run(["gcc", "-g", "-shared", "-fPIC", "-o", "there/libvgpu.so", str(source), "-ldl", "-Wl,--build-id"],
                   check=True, cwd=project)  # fmt: skip
    text = checked(local, project, "cuda-check")
    assert "train: libvgpu.so here is not what runs (other-build)" in text
    assert "gdb reads the one that runs" in " ".join(text.split())
    advice = re.search(r"remote get (\S+) (\S+)", text)
    assert advice.groups() == (f"{project}/there/libvgpu.so", f"{project}/build/libvgpu.so")
    assert "same-build" in checked(local, project, advice[0]) + checked(local, project, "cuda-check")


def test_no_file_in_the_sysroot(local: Scenario, project: Path) -> None:
    text = checked(local, project, "cuda-check", sysroot=str(project / "bin"))
    assert re.search(r"no-symbols", text), text
    advice = re.search(rf"set solib-search-path {project}/build", text)
    text = checked(local, project, advice[0], "cuda-check", sysroot=str(project / "bin"))
    assert "no-symbols" not in text


def test_a_gdbserver_that_was_ended_is_no_fault_at_the_end(local: Scenario, ends: list[Any], tmp_path: Path) -> None:
    """What is in its process can no longer be taken out, and need not."""
    start = connect("tcp", local, local.sample("test_alloc"), ends, tmp_path)
    guarded = ["cuda-break cuMemAlloc if bytesize > 1G", "continue", SERVER_ENDS]
    text = gdb(local, "set sysroot /", *start, *guarded, program=local.sample("test_alloc"))
    assert "hook libgdbcuda-hook.so  cuMemAlloc_v2(" in text and "failed:" not in text

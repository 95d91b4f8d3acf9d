"""The configurations at work: what an adapter makes of one is said to a real gdb, command by command."""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from scenario import GDB, Scenario, execute

from gdbcuda.files import places
from gdbcuda.shell import cli

pygdbmi = pytest.importorskip("pygdbmi.gdbcontroller", reason="pygdbmi is not installed (scripts/test installs it)")

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


class Adapter:
    """Says to gdb what a debug adapter says for a configuration, VS Code's variables filled in."""

    def __init__(self, project: Path, configuration: dict[str, Any]) -> None:
        text = json.dumps(configuration).replace("${workspaceFolder}", str(project))
        self.configuration = json.loads(text)
        line = [GDB, "-nx", "-q", "--interpreter=mi2", "--tty=/dev/null"]
        self.gdb = pygdbmi.GdbController(line, time_to_check_for_additional_output_sec=0.01)  # `read` asks again
        self.seen: list[dict[str, Any]] = []
        self.records = self.read()

    def say(self, command: str, until: str = "") -> dict[str, Any]:
        """The payload of the result, or of the async record ``until``; an error fails."""
        self.gdb.io_manager.stdin.write(f"{command}\n".encode())
        self.gdb.io_manager.stdin.flush()
        while True:
            record = next(self.records)
            assert record["message"] != "error", (command, record["payload"])
            if record["message"] == until or (not until and record["type"] == "result"):
                return dict(record["payload"] or {})

    def read(self) -> Iterator[dict[str, Any]]:
        while True:
            for record in self.gdb.get_gdb_response(timeout_sec=30):
                self.seen.append(record)
                yield record

    def console(self, command: str, until: str = "") -> str:
        """As cppdbg says what does not begin with "-"; what it printed."""
        start = len(self.seen)
        quoted = command.replace("\\", "\\\\").replace('"', '\\"')
        self.say(command if command.startswith("-") else f'-interpreter-exec console "{quoted}"', until)
        return "".join(r["payload"] for r in self.seen[start:] if r["type"] == "console")

    def text(self) -> str:
        """All that was printed until now; the answer to one more command comes behind it."""
        self.say("-list-features")
        return "".join(r["payload"] for r in self.seen if r["type"] == "console")

    def start_cppdbg(self) -> None:
        """MIEngine's order: set-up commands, program, a breakpoint at main, the server, and off."""
        for command in self.configuration["setupCommands"]:
            self.console(command["text"])
        self.console("set pagination off")
        self.say("-gdb-set auto-solib-add on")
        self.say(f"-environment-cd {self.configuration['cwd']}")
        self.say(f"-file-exec-and-symbols {self.configuration['program']}")
        self.console("show architecture")
        self.say("-break-insert -f main")
        server = self.configuration.get("miDebuggerServerAddress")
        if server:
            self.say(f"-target-select remote {server}")
        self.say("-exec-continue" if server else "-exec-run", until="stopped")

    def start_cdt(self, place: str, flags: str) -> dict[str, Any]:
        """cdt-gdb-adapter's order: the program, the server, then initCommands, each as it is, behind a number; then
        the user's breakpoint, and off. Nsight's is made of it, and makes breakpoints pending."""
        self.say(f'-file-exec-and-symbols "{self.configuration["program"]}"')
        self.say("-enable-pretty-printing")
        target = self.configuration.get("target")
        if target:
            self.say(f"-target-select remote {target['host']}:{target['port']}")
        for command in self.configuration["initCommands"]:
            self.say(f"7{command}")
        self.say(f"-break-insert {flags} {place}")
        return self.say("-exec-continue" if target else "-exec-run", until="stopped")


@pytest.fixture
def project(tmp_path: Path, shim: Path, compile_c, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with sources in src/, whose library says that it was compiled in /libvgpu."""
    (tmp_path / "src").mkdir()
    compile_c("libhook.so", HOOK, "-shared", f"-fdebug-prefix-map={tmp_path}=/libvgpu", "-ldl")
    shutil.move(str(tmp_path / "libhook_so.c"), tmp_path / "src" / "libhook_so.c")
    shutil.copy(shim / "sample" / "test_alloc", tmp_path / "program")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def configuration(project: Path, ide: str, *words: str) -> dict[str, Any]:
    line = ["ide", ide, "--program", "program", "--hook", "libhook.so", "--path-map", "/libvgpu=src", "--write", *words]
    assert cli.main(line) == 0
    return json.loads((project / ".vscode/launch.json").read_text())["configurations"][-1]


@pytest.fixture
def environment(local: Scenario, monkeypatch: pytest.MonkeyPatch) -> None:
    """gdb and its server get the tests' own."""
    for name in [name for name in os.environ if name.startswith(("LD_", "GDBCUDA_", "DEBUGINFOD_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("LD_LIBRARY_PATH", str(local.shim / "standin"))


@pytest.fixture
def server(project: Path, environment: None, capsys: pytest.CaptureFixture[str]) -> Iterator[str]:
    """The line that the first step says, typed on "the other machine"."""
    if not shutil.which("gdbserver"):
        pytest.skip("gdbserver is not installed (apt-get install gdbserver)")
    with socket.socket() as free:
        free.bind(("localhost", 0))
        address = f"localhost:{free.getsockname()[1]}"
    configuration(project, "vscode", "--remote", address)
    line = re.search(r"^1\. on localhost:  (gdbserver .*)$", capsys.readouterr().out, re.MULTILINE)
    assert line
    running = subprocess.Popen(line[1].split(), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    assert running.stderr is not None
    while "Listening" not in (said := running.stderr.readline()):
        assert said, "gdbserver ended"
    yield address
    running.kill()
    running.wait()
    running.stderr.close()


LOADED = "cuda-load: hook libhook.so is loaded, first in the search order"


@pytest.fixture(params=["here", "there"])
def words(request: pytest.FixtureRequest, environment: None) -> tuple[str, ...]:
    return ("--remote", request.getfixturevalue("server")) if request.param == "there" else ()


def test_cppdbg(project: Path, words: tuple[str, ...]) -> None:
    adapter = Adapter(project, configuration(project, "vscode", *words))
    try:
        adapter.start_cppdbg()
        assert LOADED in adapter.text()
        made = adapter.console("cuda-break cuMemAlloc")
        assert made.startswith("Breakpoint 2: cuMemAlloc_v2 in hook libhook.so, called from the program")
        stop = adapter.say("-exec-continue", until="stopped")
        assert (stop["reason"], stop["bkptno"], stop["frame"]["func"]) == ("breakpoint-hit", "2", "cuMemAlloc_v2")
        assert stop["frame"]["fullname"] == str(project / "src" / "libhook_so.c"), "the source here"
    finally:
        adapter.gdb.exit()


@pytest.mark.parametrize(("ide", "flags"), [("cdt", ""), ("nsight", "-f")])
def test_a_click_in_the_hook(project: Path, words: tuple[str, ...], ide: str, flags: str) -> None:
    adapter = Adapter(project, configuration(project, ide, *words))
    try:
        source = project / "src" / "libhook_so.c"
        stop = adapter.start_cdt(f"--source {source} --line 8" if not flags else f"{source}:8", flags)
        assert (stop["reason"], stop["frame"]["func"]) == ("breakpoint-hit", "cuMemAlloc_v2")
        assert stop["frame"]["fullname"] == str(source) and LOADED in adapter.text()
    finally:
        adapter.gdb.exit()


def test_a_line_of_the_hook_before_it_is_loaded(project: Path, environment: None) -> None:
    """What a click in the margin becomes: cppdbg maps the file to its name as compiled."""
    adapter = Adapter(project, configuration(project, "vscode"))
    try:
        compiled = adapter.configuration["sourceFileMap"].items()
        far = next(far for far, here in compiled if here == str(project / "src"))
        for command in adapter.configuration["setupCommands"]:
            adapter.console(command["text"])
        adapter.say(f"-file-exec-and-symbols {adapter.configuration['program']}")
        adapter.say(f"-break-insert -f {far}/libhook_so.c:8")
        stop = adapter.say("-exec-run", until="stopped")
        assert (stop["reason"], stop["frame"]["func"], stop["frame"]["line"]) == (
            "breakpoint-hit", "cuMemAlloc_v2", "8"
        )  # fmt: skip
    finally:
        adapter.gdb.exit()


def test_the_projects_gdbinit(project: Path, local: Scenario, tmp_path: Path) -> None:
    """Read once the user has allowed it, in the words that the steps give."""
    assert cli.main(["ide", "vim", "--program", "program", "--hook", "libhook.so", "--write"]) == 0
    home = tmp_path / "home"
    home.mkdir()
    name = f".{places.init_name(GDB)}"
    (home / name).write_text(f"add-auto-load-safe-path {project}/{name}\n")
    line = [GDB, "-q", "-batch", "-ex", "break main", "-ex", "run", "program"]
    text = execute(line, local.environment() | {"HOME": str(home), "XDG_CONFIG_HOME": str(home)})
    assert "hook libhook.so: exports 1 driver function; debug info" in text
    assert "cuda-load: hook libhook.so is loaded, first in the search order" in text

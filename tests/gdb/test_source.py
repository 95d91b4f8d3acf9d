"""How a user gets the extension into gdb, and what that leaves alone."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import elftools  # type: ignore[import-untyped]
import pytest
from scenario import GDB, ROOT, Scenario, execute

ASK = [
    "-ex",
    "python print('commands:', gdb.execute('help cuda-break', to_string=True).splitlines()[0])",
    "-ex",
    "python import sys; print('path:', sys.path)",
]
LOADED = "commands: Break in one implementation"


def gdb(*arguments: str, cwd: Path = ROOT, **environment: str) -> str:
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "GDBCUDA_"))}
    os.chdir(cwd)
    return execute([GDB, "-nx", "-q", "-batch", *arguments, *ASK], kept | environment)


def test_source_in_the_clone() -> None:
    assert LOADED in gdb("-ex", "source gdbcuda.py")


def test_from_anywhere(tmp_path: Path) -> None:
    assert LOADED in gdb("-x", str(ROOT / "gdbcuda.py"), cwd=tmp_path)


def test_through_a_symlink(tmp_path: Path) -> None:
    link = tmp_path / "link.py"
    link.symlink_to(ROOT / "gdbcuda.py")
    assert LOADED in gdb("-x", str(link), cwd=tmp_path)


def test_it_loads_once() -> None:
    text = gdb("-ex", "source gdbcuda.py", "-ex", "source gdbcuda.py")
    assert "already" not in text, "while gdb starts, it may be several files of the user's that source it"
    typed = "source gdbcuda.py\n" * 3
    line = [GDB, "-nx", "-q"]
    said = subprocess.run(line, input=typed, cwd=ROOT, text=True, capture_output=True, check=True).stdout
    assert said.count("gdbcuda is already loaded; for another one start gdb again.") == 2


def test_it_adds_its_own_directory_and_no_more() -> None:
    text = gdb(
        "-ex",
        "python import sys; before = list(sys.path)",
        "-ex",
        "source gdbcuda.py",
        "-ex",
        "python print('added:', [p for p in sys.path if p not in before])",
    )
    added = eval(text.partition("added: ")[2].splitlines()[0])
    assert added == [str(ROOT)]


MOST_AT_LOAD, MOST_AT_FIRST_BREAKPOINT = 40, 220  # modules of ours; at load, beside the commands

# regular expressions of ours that are not left to their first use (`gdbcuda.text.patterns`)
WATCHED = """
import re
compiled, made = [], re.compile
def watched(text, flags=0):
    name = sys._getframe(1).f_globals["__name__"]
    if name.startswith("gdbcuda") and name != "gdbcuda.text.patterns":
        compiled.append(text)
    return made(text, flags)
re.compile = watched
"""


def test_nothing_heavy_is_imported_at_load() -> None:
    """Each takes 1 to 20 ms. What gdb itself has loaded costs nobody anything."""
    heavy = ("pygments", "tabulate", "elftools", "hypothesis", "lzma", "dataclasses", "inspect", "pathlib", "argparse",
             "json", "subprocess", "textwrap")  # fmt: skip
    text = gdb(
        "-ex",
        f"python import sys; before = {{*sys.modules}}; exec({WATCHED!r})",
        "-ex",
        "source gdbcuda.py",
        "-ex",
        f"python print('heavy:', sorted({{*{heavy}}} & sys.modules.keys() - before), [*map(str, compiled)])",
    )
    assert "heavy: [] []" in text


HAVE_RUN = ("python import sys, types; print('run:', *sorted(name for name, module in sys.modules.items() if "
            "name.startswith('gdbcuda.') and type(module) is types.ModuleType))")  # fmt: skip
FIRST = "cuda-break cudaMalloc if size > 1G"


def have_run(*commands: str) -> set[str]:
    shown = gdb("-ex", "source gdbcuda.py", *(word for one in (*commands, HAVE_RUN) for word in ("-ex", one)))
    return {*shown.partition("run: ")[2].partition("\n")[0].split()}


def test_what_registers_runs_at_load_and_no_more() -> None:
    """A module takes 0.4 ms. What runs is commands, settings, functions and what they are declared with."""
    run = have_run()
    assert {name for name in run if name.startswith("gdbcuda.live.commands.")} == {
        f"gdbcuda.live.commands.{path.stem}"
        for path in (ROOT / "gdbcuda" / "live" / "commands").glob("*.py")
        if path.stem != "__init__"
    }
    others = {name for name in run if not name.startswith("gdbcuda.live.commands.")}
    assert len(others) <= MOST_AT_LOAD, sorted(others)


def test_who_hears_of_events_runs_with_the_first() -> None:
    asked = ("python from gdbcuda.live import events; from gdbcuda.live.host import lazily; "
             "print('waits:', sorted({n for all in events.HANDLERS.values() for n in all if not n.endswith('?') and "
             "not lazily.is_loaded('gdbcuda.live.' + n.rpartition('.')[0])}))")  # fmt: skip
    shown = gdb("-ex", "source gdbcuda.py", "-ex", asked)
    assert "waits: ['breaking.answering_stops.on_modified'" in shown
    for first in ("break nowhere", "cuda-guards", "set cuda-recursion-limit 3", "print $_cuda_error_name(2)"):
        text = gdb("-ex", "set breakpoint pending on", "-ex", "source gdbcuda.py", "-ex", first, "-ex", asked)
        assert "waits: []" in text, first


def test_what_the_first_breakpoint_needs() -> None:
    """Before a process is there: its words, their condition, and what a guard will be made of."""
    assert len(have_run(FIRST)) <= MOST_AT_FIRST_BREAKPOINT


WAITS = """
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>
static void *wait(void *given)
{
    pause();
    return given;
}
int main(void)
{
    pthread_t thread;
    for (int i = 0; i < 4; i++)
        pthread_create(&thread, NULL, wait, NULL);
    puts("ready");
    fflush(stdout);
    pause();
}
"""


@pytest.mark.skipif(shutil.which("gdbserver") is None, reason="no gdbserver here")
def test_the_first_event_is_an_attach_to_threads(compile_c) -> None:
    """gdb tells of them while the modules run that hear of them."""
    program = compile_c("program", WAITS, "-pthread")
    with subprocess.Popen([program], stdout=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None and running.stdout.readline() == "ready\n"
        words = ["-ex", "source gdbcuda.py", "-ex", f"target remote | gdbserver --once --attach - {running.pid}"]
        text = gdb(*words, "-ex", "info threads", "-ex", "cuda-layers", "-ex", "kill")
        running.kill()
    assert "Exception" not in text and len(re.findall(r"^\*? +\d+ +Thread ", text, re.MULTILINE)) == 5, text


def copy_of_the_clone(folder: Path) -> Path:
    shutil.copytree(ROOT / "gdbcuda", folder / "gdbcuda", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "gdbcuda.py", folder)
    return folder / "gdbcuda.py"


def hiding(*modules: str) -> str:
    return ("python import importlib.machinery as m; real = m.PathFinder.find_spec; "
            f"m.PathFinder.find_spec = lambda name, *a: None if name in {modules} else real(name, *a)")  # fmt: skip


def test_without_tabulate_and_pygments_it_works_plainly(tmp_path: Path) -> None:
    file = copy_of_the_clone(tmp_path)
    packages = tmp_path / ".venv" / "lib" / "python3" / "site-packages"
    packages.mkdir(parents=True)
    (packages / "elftools").symlink_to(Path(elftools.__file__).parent)
    hook = ROOT / "shim" / "build" / "libgdbcuda-hook.so"
    commands = ("-ex", f"cuda-check {hook}", "-ex", "cuda-version")
    shown = gdb("-ex", hiding("pygments", "tabulate"), "-x", str(file), *commands)
    assert LOADED in shown and "gdbcuda: missing" not in shown
    assert re.search(r"^finding +seen, what it means", shown, re.M) and "dlsym-overridden" in shown
    assert f"pyelftools {elftools.__version__}\n" in shown, "it was copied without what pip notes of it"


def test_missing_dependency_is_one_line_with_the_remedy(tmp_path: Path) -> None:
    file = copy_of_the_clone(tmp_path)
    kept = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
    done = subprocess.run(
        [GDB, "-nx", "-q", "-batch", "-ex", hiding("elftools"), "-x", str(file)],
        env=kept,
        text=True,
        capture_output=True,
        check=False,
    )
    assert re.match(r"gdbcuda: missing .*pyelftools: ", done.stderr)
    assert re.search(rf"{re.escape(str(tmp_path))}/.venv/bin/pip install .*pyelftools$", done.stderr.strip())
    assert len(done.stderr.strip().splitlines()) == 1


def test_the_extension_does_not_leak_into_the_program() -> None:
    text = gdb("-ex", "source gdbcuda.py", "-ex", "show environment PYTHONPATH", "-ex", "show exec-wrapper")
    assert "not defined" in text
    assert 'is ""' in text


def test_a_gdb_without_its_python_module_goes_on(tmp_path: Path) -> None:
    line = [GDB, "-nx", "-q", "-batch", "-data-directory", str(tmp_path), "-x", str(ROOT / "gdbcuda.py")]
    kept = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
    done = subprocess.run([*line, "-ex", "echo on\\n"], env=kept, text=True, capture_output=True, check=False)
    assert done.stdout.endswith("on\n") and "Traceback" not in done.stderr
    assert done.stderr.splitlines()[-1] == "gdbcuda is not loaded: gdb has no Python module 'gdb' here"


def test_what_we_need_is_found_for_us_alone(local: Scenario) -> None:
    asked = "python import importlib.util as u; print([u.find_spec(n) is None for n in ('pygments', 'hypothesis')])"
    alone = execute([GDB, "-nx", "-q", "-batch", "-ex", asked], local.environment())
    assert local.run(None, asked, hook=None).splitlines()[-1] == alone.splitlines()[-1]
    table = "python import gdbcuda.elf, gdbcuda.text.render as r; print(r.table([('a', 'b')], ['c', 'd']))"
    shown = local.run(None, table, hook=None)
    assert "c    d" in shown

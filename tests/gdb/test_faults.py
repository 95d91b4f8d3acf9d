"""Whatever goes wrong inside of us is one line, and the session goes on; the traceback is there for who wants it."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest
from forking_gdb import is_played_as_typed
from scenario import GDB, ROOT, Scenario, forking_gdb

RAISED = {
    "struct.error('unpack wants 8 bytes')": "this is a fault of gdbcuda (error: unpack wants 8 bytes, ",
    "RuntimeError('Frame is invalid.')": "this is a fault of gdbcuda (RuntimeError: Frame is invalid., ",
    "RecursionError('too deep')": "this is a fault of gdbcuda (RecursionError: too deep, ",
    "KeyError('two\\nlines')": "this is a fault of gdbcuda (KeyError: 'two\\nlines', ",
    "SystemExit(3)": "this is a fault of gdbcuda (SystemExit: 3, ",
    "ValueError()": "this is a fault of gdbcuda (ValueError, ",
    "OSError(28, 'No space left on device', '/x/y')": "/x/y: no space left on device",
    "MemoryError()": "there is not enough memory for this",
    "gdb.error('Cannot access memory at address 0x8.')": "Cannot access memory at address 0x8",
    "gdb.MemoryError('Cannot access memory at address 0x8')": "Cannot access memory at address 0x8",
    "UserError('what you see')": "what you see",
    "Unreadable(8, 4)": "cannot read 4 bytes at 0x8",
}
HOW = "; after 'set cuda-debug on' it shows the traceback"


def breaking(place: str, what: str, times: int = 1 << 30) -> str:
    """A command that makes a function of ours raise that."""
    module, _, name = place.partition(":") if ":" in place else place.rpartition(".")
    return (
        "python exec(\"import importlib, struct, gdb\\nfrom gdbcuda.errors import UserError, Unreadable\\n"
        f"left = [{times}]\\nmodule = importlib.import_module('gdbcuda.live.{module}')\\nreal = module.{name}\\n"
        "def boom(*a, **k):\\n    left[0] -= 1\\n    if left[0] < 0: return real(*a, **k)\\n"
        f"    raise {what}\\nmodule.{name} = boom\", {{}})"
    ).replace("two\\nlines", "two\\\\nlines")  # fmt: skip


def session(
    scenario: Scenario, *commands: str, program: str | None = "test_alloc", hook: bool = True, in_a_copy: bool = True
) -> str:
    """Without the checks of `Scenario.run` for faults, which are wanted here; nothing shows as Python's."""
    words = [*([scenario.load(scenario.hook)] if hook else []), *commands]
    path = scenario.sample(program) if program else None
    copies = forking_gdb(scenario.shim) if in_a_copy and not scenario.in_full else None
    text = copies.play(words, path, ()) if copies and is_played_as_typed(words) else own_session(scenario, words, path)
    assert "Python Exception" not in text and "Error occurred in Python" not in text, text
    return text


def own_session(scenario: Scenario, words: list[str], program: Path | None) -> str:
    line = [GDB, "-nx", "-q", "-batch", "-x", str(ROOT / "gdbcuda.py")]
    line += [word for command in words for word in ("-ex", command)]
    line += [str(program)] if program else []
    done = subprocess.run(line, env=scenario.environment(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, timeout=120)  # fmt: skip
    return done.stdout.decode()


def line_with(text: str, start: str) -> str:
    found = [line for line in text.splitlines() if line.startswith(start)]
    assert len(found) == 1, text
    return found[0]


@pytest.mark.parametrize("what", RAISED)
def test_in_a_command(local: Scenario, what: str) -> None:
    text = session(local, breaking("commands.version.everything", what), "cuda-version", "echo on\\n", hook=False)
    said = line_with(text, "cuda-version: ")
    assert said.startswith(f"cuda-version: {RAISED[what]}")
    assert said.endswith(HOW) == ("fault of" in said)
    assert "Traceback" not in text and text.endswith("\non\n")


@pytest.mark.smoke
def test_with_the_traceback(local: Scenario) -> None:
    break_it = breaking("commands.version.everything", "KeyError(3)")
    text = session(local, break_it, "set cuda-debug on", "cuda-version", "set cuda-debug off", "cuda-version",
                   hook=False)  # fmt: skip
    assert text.count("Traceback (most recent call last):\n") == 1
    assert re.search(r'File ".*gdbcuda/live/commands/version\.py", line \d+, in cuda_version\n', text)
    assert text.count("\ncuda-version: this is a fault of gdbcuda (KeyError: 3, live/commands/version.py:") == 2
    assert "cuda-debug is off." in session(local, "show cuda-debug", hook=False)


@pytest.mark.parametrize("what", RAISED)
def test_in_a_function(local: Scenario, what: str) -> None:
    break_it = breaking("layers.table_version.table", what)
    text = session(local, break_it, "print $_cuda_error_name(2)", "print 1 + 1", hook=False)
    assert f"\n{RAISED[what]}" in "\n" + text
    assert "$1 = 2" in text and "Traceback" not in text


@pytest.mark.parametrize("what", RAISED)
def test_in_the_handler_of_an_event(local: Scenario, what: str) -> None:
    """Once for the place, in one line; the other handlers of the event do their work."""
    break_it = breaking("stopping.stops.stop_text", what)
    text = session(local, break_it, "cuda-break cuMemAlloc", "run", "continue", "continue")
    said = line_with(text, "gdbcuda: ")
    assert said.startswith(f"gdbcuda: stops.on_stop failed: {RAISED[what]}")
    assert "cuda-load: hook libgdbcuda-hook.so is loaded, first in the search order" in text
    assert text.count("cuMemAlloc_v2 (dptr=") == 3, "gdb's own lines of three stops"


def test_ctrl_c_in_a_handler(local: Scenario) -> None:
    break_it = breaking("stopping.stops.stop_text", "KeyboardInterrupt()", times=1)
    text = session(local, break_it, "cuda-break cuMemAlloc", "run", "continue")
    assert line_with(text, "gdbcuda: ") == "gdbcuda: stops.on_stop failed: interrupted"
    assert text.count("Breakpoint 1  hook libgdbcuda-hook.so  cuMemAlloc_v2(") == 1, "the second stop is told"


def test_ctrl_c_in_a_command_is_quit(local: Scenario) -> None:
    text = session(local, breaking("commands.version.everything", "KeyboardInterrupt()"), "cuda-version", hook=False)
    assert text == "Quit\n"


def test_in_a_breakpoint_that_looks_on(local: Scenario) -> None:
    """The program does not stop for it, and the line is there once."""
    break_it = breaking("recording.by_breakpoints.recorder:Recorder.entered", "KeyError(3)")
    text = session(local, "cuda-log start cuMemAlloc", break_it, "run")
    assert "Breakpoint" not in text and "exited normally" in text
    assert re.fullmatch(r"gdbcuda: watchers\.Watcher\.stop failed: this is a fault of gdbcuda \(KeyError: 3, .*\); .*",
                        line_with(text, "gdbcuda: "))  # fmt: skip


@pytest.mark.smoke("place_of")
@pytest.mark.parametrize("place", [
    "layers.layer_of", "frames.frames.place_of", "stopping.backtrace.without_parameters",
])
def test_in_a_backtrace(local: Scenario, place: str) -> None:
    """gdb's own lines, in the place of ours."""
    text = session(local, "cuda-break cuMemAlloc", "run", breaking(place, "KeyError(3)"), "bt", "bt")
    assert text.count("#0  cuMemAlloc_v2 (dptr=0x") == 2 and text.count(" in main () at sample/test_alloc.c:") == 2
    said = line_with(text, "gdbcuda: ")
    assert said.startswith("gdbcuda: backtrace.layered failed: this is a fault of gdbcuda (KeyError: 3, ")


def test_a_connection_that_is_lost(local: Scenario) -> None:
    """gdb's error while it unwinds, as gdb writes it where nobody looks on.

    The libraries are read here: gdb 16 alone dies where it has to fetch one's .eh_frame then ("bt 2", "bt")."""
    server = f"gdbserver --once --wrapper env LD_PRELOAD={local.hook} -- - {local.sample('test_alloc')}"
    over_there = ("set remotetimeout 60", "set sysroot /", f"target remote | {server}")
    typed = (*over_there, "break cuMemAlloc_v2", "continue", "monitor exit")
    asked = ("bt", "cuda-call", "cuda-route", "info threads", "echo on\\n")
    # in a copy of a gdb, gdb 13 itself ends with an internal error
    text = session(local, "set breakpoint pending on", *typed, *asked, in_a_copy=False)
    assert "Traceback" not in text and text.endswith("on\n") and "No threads." in text


@pytest.mark.parametrize(("what", "lines"), [("KeyError(3)", 1), ("UserError('no')", 0), ("gdb.error('no')", 0)])
def test_in_completion(local: Scenario, what: str, lines: int) -> None:
    """Nothing is offered where nothing can be known; a fault is told."""
    ask = "complete cuda-break cuMem"
    text = session(local, breaking("layers.table_version.table", what), ask, ask, "echo on\\n", hook=False)
    assert text.count("gdbcuda: completion of cuda-break failed: this is a fault of gdbcuda (KeyError: 3, ") == lines
    assert text.endswith("on\n") and len(text.splitlines()) == 1 + lines


def test_in_a_setting(local: Scenario) -> None:
    text = session(local, breaking("process.forget", "KeyError(3)"), "set cuda-stop-info off", "show cuda-stop-info",
                   hook=False)  # fmt: skip
    assert text.startswith("set cuda-stop-info: this is a fault of gdbcuda (KeyError: 3, ")
    assert text.endswith("\ncuda-stop-info is off.\n") and len(text.splitlines()) == 2


@pytest.mark.parametrize(("place", "typed", "who"), [
    ("commands.guards.note", "info breakpoints", "guards.write_note"),
    ("breaking.saving.set_aside", "save breakpoints /dev/null", "saving.before"),
])  # fmt: skip
def test_beside_a_command_of_gdbs(local: Scenario, place: str, typed: str, who: str) -> None:
    typed_before = ("cuda-break cuMemAlloc if bytesize > 1M", "run")
    text = session(local, *typed_before, breaking(place, "KeyError(3)"), typed, "echo on\\n")
    assert line_with(text, "gdbcuda: ").startswith(f"gdbcuda: {who} failed: this is a fault of gdbcuda (KeyError: 3, ")
    assert text.endswith("on\n")


def test_no_detach_where_guards_cannot_be_taken_back(local: Scenario) -> None:
    """What is ours would stay in the process."""
    break_it = breaking("guarding.without_gdb.sweep", "KeyError(3)")
    typed = ("cuda-break cuMemAlloc if bytesize > 1M", "run", break_it, "detach")
    text = session(local, *typed, "print $_thread", "set cuda-guard off", "detach")
    assert text.count("\nthis is a fault of gdbcuda (KeyError: 3, ") == 2
    assert "$1 = 1" in text and "Detaching" not in text and "Traceback" not in text


def test_while_it_is_loaded(local: Scenario, tmp_path: Path) -> None:
    (tmp_path / "gdbcuda.py").write_bytes((ROOT / "gdbcuda.py").read_bytes())
    (tmp_path / "gdbcuda" / "live").mkdir(parents=True)
    (tmp_path / "gdbcuda" / "__init__.py").touch()
    (tmp_path / "gdbcuda" / "packages.py").write_bytes((ROOT / "gdbcuda" / "packages.py").read_bytes())
    (tmp_path / "gdbcuda" / "live" / "__init__.py").write_text("def start():\n    raise KeyError('two\\nlines')\n")
    (tmp_path / ".venv").symlink_to(ROOT / ".venv")
    line = [GDB, "-nx", "-q", "-batch", "-ex", f"source {tmp_path}/gdbcuda.py", "-ex", "echo on\\n"]
    done = subprocess.run(line, env=local.environment(), capture_output=True, text=True, timeout=60)
    assert done.stdout == "on\n"
    assert done.stderr == "gdbcuda is not loaded: KeyError: 'two\\nlines' (GDBCUDA_DEBUG=1 gdb ... shows where)\n"


# -- the user's namespace


NAMES = "python print('names:', sorted(name for name in dir() if name != '__file__'), __doc__, __annotations__)"


@pytest.mark.smoke("local")
def test_nothing_of_ours_is_in_the_users_python(scenario: Scenario, tmp_path: Path) -> None:
    """What the user has there stays as it is, also under names that we use inside."""
    mine = "python start = roots = saving = preload = 7"
    commands = ["set breakpoint pending on", "cuda-break cuMemAlloc if bytesize > 1G", "cuda-log start cuMemFree",
                "cuda-dlsym log on", "set cuda-recursion-limit 50", "RUN", "info breakpoints", "cuda-guards", "bt",
                f"save breakpoints {tmp_path}/saved", f"cuda-save {tmp_path}/ours", "cuda-route cuMemAlloc",
                "cuda-check", "cuda-call", "cuda-version", "cuda-env A=b", "cuda-log summary", "cuda-memory",
                "cuda-dlsym", "print $_cuda_layer()", "complete cuda-break cuM", "set cuda-guard off", "continue",
                "detach", "cuda-remote --host a", f"source {ROOT}/gdbcuda.py"]  # fmt: skip
    line = [GDB, "-nx", "-q", "-batch", "-ex", mine, "-ex", NAMES, "-x", str(ROOT / "gdbcuda.py"), "-ex", NAMES]
    path = scenario.sample("test_alloc")
    for word in [f"cuda-load {scenario.hook}", *commands]:
        line += ["-ex", scenario.start(path, scenario.hook, ()) if word == "RUN" else word]
    line += ["-ex", NAMES, "-ex", "python print('mine:', start, roots, saving, preload)", str(path)]
    done = subprocess.run(line, env=scenario.environment(), stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          timeout=120)  # fmt: skip
    seen = re.findall(r"^names: .*", done.stdout, re.MULTILINE)
    assert len(seen) == 3 and len(set(seen)) == 1, done.stdout
    assert "mine: 7 7 7 7" in done.stdout
    assert "Breakpoint 1  hook libgdbcuda-hook.so" in done.stdout and (tmp_path / "saved").exists()


# -- the folder, and files that are none


@pytest.mark.smoke
def test_a_current_folder_that_was_deleted(local: Scenario, tmp_path: Path) -> None:
    """gdb 13 crashes there at the first function of libc, gdb 16 at the program's name, unless we come before."""
    commands = [f"cuda-load {local.hook}", "cuda-load other.so", "cuda-break cuMemAlloc", "run", "bt 1", "list malloc",
                "cuda-check --quiet", "cuda-check other.so", "cuda-save breaks", "cuda-log start --to calls",
                "cuda-remote --host a --program p", "complete cuda-load ", "info line malloc", "kill",
                "echo on\\n"]  # fmt: skip
    line = [GDB, "-nx", "-q", "-batch", "-iex", f"source {ROOT}/gdbcuda.py"]
    line += [word for command in commands for word in ("-ex", command)] + [str(local.sample("test_alloc"))]
    gone = tmp_path / "gone"
    script = 'mkdir "$0" && cd "$0" && rmdir "$0" && exec "$@"'
    done = subprocess.run(["sh", "-c", script, str(gone), *line], env=local.environment(), stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=120)  # fmt: skip
    text = done.stdout.decode()
    assert done.returncode == 0 and text.endswith("on\n"), text
    assert "Traceback" not in text and "Python" not in text and "fault of gdbcuda" not in text, text
    folder = "the current folder is not there any more: cd to one that is\n"
    for said in (f"cuda-load: {folder}", f"cuda-remote: {folder}",
                 "cuda-check: cannot read other.so: no such file or directory\n",
                 "cuda-save: cannot write breaks: no such file or directory\n",
                 "cuda-log start: cannot write calls: no such file or directory\n",
                 "#0  [hook libgdbcuda-hook.so] cuMemAlloc_v2 (", "libgdbcuda-hook.so: will be reached\n"):  # fmt: skip
        assert said in text, text


@pytest.fixture
def odd_files(tmp_path: Path) -> Path:
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "empty").touch()
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    return tmp_path


READ = ("cuda-load", "cuda-check")
WRITTEN = ("cuda-log save", "cuda-save", "cuda-dlsym log save", "cuda-log start --to")


def test_files_that_are_none(local: Scenario, odd_files: Path) -> None:
    """Each is one line, and nothing waits for the other end of a pipe."""
    odd = {"folder": "folder", "fifo": "fifo", "loop": "loop", "loop/x": "loop", "/dev/full": "dev", "fifo/x": "fifo"}
    paths = {str(odd_files / name): what for name, what in odd.items()}
    typed = [f"{command} {path}" for command in (*READ, *WRITTEN) for path in paths]
    steps = [step for one in typed for step in (f"echo >> {one}\\n", one)]
    text = local.run("test_alloc", "cuda-break cuMemAlloc", *steps, "echo >> end\\n")
    for one in typed:
        said = text.partition(f">> {one}\n")[2].partition(">> ")[0]
        command, path = one.rsplit(" ", 1)
        is_written = path == "/dev/full" and command == "cuda-dlsym log save"  # nothing to write
        assert is_written or (len(said.splitlines()) == 1 and path in said), (one, said)
        assert is_written or said.startswith(f"{command.removesuffix(' --to').removesuffix(' save')}"), (one, said)


def test_a_program_that_is_rebuilt_and_run_again(local: Scenario, compile_c) -> None:
    """gdb sets the hit counts back before there is a thread."""
    program = compile_c("program", "int number = 1; void here(void) {} int main(void) { here(); return 0; }", "-g")
    rebuilt = f"shell touch -d '+5 seconds' {program}"
    text = local.run(program, "set confirm off", "break here", "RUN", rebuilt, "run", "info breakpoints", hook=None)
    assert "has changed; re-reading symbols" in text
    assert "breakpoint already hit 1 time" in text and "fault of gdbcuda" not in text, text


def test_a_hook_library_that_is_rebuilt_meanwhile(local: Scenario, compile_c, tmp_path: Path) -> None:
    """Cut off, empty, gone: each command says so in one line."""
    hook = compile_c("libmine.so", "int cuInit(unsigned n) { return 0; }", "-shared")
    states = [f"shell truncate -s {size} {hook}" for size in (5000, 100, 3, 0)] + [f"shell rm {hook}"]
    for state in states:
        typed = ("cuda-load libnone.so", state, "cuda-check", "cuda-break cuInit", "complete cuda-break cuI")
        text = local.run("test_alloc", *typed, "cuda-load", f"cuda-load {hook}", "echo on\\n", hook=hook)
        assert "cuda-check: " in text and text.endswith("on\n")


def test_gdb_has_no_object_for_the_thread_of_a_dying_process(local: Scenario) -> None:
    gone = "def gone(): raise SystemError('could not find gdb thread object')"
    words = ("set cuda-guard auto", "cuda-break cuMemAlloc if bytesize > 1T", "tbreak main", "run")
    text = session(local, *words, "cuda-guards", f"python {gone}", "python gdb.selected_thread = gone", "info line")
    assert re.search("^[12] +in the process", text, re.MULTILINE), text
    assert "fault of gdbcuda" not in text and "SystemError" not in text, text

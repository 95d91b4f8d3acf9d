"""Ctrl-C is gdb's, whenever it comes: it is not lost in a handler of gdb's events."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import time

import pytest
from scenario import GDB, ROOT, Scenario, is_cuda_gdb_11_8
from terminal import SECONDS, Typist

BUSY = """
#include <unistd.h>
void busy(void) { usleep(100); }
int main(void)
{
    alarm(200);
    for (int i = 0; i < %d; i++)
        busy();
}
"""
ENDLESS, TRIES = 1 << 30, 12
# A Ctrl-C while gdb tells of the third stop: Python does not look for it between that and the handler's return.
KILLING = """python
import _thread, gdb
hits = []
def third(event):
    hits.append(event)
    again = iter(_thread.interrupt_main, None) if len(hits) == 3 else ()
    return None in again
gdb.events.stop.connect(third)
end
"""
# A Ctrl-C while a function of gdb's runs, which one of our handlers has called at the third stop.
KILLING_INSIDE = """python
import ctypes, functools, gdb, signal, sys
hits, killed = [], []
kill = functools.partial(getattr(ctypes.CDLL(None), "raise"), signal.SIGINT)  # Python's own looks for it at once
gdb.events.stop.connect(hits.append)  # behind ours
def profile(frame, event, called):
    inside = event == "c_call" and len(hits) == 2 and "/gdbcuda/live/" in frame.f_code.co_filename
    if not inside or called.__name__ != "format_string":
        return
    killed.append(called)
    sys.setprofile(None)
    return None in iter(kill, 0)
sys.setprofile(profile)
end
"""
# A Ctrl-C when the code of a file begins to run: FILE's own, or a function of it.
KILLING_AT = """python
import ctypes, functools, gdb, signal, sys
killed = []
kill = functools.partial(getattr(ctypes.CDLL(None), "raise"), signal.SIGINT)
def profile(frame, event, called):
    code = frame.f_code
    if event == "call" and code.co_filename.endswith({file!r}) and code.co_name == {function!r} and not killed:
        killed.append(code)
        sys.setprofile(None)
        return None in iter(kill, 0)
sys.setprofile(profile)
end
"""


@pytest.mark.smoke("True")
@pytest.mark.parametrize("extension", [False, True])
def test_one_that_comes_while_gdb_tells_of_a_stop(local: Scenario, compile_c, tmp_path, extension: bool) -> None:
    script = tmp_path / "killing.gdb"
    script.write_text(KILLING)
    words = ["-x", str(script), *(["-x", f"{ROOT}/gdbcuda.py"] if extension else [])]
    one = Typist(local.environment(), *words, str(compile_c("six", BUSY % 6)), extension=False, in_full=local.in_full)
    one.type("break busy", "commands 1", "continue", "end")
    shown = one.type("run")
    assert shown.count("Breakpoint 1, ") == 3 and "exited" not in shown and "Python Exception" not in shown
    one.end()


@pytest.mark.smoke
def test_one_that_comes_while_a_handler_of_ours_is_inside_of_gdb(local: Scenario, compile_c, tmp_path) -> None:
    script = tmp_path / "killing.gdb"
    script.write_text(KILLING_INSIDE)
    one = Typist(local.environment(), "-x", str(script), str(compile_c("six", BUSY % 6)), in_full=local.in_full)
    one.type("break busy", "commands 1", "continue", "end")
    shown = one.type("run")
    assert shown.count("Breakpoint 1, ") == 3 and "exited" not in shown and "gdbcuda:" not in shown
    assert "[]" not in one.type("python print(killed)")
    one.end()


def test_one_that_comes_while_a_module_of_ours_is_loaded(local: Scenario, tmp_path) -> None:
    """The command ends, and the next one finds all of the module."""
    script = tmp_path / "killing.gdb"
    script.write_text(KILLING_AT.format(file="recording/by_breakpoints/recorder.py", function="<module>"))
    one = Typist(local.environment(), "-x", str(script), str(local.sample("test_alloc")))
    assert "cuda-log start: interrupted: nothing is recorded" in one.type("cuda-log start")
    assert "Recording" in one.type("cuda-log start") and "fault" not in one.type("run")
    assert "calls of" in one.type("cuda-log summary")
    one.end()


def test_one_that_comes_while_a_call_is_recorded(local: Scenario, tmp_path) -> None:
    """The program stops, and the call is in the log all the same."""
    script = tmp_path / "killing.gdb"
    script.write_text(KILLING_AT.format(file="recording/by_breakpoints/watchers.py", function="stop"))
    one = Typist(local.environment(), str(local.sample("test_alloc")))
    one.type("cuda-log start cuInit", f"source {script}")
    shown = one.type("run")
    assert "SIGINT" in shown and "gdbcuda:" not in shown
    assert "exited normally" in one.type("continue")
    assert "cuInit(" in one.type("cuda-log show")
    one.end()


@pytest.mark.smoke
def test_a_breakpoint_that_goes_on_can_be_interrupted(local: Scenario, compile_c) -> None:
    presses = 6 if is_cuda_gdb_11_8() else 1  # without us, too, it does not hear one in twenty
    one = Typist(local.environment(), str(compile_c("endless", BUSY % ENDLESS)), in_full=local.in_full)
    one.type("break busy", "commands 1", "continue", "end")
    for index in range(TRIES):
        os.write(one.ours, b"continue\n" if index else b"run\n")
        shown = one.interrupt(after=0.2 + index * 0.013 if index else 1, presses=presses)
        assert "SIGINT" in shown or "Quit" in shown
        assert "Python Exception" not in shown and "gdbcuda:" not in shown
    one.end()


def test_python_of_the_user_is_interrupted_as_ever(local: Scenario) -> None:
    one = Typist(local.environment())
    os.write(one.ours, b"python import time; time.sleep(100)\n")
    shown = one.interrupt(after=1)
    assert "KeyboardInterrupt" in shown or "Quit" in shown
    assert "still here" in one.type("echo still here\\n")
    one.end()


# A Ctrl-C while a module of ours loads, and one while an object of ours goes.
KILLING_LATER = """python
import _thread, sys
class Finder:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name == "gdbcuda.manual.markdown_blocks":
            sys.meta_path.remove(Finder)
            _thread.interrupt_main()
for name in ("gdbcuda.manual.markdown_blocks", "gdbcuda.manual.inline"):
    sys.modules.pop(name, None)
sys.meta_path.insert(0, Finder)
end
"""
KILLING_AT_THE_END = """python
import _thread, gdb
from gdbcuda.files import reading
def killed(self, before=reading._File.__del__):
    reading._File.__del__ = before
    before(self)
    _thread.interrupt_main()
    return 1
killed.__code__ = killed.__code__.replace(co_name="__del__")
reading._File.__del__ = killed
end
"""


def test_one_that_comes_while_a_module_of_ours_loads(local: Scenario, tmp_path) -> None:
    """The command ends, and works when it is typed again."""
    script = tmp_path / "killing.gdb"
    script.write_text(KILLING_LATER)
    one = Typist(local.environment())
    one.type(f"source {script}")
    shown = one.type("cuda-help routes")
    assert "Is my hook active" not in shown and "fault" not in shown and ("Quit" in shown or "Interrupt" in shown)
    assert "Is my hook active" in one.type("cuda-help routes")
    assert "None" in one.type("python print(sys.gettrace())")
    one.end()


def test_one_that_comes_while_an_object_of_ours_goes(local: Scenario, tmp_path) -> None:
    script = tmp_path / "killing.gdb"
    script.write_text(KILLING_AT_THE_END)
    one = Typist(local.environment())
    one.type(f"source {script}")
    shown = one.type(f"cuda-check --quiet {local.hook}")
    assert "Traceback" not in shown and "gdbcuda-hook.so: " not in shown and ("Quit" in shown or "Interrupt" in shown)
    assert "gdbcuda-hook.so: " in one.type(f"cuda-check --quiet {local.hook}")
    one.end()


def test_one_that_comes_while_gdb_ends(local: Scenario) -> None:
    """As SIGTERM is given to Python: gdb ends it and itself, and nobody is there to take it."""
    waiting = "python import threading, _thread; threading._register_atexit(_thread.interrupt_main)"
    writing = "python import atexit, _thread; atexit.register(_thread.interrupt_main)"  # the last: files come then
    last = "type('Last', (), {'__del__': lambda self: [os.kill(os.getpid(), 15), sum([1])]})()"
    going = f"python import os; last = {last}"
    for ending in (waiting, going):
        said = of_gdb(local, "-x", f"{ROOT}/gdbcuda.py", "-ex", ending)
        assert "Traceback" not in said and "interrupt_main" not in said and "ignored" not in said, said
    assert "Traceback" not in of_gdb(local, "-ex", writing, "-x", f"{ROOT}/gdbcuda.py")


def test_an_end_from_outside_at_the_prompt(local: Scenario) -> None:
    """The first line of Python behind it hears of it: one of ours that ends with Python itself."""
    line = [GDB, "-nx", "-q", "-x", f"{ROOT}/gdbcuda.py", "-ex", "echo ready\\n"]
    with subprocess.Popen(line, env=local.environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True) as gdb:  # fmt: skip
        assert gdb.stdout is not None and any(one == "ready\n" for one in gdb.stdout)
        time.sleep(0.5)  # it waits for a line
        gdb.terminate()
        said = gdb.communicate(timeout=60)[0]
    assert "Traceback" not in said and "ignored" not in said, said


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_one_that_comes_while_we_are_loaded(local: Scenario, number: signal.Signals) -> None:
    killing = (
        "python import os, sys; find = lambda name, path=None, target=None: "
        f"os.kill(os.getpid(), {number:d}) if name == 'gdbcuda.live.events' else None; "
        "sys.meta_path.insert(0, type('Killing', (), {'find_spec': staticmethod(find)}))"
    )
    said = of_gdb(local, "-ex", killing, "-x", f"{ROOT}/gdbcuda.py", "-ex", "cuda-version")
    assert "Traceback" not in said and "packages   pygments" in said, said


def of_gdb(local: Scenario, *line: str) -> str:
    done = subprocess.run([GDB, "-nx", "-batch", *line], env=local.environment(), stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, timeout=60, check=False)  # fmt: skip
    return done.stdout


IMPATIENT = "python from gdbcuda.command_line import waiting; waiting.PATIENCE = 0.01"


def test_a_long_command_says_so_and_ctrl_c_ends_it(local: Scenario) -> None:
    """gdb stays, the process stays, and what is said meanwhile is gone when the command is done."""
    library = local.hook
    one = Typist(local.environment(), str(local.sample("test_alloc")))
    one.type(IMPATIENT, "break main", "run")
    os.write(one.ours, f"cuda-check {library}\n".encode())
    shown = b""
    while b"is at work, 0 s; Ctrl-C ends it" not in shown and select.select([one.ours], [], [], SECONDS)[0]:
        shown += os.read(one.ours, 65536)
    os.write(one.ours, b"\x03")
    assert "Quit\n" in one.until_prompt("Ctrl-C")
    assert "use_first_device" in one.type("frame") and "hook library, x86-64" in one.type(f"cuda-check {library}")
    assert "exited normally" in one.type("continue")
    one.end()


def test_redirected_output_has_no_such_line(local: Scenario) -> None:
    library = local.hook
    text = local.run("test_alloc", IMPATIENT, f"cuda-check {library}", hook=None)
    assert "hook library, x86-64" in text and "is at work" not in text

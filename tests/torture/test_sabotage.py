"""The run must be able to fail: extensions that do one thing wrong are found, one that does nothing is not."""

from __future__ import annotations

import signal
import subprocess
from pathlib import Path

import pytest
import stuck
from sessions import Session
from torture_support import Torture
from watches import Watch

# Our commands made of gdb's own: what a run without a fault looks like.
HONEST = r"""
import os, re, signal, time
import gdb

class Break(gdb.Command):
    def __init__(self):
        super().__init__("cuda-break", gdb.COMMAND_BREAKPOINTS)
    def invoke(self, text, from_tty):
        text = re.sub(r"(\d+)T", lambda found: str(int(found[1]) << 40), text)
        gdb.execute("break " + text.replace("bytesize", "(unsigned long)$rsi"))

class Argument(gdb.Function):
    def __init__(self):
        super().__init__("_cuda_arg")
    def invoke(self, name):
        return gdb.parse_and_eval("(unsigned long)$rsi")

class Nothing(gdb.Command):
    def __init__(self, name):
        super().__init__(name, gdb.COMMAND_USER)
    def invoke(self, text, from_tty):
        pass

Break(), Argument(), Nothing("cuda-guards"), Nothing("cuda-log"), Nothing("cuda-load")
stops = []
def at_stop(number, action):
    def on_stop(event):
        stops.append(event)
        if len(stops) == number:
            action()
    gdb.events.stop.connect(on_stop)

def write(address, data):
    gdb.selected_inferior().write_memory(address, data)

def address(text):
    return int(gdb.parse_and_eval(text))
"""

ONE_BYTE = """
at_stop(3, lambda: write(address("(unsigned long)&cuMemAlloc_v2 - 1"), b"\\x90"))
"""

# In the code that the user looks at at a stop, and gone again as soon as the program goes on.
SHOWN = """
def change():
    at = address("(unsigned long)&cuMemAlloc_v2 + 1")
    own = bytes(gdb.selected_inferior().read_memory(at, 1))
    def undo(event):
        write(at, own)
        gdb.events.cont.disconnect(undo)
    write(at, b"\\x90")
    gdb.events.cont.connect(undo)
at_stop(3, change)
"""

# The child of a fork is stopped where the catchpoint stops.
CHILD = """
gdb.execute("catch fork")
killed = []
def kill(event):
    pid = gdb.selected_inferior().pid
    for name in os.listdir("/proc") if not killed else ():
        if name.isdigit() and open("/proc/%s/stat" % name).read().rpartition(")")[2].split()[1] == str(pid):
            killed.append(os.kill(int(name), signal.SIGTERM))
gdb.events.stop.connect(kill)
"""

# A breakpoint of its own goes while the child of a fork waits, and stays in the child.
TRAP = """
gdb.execute("catch fork")
def leave(event):
    at = address("(unsigned long)&cuMemAllocHost_v2")
    gdb.Breakpoint("*%#x" % at, internal=True).delete()
    pid = gdb.selected_inferior().pid
    for child in open("/proc/%d/task/%d/children" % (pid, pid)).read().split():
        with open("/proc/%s/mem" % child, "r+b", buffering=0) as memory:
            memory.seek(at)
            memory.write(b"\\xcc")
gdb.events.stop.connect(leave)
"""

HIT = """
def lose():
    for one in gdb.breakpoints():
        if one.condition:
            one.condition += " && ++$lost != 2"
at_stop(1, lose)
"""

ARGUMENT = """
at_stop(3, lambda: write(address("$rdi"), b"\\1\\2\\3\\4"))
"""

HANG = """
def hang():
    while True:
        time.sleep(60)
at_stop(2, hang)
"""

RAISE = """
def fail():
    raise RuntimeError("no such thing")
at_stop(2, fail)
"""

KILL = """
at_stop(3, lambda: os.kill(gdb.selected_inferior().pid, signal.SIGKILL))
"""

ABORT = """
at_stop(3, os.abort)
"""


def session(watch: Watch, end: str, **more: int) -> Session:
    return Session("local", end, "nothing", [watch], **more)


def extension(folder: Path, sabotage: str) -> Path:
    path = folder / "extension.py"
    path.write_text(HONEST + sabotage)
    return path


@pytest.mark.parametrize("end", ["exits", "detaches", "deletes", "reruns", "kills", "quits"])
def test_nothing_is_found_where_nothing_is_wrong(torture: Torture, watch: Watch, tmp_path: Path, end: str) -> None:
    last = 0 if end == "exits" else 2
    assert torture.play(extension(tmp_path, ""), session(watch, end, last=last)) == {}


def test_processes_that_no_run_has_begun_go_on(torture: Torture, watch: Watch, tmp_path: Path) -> None:
    """Other tests' gdbs wait for their next question."""
    with subprocess.Popen(["sleep", "600"]) as waiting:
        assert torture.play(extension(tmp_path, ""), session(watch, "exits")) == {}
        assert waiting.poll() is None
        waiting.kill()
        assert waiting.wait() == -signal.SIGKILL, "whoever has started it hears how it ended"


@pytest.mark.parametrize(
    ("sabotage", "kind", "text"),
    [
        (CHILD, "child", "signal 15, not"),
        (SHOWN, "code at a stop", "code of libhook.so"),
        (HIT, "hits", "hits of"),
        (ARGUMENT, "result", "wrong: cuMemAlloc_v2"),
        (RAISE, "python", "no such thing"),
        (KILL, "died", ""),
        (ABORT, "gdb died", "signal 6"),
    ],
    ids=["child", "shown", "hit", "argument", "raise", "kill", "abort"],
)
def test_sabotage_is_found(torture: Torture, watch: Watch, tmp_path: Path, sabotage: str, kind: str, text: str) -> None:
    found = torture.play(extension(tmp_path, sabotage), session(watch, "exits"))
    if sabotage == KILL and "program gone" in found.get("stuck", ""):
        return  # gdb itself may wait for ever for a program that somebody kills: that is found as well
    assert kind in found and text in found[kind], found


def test_a_breakpoint_that_stays_in_children_is_found_among_steps(
    torture: Torture, watch: Watch, tmp_path: Path
) -> None:
    """gdb leaves some there itself as a step ends, and they are told from those that others made."""
    found = torture.play(extension(tmp_path, TRAP), Session("local", "exits", "steps", [watch]))
    assert "signal 5, not" in found["child"] and "trapped at libhook.so" in found["child"], found


@pytest.mark.parametrize("end", ["detaches", "deletes"])
def test_a_byte_that_is_left_in_the_code_is_found(torture: Torture, watch: Watch, tmp_path: Path, end: str) -> None:
    found = torture.play(extension(tmp_path, ONE_BYTE), session(watch, end, last=4))
    assert "code of libhook.so" in found.get("code", ""), found


def test_a_gdb_that_hangs_is_found(
    torture: Torture, watch: Watch, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stuck, "STILL", 2)
    assert "stuck" in torture.play(extension(tmp_path, HANG), session(watch, "exits"))
    assert "Thread 1" in next(torture.build.folder.glob(f"{tmp_path.name}/*/stuck")).read_text()

"""gdbcuda trace --with: which way is taken, and what is said where none is."""

from __future__ import annotations

import ctypes
import os
import platform
import shutil
import struct
import subprocess
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import pytest
from shim_support import ROOT

from gdbcuda.errors import UserError
from gdbcuda.files import places
from gdbcuda.observe import ptracing
from gdbcuda.observe.uprobes import needs
from gdbcuda.shell.observers import auto
from gdbcuda.shell.observers.options import ObserverOptions
from gdbcuda.shell.trace import attached, starting


def chosen(monkeypatch: pytest.MonkeyPatch, recorder: bool, uprobes: Sequence[str] = (), **wanted: object) -> str:
    monkeypatch.setattr(places, "built", lambda library: "/lib/it.so" if recorder else "")
    monkeypatch.setattr(starting, "remarks", lambda program: iter(()))
    monkeypatch.setattr(needs, "missing", lambda: iter(uprobes))
    monkeypatch.setattr("platform.machine", lambda: "x86_64")
    return auto.choose(ObserverOptions(**wanted), ["true"])


def test_the_recorder_where_it_works(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert chosen(monkeypatch, recorder=True) == "recorder"
    said = "watching with the recorder, preloaded (not uprobe: the recorder costs less)"
    assert capsys.readouterr().err == f"gdbcuda: {said}\n"


def test_uprobes_where_it_does_not(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert chosen(monkeypatch, recorder=False) == "uprobe"
    assert "not recorder: libgdbcuda-trace.so is not built" in capsys.readouterr().err
    assert chosen(monkeypatch, recorder=True, pid=7) == "uprobe"
    assert capsys.readouterr().err == "gdbcuda: watching with uprobes (not recorder: it has no -p)\n"


def test_a_process_that_may_not_be_traced(monkeypatch: pytest.MonkeyPatch) -> None:
    assert list(auto.not_attached(os.getpid())) == []

    def refuse(path: str, flags: int) -> int:
        raise PermissionError(path)

    monkeypatch.setattr(os, "open", refuse)
    assert list(auto.not_attached(7)) == ["process 7 may not be traced, and one that runs cannot be preloaded"]
    monkeypatch.undo()
    with pytest.raises(UserError, match="there is no process 4194305"):
        list(auto.not_attached(4194305))
    monkeypatch.setenv("GDBCUDA_GDB", "/none/gdb")
    assert "/none/gdb" in "".join(auto.not_attached(os.getpid()))


def test_none(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UserError, match=r"not recorder: .*; not uprobe: no root.*gdbcuda gdb -p PID"):
        chosen(monkeypatch, recorder=False, uprobes=["no root"], pid=7)


def test_each_need_is_a_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("platform.machine", lambda: "x86_64")
    monkeypatch.setattr(places, "on_path", lambda name: None)
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    monkeypatch.setattr(needs, "UPROBES", ("/no/such",))
    monkeypatch.setattr(needs, "TRACEFS", ("/no/such",))
    found = [*needs.missing()]
    assert [one.split()[0] for one in found] == ["no", "uprobes", "this"] and not any("\n" in one for one in found)
    monkeypatch.setattr("os.geteuid", lambda: 0)
    monkeypatch.setattr(needs, "capabilities", lambda: 1 << 39)
    assert any("CAP_BPF" in one for one in needs.missing())


def test_too_few_open_files(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("resource.getrlimit", lambda which: (256, 1024))
    needs.allow_files(20)
    with pytest.raises(UserError, match="ulimit -n allows 1024"):
        needs.allow_files(600)


def test_help_has_examples() -> None:
    line = [sys.executable, "-m", "gdbcuda", "trace", "--help"]
    done = subprocess.run(line, capture_output=True, text=True, cwd=ROOT)
    assert "--with recorder|uprobe|strace|auto" in done.stdout and "--with uprobe --function" in done.stdout


TRACES = 101  # ptrace's number on x86-64
CAP_SYS_PTRACE = 19
SECCOMP, FILTER, NO_NEW_PRIVILEGES = 22, 2, 38  # of prctl


def refuse_ptrace() -> None:
    """As a container's filter does. (seccomp(2): load the number; is it that; EPERM, or allow.)"""
    lines = [(0x20, 0, 0, 0), (0x15, 0, 1, TRACES), (0x06, 0, 0, 0x50001), (0x06, 0, 0, 0x7FFF0000)]
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *one) for one in lines))
    program = ctypes.create_string_buffer(struct.pack("HxxxxxxQ", len(lines), ctypes.addressof(code)))
    libc = ctypes.CDLL(None)
    libc.prctl(NO_NEW_PRIVILEGES, 1, 0, 0, 0)
    if libc.prctl(SECCOMP, FILTER, program):
        os._exit(77)


@pytest.mark.skipif(platform.machine() != "x86_64", reason="the number of a system call")
@pytest.mark.skipif(shutil.which("strace") is None, reason="no strace")
def test_where_nobody_may_trace(tmp_path: Path) -> None:
    """strace said eight lines, and then that there were no system calls."""
    code = ("from gdbcuda.shell.observers import auto; import os; print(*auto.not_attached(os.getpid()))\n"
            "from gdbcuda.shell import cli; raise SystemExit(cli.main(['trace', '--with', 'strace', '--', 'true']))")
    done = subprocess.run([sys.executable, "-c", code], preexec_fn=refuse_ptrace, capture_output=True, text=True,
                          cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(ROOT)}, check=False)  # fmt: skip
    assert done.stdout == f"{ptracing.WHY}\n"
    assert (done.returncode, done.stderr) == (2, f"gdbcuda: strace cannot watch: {ptracing.WHY}\n")
    assert not list(tmp_path.iterdir()) and ptracing.is_allowed()


@pytest.mark.skipif(platform.machine() != "x86_64", reason="the number of a system call")
def test_where_gdb_starts_no_program(tmp_path: Path) -> None:
    """A demo was played without a program, and ended well."""
    lines = [["demo", "there"], ["fail", "cuInit", "with", "2", "--", "true"], ["run", "--", "true"]]
    code = f"from gdbcuda.shell import cli; print([cli.main(line) for line in {lines}])"
    done = subprocess.run([sys.executable, "-c", code], preexec_fn=refuse_ptrace, capture_output=True, text=True,
                          cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(ROOT)}, check=False)  # fmt: skip
    said = f"gdbcuda: {ptracing.WHY}, so gdb starts no program; gdbcuda trace needs none of it\n"
    assert (done.stdout, done.stderr) == ("[2, 2, 2]\n", said * 3) and not list(tmp_path.iterdir())


@pytest.mark.skipif(platform.machine() != "x86_64", reason="the number of a system call")
def test_a_gdb_with_rights_of_its_own_is_not_answered_for(tmp_path: Path) -> None:
    """With Yama's scope 2 gdb may have CAP_SYS_PTRACE by its file, and we have not. (capabilities(7))"""
    gdb = tmp_path / "gdb"
    gdb.write_text("#!/bin/sh\n")
    gdb.chmod(0o755)
    code = "from gdbcuda.observe import ptracing; ptracing.require()"
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "GDBCUDA_GDB": str(gdb)}
    words = [sys.executable, "-c", code]
    run = partial(subprocess.run, words, preexec_fn=refuse_ptrace, capture_output=True, env=environment, check=False)
    assert b"gdb starts no program" in run().stderr
    try:
        os.setxattr(gdb, ptracing.CAPABILITIES, struct.pack("<5I", 0x02000001, 1 << CAP_SYS_PTRACE, 0, 0, 0))
    except OSError:
        gdb.chmod(0o4755)
    assert run().returncode == 0


def test_of_a_process_that_may_not_be_traced_gdb_says_why() -> None:
    text = "ptrace: Operation not permitted.\ncuda-log start: the recorder is not in this process\n"
    assert attached.why(text, was_ended=False) == "ptrace: Operation not permitted."

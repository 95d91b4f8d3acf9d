"""What `gdbcuda run` starts for a command, and how it tells apart what several processes write."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from gdbcuda.calls import rank_names
from gdbcuda.errors import UserError
from gdbcuda.shell.run import launchers
from gdbcuda.shell.run.gdb_lines import GdbLines
from gdbcuda.shell.run.ranked_output import RankedOutput
from gdbcuda.shell.run.started_program import startable

PYTHON = os.path.realpath(sys.executable)


def script(folder: Path, name: str, text: str, mode: int = 0o755) -> Path:
    path = folder / name
    path.write_text(text)
    path.chmod(mode)
    return path


def test_a_program_is_itself_and_a_link_keeps_its_name(tmp_path: Path) -> None:
    (tmp_path / "python3").symlink_to(PYTHON)
    assert startable([PYTHON, "-c", "1\n2"], {}).words == [PYTHON, "-c", "1\n2"]
    assert startable([f"{tmp_path}/python3"], {}).words == [f"{tmp_path}/python3"]


def test_a_script_begins_with_its_interpreter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "python9").symlink_to(PYTHON)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    by_env = script(tmp_path, "by_env", "#!/usr/bin/env python9\n")
    one_word = script(tmp_path, "one_word", f"#! {PYTHON} -u -v\n")
    of_script = script(tmp_path, "of_script", f"#!{by_env}\n")
    nothing = script(tmp_path, "nothing", "echo\n")
    assert startable([str(by_env), "a b"], {}).words == [f"{tmp_path}/python9", str(by_env), "a b"]
    assert startable([str(one_word)], {}).words == [PYTHON, "-u -v", str(one_word)]
    assert startable([str(of_script), "x"], {}).words == [f"{tmp_path}/python9", str(by_env), str(of_script), "x"]
    assert startable([str(nothing)], {}).words == ["/bin/sh", str(nothing)]
    assert startable(["by_env"], {}).words == [f"{tmp_path}/python9", str(by_env)]


def test_a_shim_of_python_says_what_it_starts_and_with_which_environment(tmp_path: Path) -> None:
    shim = script(tmp_path, "python3.11", f"#!/bin/sh\necho hello\nBY_SHIM=1 exec {PYTHON} \"$@\"\n")
    found = startable([str(shim), "train.py"], {"PATH": os.environ["PATH"]})
    assert os.path.realpath(found.words[0]) == PYTHON and found.words[1:] == ["train.py"]
    assert found.environment["BY_SHIM"] == "1"


def test_a_shim_that_fails_is_a_script_like_another(tmp_path: Path) -> None:
    shim = script(tmp_path, "python3", "#!/bin/sh\nexit 3\n")
    found = startable([str(shim), "train.py"], {"OWN": "1"})
    assert (found.words, found.environment) == (["/bin/sh", str(shim), "train.py"], {"OWN": "1"})


@pytest.mark.parametrize(
    ("name", "text", "mode", "why"),
    [
        ("a", None, 0, "cannot start {}: no such file"),
        ("b", "#!/bin/sh\n", 0o644, "cannot start {}: it is not executable"),
        ("c", "MZ\0\0", 0o755, "{} is neither a program of this system nor a script"),
        ("d", "#!/no/such/thing\n", 0o755, "cannot start /no/such/thing: no such file"),
        ("e", "#!{}", 0o755, "is a script of a script of a script"),
    ],
)
def test_what_cannot_be_started(tmp_path: Path, name: str, text: str | None, mode: int, why: str) -> None:
    path = tmp_path / name
    if text is not None:
        script(tmp_path, name, text.replace("{}", str(path)), mode)
    with pytest.raises(UserError) as told:
        startable([str(path)], {})
    assert why.format(path) in str(told.value)


def shown(*written: tuple[int, str], flush_behind: int = -1) -> str:
    text: list[bytes] = []
    output = RankedOutput(text.append, lambda pid: f"rank {pid}" if pid < 10 else "")
    for index, (pid, piece) in enumerate(written):
        output.feed(pid, piece.encode())
        if index == flush_behind:
            output.flush()
    output.flush()
    return b"".join(text).decode()


def test_each_line_has_the_rank_that_wrote_it() -> None:
    assert shown((1, "a\nb"), (2, "c\n"), (1, "d\n\n")) == "[rank 1] a\n[rank 2] c\n[rank 1] bd\n[rank 1] \n"
    assert shown((99, "launcher\n"), (1, "x\n")) == "launcher\n[rank 1] x\n"


def test_a_question_is_shown_without_its_end() -> None:
    assert shown((1, "name? "), (1, "me\n"), flush_behind=0) == "[rank 1] name? me\n"
    assert shown((1, "name? "), (2, "x\n"), flush_behind=0) == "[rank 1] name? \n[rank 2] x\n"


def test_a_progress_bar_stays_in_its_line() -> None:
    assert shown((1, "10%\r"), (1, "20%\r"), (1, "\n")) == "[rank 1] 10%\r[rank 1] 20%\r\n"
    assert shown((1, "10%\r"), (2, "x\r\n")) == "[rank 1] 10%\r\n[rank 2] x\r\n"


def test_gdbs_own_lines_of_each_process_are_left_out() -> None:
    lines = GdbLines()
    assert lines.feed(b"[Thread debugging using libthread_db enabled]\nBreakpoint 1: cuM") == b""
    of_a_dead_one = b"Cannot remove breakpoints because program is no longer writable.\n"
    of_a_dead_one += b"Further execution is probably impossible.\n"
    assert lines.feed(b"emAlloc\n\n[New inferior 2 (process 7)]\n" + of_a_dead_one + b"#0  f () at a.c:7\nBrea") == (
        b"Breakpoint 1: cuMemAlloc\n#0  f () at a.c:7\n"
    )
    assert lines.rest() == b"Brea"


@pytest.mark.parametrize(
    ("variables", "called"),
    [
        ({"RANK": "3", "LOCAL_RANK": "1"}, "rank 3"),
        ({"LOCAL_RANK": "1"}, "local rank 1"),
        ({"OMPI_COMM_WORLD_RANK": "12"}, "rank 12"),
        ({"RANK": "three"}, ""),
        ({"RANK": "-1", "SLURM_PROCID": "0"}, "rank 0"),
        ({}, ""),
    ],
)
def test_ranks(variables: dict[str, str], called: str) -> None:
    assert rank_names.label(variables.get) == called


def test_launchers() -> None:
    assert launchers.is_one(["/opt/bin/torchrun", "--nproc-per-node=2", "train.py"])
    assert launchers.is_one(["conda", "run", "-n", "x", "accelerate", "launch", "train.py"])
    assert launchers.is_one(["python3", "-m", "torch.distributed.run", "train.py"])
    assert not launchers.is_one(["python3", "train.py"])

"""A scenario in a copy of a gdb says what it says in a gdb of its own, and leaves nothing behind for the next one."""

from __future__ import annotations

import dataclasses
import os
import re
import subprocess
from pathlib import Path

import pytest
from forking_gdb import PLACES, ForkingGdb, is_played_as_typed
from scenario import EXTENSION, GDB, NO_DEBUG_FILES, ONE_THREAD, Scenario, is_cuda_gdb

pytestmark = pytest.mark.skipif(is_cuda_gdb(), reason="cuda-gdb has threads of its own: there is no copy of it")
WORDS = ("cuda-break cuMemAlloc if bytesize > 1G", "run", "no-such-command", "cuda-log", "bt",
         "info breakpoints", "show args", "pwd", "show environment", "cuda-check", "kill", "cuda-layers")  # fmt: skip


# Up to gdb 15, and since.
NONE = ("No breakpoints or watchpoints.", "No breakpoints, watchpoints, tracepoints, or catchpoints.")


@pytest.fixture
def odd_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "it's a folder").mkdir()
    monkeypatch.chdir(tmp_path / "it's a folder")


def test_a_copy_says_what_a_gdb_of_its_own_says(local: Scenario, odd_folder: None) -> None:
    by_a_shell = () if GDB == "gdb" else ("PWD=",)  # which sets that
    said, own = [], ("COLUMNS=", "LINES=", "[Inferior 1", *by_a_shell)
    for words in (WORDS, (*WORDS, *["echo"] * PLACES)):  # too many: that is a gdb of its own
        text = local.run("test_alloc", *words, arguments=("3", "two words"))
        said.append([line for line in text.splitlines() if not line.startswith(own)])
    assert said[0] == said[1]
    assert re.search(r"^Breakpoint 1(\.2)?, ", "\n".join(said[0]), re.M)
    assert 'Undefined command: "no-such-command".  Try "help".' in said[0]


def test_the_next_copy_knows_nothing_of_it(local: Scenario) -> None:
    local.run("test_alloc", "cuda-break cuMemAlloc", "set cuda-debug on", "python os = 5", "python import this", "run")
    text = local.run(None, "info breakpoints", "show cuda-debug", "python print('os' in globals())", hook=None)
    assert text.splitlines()[0] in NONE and text.endswith("off.\nFalse\n"), text
    assert local.run(None, "echo a line that does not end", hook=None) == "a line that does not end"


def test_files_of_many_scenarios_are_read_once(local: Scenario) -> None:
    """The gdb that is copied uses them, too."""
    users = {}
    for is_alone in (True, False):
        words = ("break main", "run", *["echo"] * PLACES * is_alone, "maint info bfds")
        told = re.findall(r"^(\d+) .*/(libcuda\.so\.1|libgdbcuda-hook\.so|test_alloc) *$",
                          local.run("test_alloc", *words), re.MULTILINE)  # fmt: skip
        users[is_alone] = {name: int(count) for count, name in told}
    assert len(users[True]) == 3 and users[False] == {name: count + 1 for name, count in users[True].items()}


@pytest.fixture
def forking(local: Scenario):
    line = [GDB, "-nx", "-q", "-batch", *NO_DEBUG_FILES, *ONE_THREAD, *EXTENSION]
    made = ForkingGdb(line, local.environment(), 5, local.hook)
    yield made
    made.stop()


def test_a_copy_that_hangs_is_ended(forking: ForkingGdb) -> None:
    with pytest.raises(subprocess.TimeoutExpired):
        forking.play(["python import time; print('asleep', flush=True); time.sleep(1000)"], None, ())
    assert forking.play(["echo there\\n"], None, ()) == "there\n"


def test_a_copy_that_dies_is_no_copy_for_the_next(forking: ForkingGdb) -> None:
    assert forking.play(["echo here\\n", "python import os; os.abort()", "echo more\\n"], None, ()).startswith("here\n")
    assert forking.play(["echo there\\n"], None, ()) == "there\n"


def test_one_that_has_ended_is_told_of_and_made_anew(forking: ForkingGdb) -> None:
    assert forking.play(["echo here\\n"], None, ()) == "here\n"
    forking.running.kill()
    forking.running.wait()
    with pytest.warns(UserWarning, match="has ended, status -9: "):
        assert forking.play(["echo there\\n"], None, ()) == "there\n"


def test_the_program_has_no_descriptor_of_it(local: Scenario) -> None:
    """It sees those of a gdb of its own."""
    listed = "python import os; print(sorted(os.listdir(f'/proc/{gdb.selected_inferior().pid}/fd')))"
    asked = ("break main", "run", listed)
    forked = local.run("test_alloc", *asked, hook=None).splitlines()[-1]
    alone = local.run("test_alloc", *asked, hook=None, environment={"ALONE": "1"}).splitlines()[-1]
    assert forked == alone and alone.startswith("['0', '1', '2'")


@pytest.mark.parametrize("commands, is_played", [
    (["run", "bt"], True), (["python print(1)"], True), ([""], True), (["commands 1"], False), (["python"], False),
    (["python\nprint(1)\nend"], False), (["echo $argc"], False), (["complete cuda-break "], False),
    (["bt"] * (PLACES + 1), False),
])  # fmt: skip
def test_what_a_copy_plays(commands: list[str], is_played: bool) -> None:
    assert is_played_as_typed(commands) == is_played


def test_smoke_is_in_a_gdb_of_its_own(local: Scenario, monkeypatch: pytest.MonkeyPatch) -> None:
    """As users have it: one scenario of each kind."""
    monkeypatch.setattr(ForkingGdb, "play", None)
    whole = dataclasses.replace(local, in_full=True)
    assert whole.run(None, f"python print({os.getpid()})", hook=None).endswith(f"{os.getpid()}\n")

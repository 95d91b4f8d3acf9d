"""The sessions of README.md can be typed as they stand: every file is there, every line that is shown comes."""

from __future__ import annotations

import os
import re
import shutil
import sysconfig
from pathlib import Path

import pytest
from readme_sessions import Session, missing, sessions, typed
from scenario import GDB, ROOT, version

SESSIONS = sessions((ROOT / "README.md").read_text())
MADE_WITH = "GNU gdb (Debian 13."  # other gdbs word things differently, other libcs have other versions
TROUBLE = re.compile(r"No such file|not found|cannot open|: error:|Traceback|Undefined command|No symbol")
pytestmark = pytest.mark.skipif(GDB != "gdb", reason="the sessions are typed with this machine's own gdb")


def name(session: Session) -> str:
    gdbs = [step.command for step in session.steps if step.command.startswith("cuda-")]
    return (gdbs[1:2] or [session.steps[0].command])[0][:40]


@pytest.fixture(scope="module")
def clone(shim: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """As it is after ./scripts/demo; the sessions write into it."""
    folder = tmp_path_factory.mktemp("home") / "gdbcuda"
    folder.mkdir()
    for each in ("gdbcuda", "gdbcuda.py"):
        (folder / each).symlink_to(ROOT / each)
    shutil.copytree(ROOT / "shim", folder / "shim", symlinks=True, ignore=shutil.ignore_patterns("*.o", ".lock"))
    return folder


@pytest.fixture(scope="module")
def environment(clone: Path) -> dict[str, str]:
    unwanted = ("LD_", "GDBCUDA_", "PYTHON", "DEBUGINFOD_", "XDG_")
    kept = {key: value for key, value in os.environ.items() if not key.startswith(unwanted)}
    path = f"{sysconfig.get_path('scripts')}:{kept['PATH']}"
    return {**kept, "PATH": path, "HOME": str(clone.parent), "LC_ALL": "C.UTF-8"}


def test_there_are_sessions_and_each_begins_in_a_shell() -> None:
    assert len(SESSIONS) > 20
    assert [f"README.md:{one.line}" for one in SESSIONS if one.steps[0].prompt != "$"] == []


def test_no_session_needs_a_variable_from_elsewhere() -> None:
    lines = [step.command for session in SESSIONS for step in session.steps if step.prompt == "$"]
    used = {name for line in lines for name in re.findall(r"\$\{?(\w+)", line)}
    assert used <= {"PWD"}


@pytest.fixture(scope="module")
def new_hook(clone: Path, environment: dict[str, str]) -> None:
    """The first session, which the others build on."""
    test_what_is_shown_comes(SESSIONS[0], clone, environment)


@pytest.mark.usefixtures("new_hook")
@pytest.mark.parametrize("session", SESSIONS[1:], ids=lambda one: f"{one.line}-{name(one)}")
def test_what_is_shown_comes(session: Session, clone: Path, environment: dict[str, str]) -> None:
    said = typed(session, clone, environment)
    assert not TROUBLE.search(said), said
    if version().startswith(MADE_WITH):
        assert missing(session, said) == [], said

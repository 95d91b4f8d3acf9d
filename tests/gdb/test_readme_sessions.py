"""The sessions of README.md and the manual can be typed as they stand: every file is there, every line shown comes.

Each page in a clone of its own, for it may need no other page: its first session makes what its others use."""

from __future__ import annotations

import os
import re
import shutil
import sysconfig
from pathlib import Path

import pytest
from readme_sessions import PAGES, Session, missing, sessions, typed
from scenario import GDB, ROOT, version

SESSIONS = [one for page in PAGES for one in sessions(page)]
MADE_WITH = "GNU gdb (Debian 13."  # other gdbs word things differently, other libcs have other versions
TROUBLE = re.compile(r"No such file|not found|cannot open|: error:|Traceback|Undefined command|No symbol")
LOOP = r"\bfor (\w+) in "  # it has its variable from the line itself
NO_CALLS = "Couldn't write extended state status"  # what gdb says where it cannot write registers, so calls no function
pytestmark = pytest.mark.skipif(GDB != "gdb", reason="the sessions are typed with this machine's own gdb")


@pytest.fixture(scope="module")
def built(shim: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of shim/, for the sessions write into it. With its objects: a session's `make` finds all of them made."""
    return shutil.copytree(ROOT / "shim", tmp_path_factory.mktemp("built") / "shim", symlinks=True,
                           ignore=shutil.ignore_patterns(".lock"))  # fmt: skip


def clone(built: Path, page: Path) -> Path:
    """Of a page: as it is after ./scripts/demo."""
    folder = built.parent / page.stem / "gdbcuda"
    folder.mkdir(parents=True)
    for each in ("gdbcuda", "gdbcuda.py"):
        (folder / each).symlink_to(ROOT / each)
    return shutil.copytree(built, folder / "shim", symlinks=True, copy_function=os.link).parent


def environment(home: Path) -> dict[str, str]:
    unwanted = ("LD_", "GDBCUDA_", "PYTHON", "DEBUGINFOD_", "XDG_")
    kept = {key: value for key, value in os.environ.items() if not key.startswith(unwanted)}
    path = f"{sysconfig.get_path('scripts')}:{kept['PATH']}"
    return {**kept, "PATH": path, "HOME": str(home), "LC_ALL": "C.UTF-8"}


def check(session: Session, clone: Path) -> str:
    """What came, where that is not what the page shows."""
    said = typed(session, clone, environment(clone.parent))
    if TROUBLE.search(said):
        return said
    if NO_CALLS in said or not version().startswith(MADE_WITH):
        return ""
    lacking = missing(session, said)
    return f"{said}==== missing of {session}: {lacking}" if lacking else ""


def test_there_are_sessions_and_each_begins_in_a_shell() -> None:
    assert len(SESSIONS) > 20
    assert [str(one) for one in SESSIONS if one.steps[0].prompt != "$"] == []


def test_no_session_needs_a_variable_from_elsewhere() -> None:
    lines = [step.command for session in SESSIONS for step in session.steps if step.prompt == "$"]
    used = {name for line in lines for name in set(re.findall(r"\$\{?(\w+)", line)) - set(re.findall(LOOP, line))}
    assert used <= {"PWD"}


@pytest.mark.parametrize("page", {one.page: None for one in SESSIONS}, ids=lambda page: page.name)
def test_what_is_shown_comes(built: Path, page: Path) -> None:
    """In one test for each page, for two workers would both make what the first session makes."""
    folder = clone(built, page)
    wrong = [said for session in sessions(page) if (said := check(session, folder))]
    assert not wrong, "\n".join(wrong)

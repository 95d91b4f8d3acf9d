"""Every command explains itself, and its examples work as typed."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

import pytest
from idle_gdb import IdleGdb
from scenario import GDB, ROOT, Scenario, execute

from gdbcuda.log import options as of_logs

ASK = "python from gdbcuda.live.prompt.command import REGISTRY; print('names:', *REGISTRY, sep='|')"


def names() -> list[str]:
    text = execute([GDB, "-nx", "-q", "-batch", "-x", str(ROOT / "gdbcuda.py"), "-ex", ASK], dict(os.environ))
    return next(row for row in text.splitlines() if row.startswith("names:")).split("|")[1:]


NAMES = names()


def help_of(idle: IdleGdb, name: str) -> str:
    return idle.run(f"help {name}")


@pytest.mark.parametrize("name", NAMES)
def test_help_has_usage_and_examples(idle: IdleGdb, name: str) -> None:
    text = help_of(idle, name)
    first, second = text.splitlines()[:2]
    assert first.endswith("."), first
    assert second.startswith(f"Usage: {name}")
    assert f"\n  {name}" in text.partition("Examples:")[2]


@pytest.mark.parametrize("name", NAMES)
def test_help_fits_80_columns(idle: IdleGdb, name: str) -> None:
    """But for what gdb itself says below a list of subcommands."""
    lines = help_of(idle, name).partition('\nType "help ')[0].splitlines()
    assert [line for line in lines if len(line) >= 80] == []


# Where the help of each command says that one is: what is typed before its examples.
SESSION = {
    "cuda-call": ["cuda-break cuMemAlloc --in driver", "run"],
    "cuda-memory": ["cuda-log start --memory", "cuda-break cuMemFree --in driver", "run"],
    "cuda-coverage": ["cuda-log start --in hook", "run"],
    "cuda-log stop": ["cuda-log start"],
    "cuda-log show": ["cuda-log start --in hook", "run"],
    "cuda-log save": ["cuda-log start --in hook", "run"],
    "cuda-log diff": ["cuda-log start --to without.jsonl", "run", "cuda-log stop", "cuda-log save with.jsonl"],
    "cuda-log summary": ["cuda-log start --in hook", "run"],
    "cuda-dlsym": ["break main", "run"],
    "cuda-layers": ["break main", "run"],
    "cuda-route": ["break main", "run"],
    "cuda-locks": ["break main", "run"],
}
ELSEWHERE = {  # what an example needs of another machine, or of a session that had other addresses
    "cuda-remote --container trainer --connect": "docker",
    "cuda-locks &region->lock": 'No symbol "region"',
    "cuda-log detach": "the recorder is not in this process",  # gdb has attached to none
}
RUN = """python
for line in {examples!r}:
    try:
        print("typed:", line, "->", bool(gdb.execute(line, to_string=True)))
    except gdb.error as problem:
        print("failed:", line, "->", problem)
end
"""


@pytest.mark.parametrize("name", NAMES)
def test_examples_work_as_typed(
    local: Scenario, idle: IdleGdb, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a folder that has the files which the examples name."""
    (tmp_path / "build").mkdir()
    for copy in ("libvgpu.so", "build/libvgpu.so"):
        shutil.copy(local.sample("hook_second.so"), tmp_path / copy)
    shutil.copy(local.sample("hook_first.so"), tmp_path / "libtrace.so")
    shutil.copy(local.sample("runtime_alloc" if name == "cuda-call" else "test_alloc"), tmp_path / "program")
    monkeypatch.chdir(tmp_path)
    examples = re.findall(r"^  ([a-z].+)$", help_of(idle, name).partition("Examples:")[2], re.MULTILINE)
    (tmp_path / "script.gdb").write_text(RUN.format(examples=examples))
    text = local.run(tmp_path / "program", *SESSION.get(name, []), "source script.gdb", hook=tmp_path / "libvgpu.so")
    failed = dict(re.findall(r"^failed: (.+?) -> (.*)$", text, re.MULTILINE))
    assert {line for line in failed if ELSEWHERE.get(line, "?") not in failed[line]} == set(), text
    assert examples and text.count("typed: ") == len(examples) - len(failed)


FREE = ("N", "SIZE", "P", "H", "PID", "HOST", "NAME", "PATH", "A=B", "NAME=VALUE")  # nobody here can know them
WHAT = """python
from gdbcuda.live.prompt.command import REGISTRY
from gdbcuda.command_line.argument_types import nothing
from gdbcuda.command_line.clauses import Clause
from gdbcuda.command_line.options import Option, Word
for name, command in REGISTRY.items():
    for part in command.parts:
        kind = part.kind
        completes = isinstance(part, Clause) or kind.complete is not nothing
        if isinstance(part, Option) and not (part.flag or completes or kind.shown in FREE):
            print("incomplete:", name, part.name, kind.shown)
        if isinstance(part, Word) and part.name != "args" and kind.complete is nothing:
            print("incomplete:", name, part.name)
"""


def test_every_argument_completes(local: Scenario, tmp_path: Path) -> None:
    script = tmp_path / "script.gdb"
    script.write_text(f"{WHAT.replace('FREE', repr(FREE))}end\necho looked\n")
    text = local.run(None, f"source {script}", hook=None)
    assert "looked" in text and "incomplete" not in text, text


COMPLETED = {
    "cuda-break cuMemAllocP": {"cuda-break cuMemAllocPitch_v2"},
    "cuda-break nvmlDeviceGetMem": {"cuda-break nvmlDeviceGetMemoryInfo_v2"},
    "cuda-break cuMemAlloc i": {"cuda-break cuMemAlloc if"},
    "cuda-log start cuMemAlloc --in hook ": {"cuda-log start cuMemAlloc --in hook if"},
    "cuda-break cuInit --in dr": {"cuda-break cuInit --in driver"},
    "cuda-break cuInit --on e": {"cuda-break cuInit --on enter", "cuda-break cuInit --on error"},
    "cuda-break --in driver cuMemAllocP": {"cuda-break --in driver cuMemAllocPitch_v2"},
    "cuda-break cuInit --on": {"cuda-break cuInit --on", "cuda-break cuInit --once"},
    "cuda-check --q": {"cuda-check --quiet"},
    "cuda-load ./li": {"cuda-load ./libone.so", "cuda-load ./libtwo.so"},
    "cuda-load ./libo": {"cuda-load ./libone.so"},
    "cuda-load ./libone.so --l": {"cuda-load ./libone.so --last"},
    "cuda-log start --to ca": {"cuda-log start --to calls.jsonl"},
    "cuda-log show --thread ": {"cuda-log show --thread 1"},
    "cuda-log show --fa": {"cuda-log show --failed"},
    "cuda-log st": {"cuda-log start", "cuda-log stop"},
    "cuda-coverage --lc": {"cuda-coverage --lcov"},
    "cuda-memory le": {"cuda-memory leaks"},
    "cuda-memory at buff": {"cuda-memory at buffers"},
    "cuda-memory live x": set(),
    "cuda-dlsym answer --remove ": {"cuda-dlsym answer --remove all"},
    "cuda-dlsym log s": {"cuda-dlsym log save", "cuda-dlsym log show"},
    "cuda-dlsym log show cuMemAllocP": {"cuda-dlsym log show cuMemAllocPitch_v2"},
    "cuda-help br": {"cuda-help breakpoints"},
    "cuda-help cuda-lo": {"cuda-help cuda-load", "cuda-help cuda-log"},
    "cuda-env COLU": {"cuda-env COLUMNS="},
    "cuda-route cuMemAllocP": {"cuda-route cuMemAllocPitch_v2"},
    "cuda-remote --prog": {"cuda-remote --program", "cuda-remote --program-there"},
    "cuda-remote --sysroot li": {"cuda-remote --sysroot libone.so", "cuda-remote --sysroot libtwo.so"},
    "set cuda-style o": {"set cuda-style off", "set cuda-style on"},
}


def test_completion(local: Scenario, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("libone.so", "libtwo.so", "calls.jsonl"):
        (tmp_path / name).touch()
    monkeypatch.chdir(tmp_path)
    asked = [c for line in COMPLETED for c in (f"echo @{line}\\n", f"complete {line}")]
    rows = local.run("test_alloc", "break main", "run", *asked, "echo @", hook=None).splitlines()
    starts = [i for i, row in enumerate(rows) if row.startswith("@")]
    found = {rows[i][1:]: set(rows[i + 1 : j]) for i, j in zip(starts, starts[1:])}
    for line, wanted in COMPLETED.items():
        assert wanted <= found[line], line
        assert all(row.startswith(line) for row in found[line])


OVERVIEW = """\
Bring the hook library into the program
  cuda-env, cuda-load, cuda-remote
Stop where you mean
  cuda-break, cuda-guards, cuda-save
"""


def test_the_overview_fits_a_screen(local: Scenario) -> None:
    """Of 80 columns and 24 lines, with the prompt below it; every command and every topic is in it once."""
    text = local.run(None, "cuda-help", hook=None, environment={"COLUMNS": "80"})
    lines = text.splitlines()
    assert text.startswith(OVERVIEW) and len(lines) < 24 and max(map(len, lines)) <= 80, text
    commands, topics = (re.findall(r"[\w-]+(?=,|$)", part, re.M) for part in text.split("\nThe manual\n"))
    shown = sorted(name for name in commands if name.startswith("cuda-"))
    assert shown == [name for name in sorted(NAMES) if " " not in name]
    assert topics[: len(TOPICS)] == TOPICS
    assert "cuda-help commands  what each command does\n" in text


TOPICS = [path.name[3:-3] for path in sorted((ROOT / "gdbcuda/manual").glob("*.md"))]


def test_the_lists_have_every_command_once_and_every_page(local: Scenario, idle: IdleGdb) -> None:
    """Each with the first line of its help, under what it is for."""
    asked = ("cuda-help commands", "echo @", "cuda-help topics")
    text = local.run(None, *asked, hook=None, environment={"COLUMNS": "200"})
    commands, _, topics = text.partition("@")
    listed = re.findall(r"^(cuda-[a-z]+(?: [a-z]+)*)  +(\S.*)$", commands, re.MULTILINE)
    assert sorted(name for name, _ in listed) == sorted(NAMES)
    assert re.search(r"^Stop where you mean\n\ncommand .*\n---.*\ncuda-break ", commands, re.MULTILINE)
    for name, line in listed:
        assert help_of(idle, name).startswith(" ".join(line.split()[:4])), name
    assert re.findall(r"^([a-z]\S*)  ", topics, re.MULTILINE)[1:] == TOPICS


@pytest.mark.parametrize(
    "typed, says",
    [
        ("cuda-help breakpoints", "Breakpoints\n===========\n\nHow do I stop"),
        ("cuda-help first stop", "The first stop\n============"),
        ("cuda-help cuda-log show", "Usage: cuda-log show "),
        ("cuda-help seccomp", "'seccomp' is no topic:\ncuda-help log: At the speed of the program\n  "),
            ("cuda-help seccomp", "\ncuda-help guards: Limits\n  "),
        ("cuda-help --once", "no option --once (see: help cuda-help)"),
        ("cuda-help flags that", "help cuda-"),
        ("cuda-help cuMemAlloc", "CUresult cuMemAlloc_v2(CUdeviceptr *dptr, size_t bytesize);\nhelp cuda-break: "),
        ("cuda-help braekpoints", "cuda-help: 'braekpoints' is no topic, and nothing here speaks of it; did you mean "
                                  "breakpoints?\n"),
        ("cuda-help xyzzy", "cuda-help: 'xyzzy' is no topic, and nothing here speaks of it\n"),
    ],
)  # fmt: skip
def test_a_page_a_command_or_what_is_found(idle: IdleGdb, typed: str, says: str) -> None:
    assert says in idle.run(typed)


def test_names_that_cuda_gdb_owns_are_not_ours(idle: IdleGdb) -> None:
    text = idle.run("help cuda", "help info cuda")
    if "CUDA focus" in text:
        pytest.skip("this gdb is a cuda-gdb: tests/clients/test_cuda_gdb.py looks")
    assert 'Undefined command: "cuda"' in text or "ambiguous" in text.lower()
    assert 'Undefined info command: "cuda"' in text


OTHER_WORDS = {"enable", "disable", "yes", "no", "0", "1", "unlimited", "NUMBER"}  # gdb's own for on, off and a number


def test_settings_say_what_their_values_mean(idle: IdleGdb) -> None:
    """Each of those that there are, by name, or that it is a number; and what holds if nobody sets it."""
    names = re.findall(r"^set (cuda-\S+)", idle.run("complete set cuda-"), re.MULTILINE)
    assert len(names) >= 10
    for name in names:
        text = idle.run(f"help set {name}", "echo @\\n", f"complete set {name} ")
        said, _, listed = text.partition("@")
        assert said.startswith("Set ") and re.search(r"\nDefault: \w+\.\n", said), said
        values = set(re.findall(rf"^set {name} (\S+)$", listed, re.MULTILINE)) - OTHER_WORDS
        explained = {word for words in re.findall(r"^([a-z, ]+): ", said, re.MULTILINE) for word in words.split(", ")}
        assert name == "cuda-version" or values <= explained, said


def test_help_as_an_option(idle: IdleGdb) -> None:
    assert "\nExamples:" in idle.run("cuda-break --help")


@pytest.mark.parametrize(
    "typed, says",
    [
        ("cuda-dlsym brek", "no subcommand 'brek'; did you mean cuda-dlsym break? (there are answer, break, log)"),
        ("cuda-log strat 'cuMem*' --in hook", "no subcommand 'strat'; did you mean cuda-log start? (there are clear,"),
        ("cuda-log xyz", "no subcommand 'xyz' (there are clear, detach, diff, save, show, start, stop, summary)"),
    ],
)
def test_a_subcommand_that_is_none(idle: IdleGdb, typed: str, says: str) -> None:
    assert f"{typed.split()[0]}: {says}" in idle.run(typed)


@pytest.mark.parametrize(
    "typed, says",
    [
        ("cuda-break", "FUNCTION is missing, for example: cuda-break cudaMalloc"),
        ("cuda-log save", "FILE is missing, for example: cuda-log save calls.jsonl"),
        ("cuda-log start if x == 1", "as in  cuda-log start cuMemAlloc if bytesize > 1G"),
        ("cuda-dlsym log shwo", "no subcommand 'shwo'; did you mean cuda-dlsym log show? (there are clear, off,"),
        ("cuda-load --remove ./no.so", "no.so was not loaded with cuda-load; "),
        ("cuda-break cuInit --onn error", "cuda-break: no option --onn; did you mean --on? (see: help cuda-break)"),
        ("cuda-break --onc", "no option --onc; did you mean --once?"),
        ("cuda-break cuMemAlloc --if 'bytesize > 1M'", "a condition is written without -- here: cuda-break cuM"),
        ("cuda-log show --if=bytesize>1", "a condition is written without -- here: cuda-log show if bytesize > 1M"),
        ("cuda-log start --too x", "no option --too; did you mean --to? (see: help cuda-log start)"),
        ("cuda-break cuInit --on eror", "cuda-break: --on is enter, return or error, not 'eror'; did you mean error?"),
        ("cuda-call", "run the program first, to a breakpoint: cuda-break cuMemAlloc"),
    ],
)
def test_a_mistake_says_what_to_type(local: Scenario, typed: str, says: str) -> None:
    assert says in local.run(None, typed)


def test_the_user_s_own_commands_are_listed_alone(local: Scenario, tmp_path: Path) -> None:
    own = tmp_path / "own.gdb"
    own.write_text("define mine\necho 1\nend\ndocument mine\nMy own.\nend\n")
    mine = f"source {own}"
    listed = local.run(None, mine, "help user-defined", hook=None)
    names = re.findall(r"^(?!test-command-)(\S.*) -- ", listed, re.MULTILINE)  # the tests have theirs
    assert names == ["mine"], listed
    asked = local.run(None, "apropos ^cuda-", hook=None)
    assert [name for name in NAMES if " " not in name and f"\n{name} -- " not in f"\n{asked}"] == []


@pytest.mark.parametrize(("command", "wanted"), [
    ("cuda-log show", of_logs.ShowOptions),
    ("cuda-log summary", of_logs.SummaryOptions),
    ("cuda-memory", of_logs.LedgerOptions),
    ("cuda-coverage", of_logs.CoverageOptions),
])  # fmt: skip
def test_the_views_of_a_log_are_explained_as_in_a_shell(
    idle: IdleGdb, command: str, wanted: type[of_logs.Options]
) -> None:
    text = " ".join(help_of(idle, command).split())
    for part in wanted.parts():
        assert part.help in text, part.name
        assert part.name in ("--function", "--if") or f" {part.name} " in text

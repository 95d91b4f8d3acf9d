"""A mistake in the words of a command is one line, which names the option or the word that is nearest."""

from __future__ import annotations

import contextlib
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from shim_support import ROOT

from gdbcuda.shell import cli


@pytest.mark.parametrize(
    ("typed", "says"),
    [
        ("remote --hots x", "gdbcuda remote: no option --hots; did you mean --host? (see: gdbcuda remote --help)"),
        ("log show x --fialed", "gdbcuda log show: no option --fialed; did you mean --failed?"),
        ("ide vscode --progam=a --hook b", "gdbcuda ide: no option --progam; did you mean --program?"),
        ("install --xyzzy", "gdbcuda install: no option --xyzzy (see: gdbcuda install --help)"),
        ("--versio", "gdbcuda: no option --versio; did you mean --version?"),
        ("log show x --in", "gdbcuda log show: --in wants LAYER|LIB behind it"),
        ("check x --json=3", "gdbcuda check: --json takes no value (see: gdbcuda check --help)"),
        ("log report", "gdbcuda log report: FILE and --output are missing, for example: gdbcuda log report "),
        ("path there", "gdbcuda path: there is no place for 'there'"),
        ("check", "gdbcuda check: FILE is missing, for example: gdbcuda check libvgpu.so (see: gdbcuda check --help)"),
        ("log", "gdbcuda log: VIEW is missing (see: gdbcuda log --help)"),
    ],
)
def test_of_a_shell(typed: str, says: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert mistake(typed, capsys).startswith(says)


@pytest.mark.parametrize(
    ("typed", "nearest"), [("instal", "install"), ("log sumary x", "summary")]
)
def test_of_known_words(typed: str, nearest: str, capsys: pytest.CaptureFixture[str]) -> None:
    line = mistake(typed, capsys)
    assert f"; did you mean {nearest}? (there are " in line and line.endswith("--help)\n")


@pytest.mark.parametrize(("typed", "says"), [
    ("ide vscod --program a --hook b",
     "IDE is cdt, clion, emacs, nsight, vim or vscode, not 'vscod'; did you mean vscode?"),
    ("check x --color alwas", "--color is always, never or auto, not 'alwas'; did you mean always?"),
    ("log show x --thread x",
     "--thread is a number, not 'x', for example: gdbcuda log show calls.jsonl --failed --thread 8"),
    ("log memory x --least much",
     "--least is a size such as 4096, 0x1000 or 1G, not 'much', for example: "
     "gdbcuda log memory calls.jsonl --view live --least 1M"),
    ("log export x --format cvs", "--format is chrome, csv, jsonl or begin-end, not 'cvs'; did you mean csv?"),
    ("conform --real --jobs 2 x", "--real plays one case at a time: "
     "each would find in the GPU's numbers what the others take"),
    ("demo --real --build-only", "--real plays a session, --build-only plays none: write one of them"),
    ("ide vim --program a --hook b --path-map c", "--path-map is A=B, for example /libvgpu=$PWD, not 'c'"),
])  # fmt: skip
def test_of_what_an_option_may_be(typed: str, says: str, capsys: pytest.CaptureFixture[str]) -> None:
    """As at gdb's prompt: the types of words and options are the same ones."""
    assert cli.main(typed.split()) == 2
    assert capsys.readouterr() == ("", f"gdbcuda: {says}\n")


def test_what_belongs_to_the_program(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["remote", "prog", "--hots", "3"]) == 0
    assert "/prog --hots 3\n" in capsys.readouterr().out


def mistake(typed: str, capsys: pytest.CaptureFixture[str]) -> str:
    with pytest.raises(SystemExit) as end:
        cli.main(typed.split())
    assert end.value.code == 2
    shown = capsys.readouterr()
    assert shown.out == "" and shown.err.count("\n") == 1
    return shown.err


@pytest.mark.parametrize("command", ["", "remote", "ide", "install"])
def test_the_examples_of_the_help(
    command: str, shim: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As they stand there, in a folder that has the files."""
    for folder in (tmp_path, tmp_path / "build"):
        folder.mkdir(exist_ok=True)
        shutil.copy(shim / "sample" / "test_alloc", folder / "train")
        shutil.copy(shim / "sample" / "minimal_hook.so", folder / "libvgpu.so")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    with pytest.raises(SystemExit):
        cli.main([*command.split(), "--help"])
    examples = re.findall(r"^  (.*gdbcuda .*)$", capsys.readouterr().out.partition("\nExamples:\n")[2], re.MULTILINE)
    assert len(examples) >= 2
    for words in map(shlex.split, examples):
        while "=" in words[0]:
            monkeypatch.setenv(*words.pop(0).split("=", 1))
        if words[:2] == ["gdbcuda", "gdb"]:  # becomes gdb
            continue
        with contextlib.suppress(SystemExit) if "--help" in words else contextlib.nullcontext():
            assert words[0] == "gdbcuda" and cli.main(words[1:]) in (0, 1), words  # 1: it asks, and nobody answers
        assert capsys.readouterr().err == ""


@pytest.mark.parametrize(("words", "loaded"), [
    (["path"], []),
    (["--version"], []),
    (["install", "--help"], ["gdbcuda.shell.install"]),
    (["--debug", "new-hook", "--help"], ["gdbcuda.shell.new_hook.cli"]),
    (["remot"], sorted(cli.MODULES.values())),  # the mistake is told beside all that may be meant
])  # fmt: skip
def test_a_command_waits_for_its_own_modules_alone(words: list[str], loaded: list[str]) -> None:
    script = ("import sys\nfrom gdbcuda.shell import cli\ntry: cli.main(sys.argv[1:])\nexcept SystemExit: pass\n"
              "print('loaded:', *sorted(sys.modules.keys() & {*cli.MODULES.values()}))")  # fmt: skip
    done = subprocess.run([sys.executable, "-c", script, *words], capture_output=True, text=True, check=False)
    assert done.stdout.splitlines()[-1].split()[1:] == loaded, done


@pytest.mark.parametrize("command", cli.MODULES)
def test_help_waits_for_no_file_format(command: str) -> None:
    """pyelftools, the API table and gdb's session logs are loaded by what reads such a file."""
    heavy = ("elftools", "gdbcuda.api.table", "gdbcuda.calls.reader", "pygments.lexers", "tabulate")
    script = ("import sys\nfrom gdbcuda.shell import cli\ntry: cli.main(sys.argv[1:])\nexcept SystemExit: pass\n"
              f"print('loaded:', *sorted(sys.modules.keys() & {{*{heavy}}}))")  # fmt: skip
    done = subprocess.run([sys.executable, "-c", script, command, "--help"], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "loaded:"


def test_no_module_waits_for_the_network() -> None:
    """ssl and http.client, which xml.sax.saxutils loads, take as long as all else that `conform` loads."""
    files = [path.relative_to(ROOT).with_suffix("") for path in sorted((ROOT / "gdbcuda").rglob("*.py"))]
    names = [".".join(one.parts) for one in files if "live" not in one.parts and not one.name.startswith("__")]
    script = ("import importlib, sys\nfor name in sys.argv[1:]: importlib.import_module(name)\n"
              "print('loaded:', *sorted(sys.modules.keys() & {'ssl', 'http.client', 'asyncio'}))")  # fmt: skip
    done = subprocess.run([sys.executable, "-c", script, *names], capture_output=True, text=True, cwd=ROOT, check=True)
    assert len(names) > 300 and done.stdout.splitlines()[-1] == "loaded:"

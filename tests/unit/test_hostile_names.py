"""Names of files, and names inside of them, that mean ill: no command of the shell lets them reach the terminal."""

from __future__ import annotations

import json
import re
import unicodedata
from pathlib import Path

import pytest
from elf_build import compiled
from log_files import alloc_of, write

from gdbcuda.shell import cli
from gdbcuda.text import render

EVIL = "e\x1b[32m\x9b2J\nready\t\u202e\x07"
HARMLESS = "h" * len(EVIL.encode())  # stands in the compiler's place for the other
OURS = re.compile(r"\x1b\[(?:0|" + "|".join(set(render.ROLES.values())) + ")m")
CONTROLS = ("Cc", "Cf", "Cs", "Zl", "Zp")
HOOK = f"""
int cuInit(unsigned flags) {{ return -1; }}
int cuMem{HARMLESS}(void) {{ return 0; }}
int nobody_{HARMLESS}(void);
int use(void) {{ return nobody_{HARMLESS}(); }}
__attribute__((visibility("hidden"))) int cuMemFree_v2(void *p) {{ return 0; }}
__attribute__((constructor)) static void first_{HARMLESS}(void) {{ }}
"""
PROGRAM = "int cuInit(unsigned); int main(void) { return cuInit(0); }"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[bytes, bytes]:
    """A hook library and a program in which all names hold HARMLESS. The sources and a library are gone."""
    folder = tmp_path_factory.mktemp("made")
    source = f"{HARMLESS}src/{HARMLESS}hook.c"
    dependency = compiled(folder, "int a;", f"-Wl,-soname,lib{HARMLESS}.so", name=f"lib{HARMLESS}.so")
    flags = ["-g", f"-Wl,-soname,{HARMLESS}", f"-Wl,-rpath,/{HARMLESS}", "-Wl,--no-as-needed", str(dependency)]
    hook = compiled(folder, HOOK, *flags, name=f"{HARMLESS}.so", source_name=source)
    program = compiled(folder, PROGRAM, "-no-pie", "-Wl,--unresolved-symbols=ignore-all", name=HARMLESS)
    for path in (folder / source, dependency):
        path.unlink()
    return hook.read_bytes(), program.read_bytes()


@pytest.fixture
def place(made: tuple[bytes, bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """What the words of a command stand for. All is in a folder of that name, which is the home and the current one."""
    folder = tmp_path / f"home of {EVIL}"
    folder.mkdir()
    hook, program = (data.replace(HARMLESS.encode(), EVIL.encode()) for data in made)
    (folder / f"{EVIL}.so").write_bytes(hook)
    (tmp_path / "libplain.so").write_bytes(hook)
    (folder / EVIL).write_bytes(program)
    (folder / f"{EVIL}.c").write_text("int x;")
    write(folder / f"log {EVIL}", [alloc_of(1, "0x10")])
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.setenv("XDG_CONFIG_HOME", "")
    monkeypatch.chdir(folder)
    return {"HOOK": f"{folder}/{EVIL}.so", "PROGRAM": f"{folder}/{EVIL}", "PLACE": str(folder), "NAME": EVIL,
            "LOG": f"{folder}/log {EVIL}", "SOURCE": f"{folder}/{EVIL}.c",
            "PLAIN": str(tmp_path / "libplain.so")}  # fmt: skip


COMMANDS = [
    ("check", "HOOK"), ("check", "--quiet", "HOOK"), ("check", "PROGRAM", "--hook", "HOOK"), ("check", "HOOKno"),
    ("check", "--sysroot", "PLACE", "HOOK"), ("check", "SOURCE"), ("check", "--cuda", "NAME", "HOOK"),
    ("check", "PROGRAM", "--hook", "PROGRAM"), ("check", "--NAME", "HOOK"), ("NAME",), ("log", "NAME", "x"),
    ("remote", "--host", "NAME", "--hook", "HOOK", "PROGRAM"), ("remote", "--host", "a", "PROGRAM", "NAME"),
    ("remote", "--host", "a", "--env", "A=NAME", "--path-map", "/NAME=NAME", "PROGRAM"),
    ("remote", "--ssh", "NAME", "--container", "NAME", "--hook-there", "/NAME", "--program-there", "/NAME", "PROGRAM"),
    ("remote", "--host", "a", "--port", "NAME", "x"), ("remote", "--pod", "NAME/NAME", "PROGRAM"),
    ("ide", "vim", "--program", "PROGRAM", "--hook", "HOOK"),
    ("ide", "NAME", "--program", "PROGRAM", "--hook", "HOOK"), ("ide", "vim", "--program", "NAME", "--hook", "HOOK"),
    *(("ide", name, "--program", "PROGRAM", "--hook", "PLAIN", *more)
      for name in ("vim", "emacs", "cdt", "vscode", "clion", "nsight")
      for more in ((), ("--remote", "NAME:12"), ("--folder", "PLACE", "--write"))),
    ("log", "show", "LOG"), ("log", "show", "LOGno"), ("log", "show", "LOG", "LOG"), ("log", "diff", "LOG", "LOGno"),
    ("log", "show", "--function", "NAME", "LOG"), ("log", "show", "--if", "NAME > 1", "LOG"),
    ("log", "show", "--in", "NAME", "LOG"), ("log", "show", "--if", 'bytesize > 1 && caller in "NAME"', "LOG"),
    ("log", "show", "--last", "NAME", "LOG"), ("log", "memory", "--view", "NAME", "LOG"),
    ("log", "report", "LOG", "-o", "PLACE"), ("install",), ("install", "--yes"), ("install", "--remove"),
]  # fmt: skip


def coloured(words: tuple[str, ...]) -> tuple[str, ...] | None:
    """The same with colours, where the command has any."""
    if words[0] == "check" or (words[0] == "log" and words[1] != "NAME"):
        return (*words, "--color", "always")
    return None


@pytest.mark.parametrize("words", [*COMMANDS, *filter(None, map(coloured, COMMANDS))], ids=" ".join)
def test_of_no_command_they_control_the_terminal(
    words: tuple[str, ...], place: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    try:
        status = cli.main([re.sub("[A-Z]{3,}", lambda found: place[found[0]], word) for word in words])
    except SystemExit as end:
        status = int(end.code or 0)
    seen = capsys.readouterr()
    assert status in (0, 1, 2), "no fault of ours"
    text = seen.out + seen.err
    text = OURS.sub("", text) if "always" in words else text
    assert not [c for c in text if unicodedata.category(c) in CONTROLS and c != "\n"]
    assert "\nready" not in text, "they make lines of their own"
    names_it = words[0] in ("check", "install", "remote") and "hold the end of a line" not in text
    assert r"e\x1b[32m" in text or not names_it


def test_as_json_they_are_what_they_were(place: dict[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["check", "--json", place["HOOK"], place["HOOK"] + "no"]) == 2
    text = capsys.readouterr().out
    found, missing = json.loads(text)["files"]
    assert text.isascii() and found["file"] == place["HOOK"] and missing["file"] == place["HOOK"] + "no"

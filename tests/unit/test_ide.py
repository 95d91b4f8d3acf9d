"""What gdbcuda ide makes: attributes that the extensions know, XML as CLion writes it, files that lose nothing."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from gdbcuda.ide.ide_plan import names
from gdbcuda.shell import cli

DATA = Path(__file__).resolve().parent / "ide"
PUBLISHED = json.loads((DATA / "attributes.json").read_text())["types"]
KINDS = {"string": str, "array": list, "object": dict, "boolean": bool, "integer": int}
OF_VS_CODE = {"name", "type", "request"}  # every configuration has them, whatever the type
LAUNCH = ("vscode", "nsight", "cdt")
REMOTE = ("--remote", "gpu:1234", "--path-map", "/build=src")


@pytest.fixture
def project(tmp_path: Path, shim: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    shutil.copy(shim / "sample" / "test_alloc", tmp_path / "program")
    shutil.copy(shim / "sample" / "minimal_hook.so", tmp_path / "libhook.so")
    return tmp_path


def ide(capsys: pytest.CaptureFixture[str], name: str, *words: str, status: int = 0) -> str:
    line = ["ide", name, "--program", "program", "--hook", "libhook.so", *words]
    assert cli.main(line) == status
    shown = capsys.readouterr()
    return shown.err if status else shown.out


def configuration(capsys: pytest.CaptureFixture[str], name: str, *words: str) -> dict[str, Any]:
    file = json.loads(ide(capsys, name, "--json", *words))["files"][0]
    assert file["path"] == ".vscode/launch.json"
    return json.loads(file["text"])["configurations"][0]


def is_of(value: object, wanted: str | list[str]) -> bool:
    kinds = [wanted] if isinstance(wanted, str) else wanted
    return any(isinstance(value, KINDS[kind]) for kind in kinds)


@pytest.mark.parametrize("words", [(), REMOTE], ids=["local", "remote"])
@pytest.mark.parametrize("name", LAUNCH)
def test_only_published_attributes(project: Path, capsys: pytest.CaptureFixture[str], name: str, words: Any) -> None:
    made = configuration(capsys, name, *words)
    published = PUBLISHED[f"{made['type']} {made['request']}"]
    for attribute, value in made.items():
        assert attribute in OF_VS_CODE or is_of(value, published["attributes"][attribute]), attribute
        assert value in published.get("values", {}).get(attribute, [value])
    assert set(published["required"]) <= set(made)
    if isinstance(made.get("target"), dict):
        assert all(is_of(value, published["target"][key]) for key, value in made["target"].items())


@pytest.mark.parametrize("name", LAUNCH)
def test_the_commands_of_every_adapter(project: Path, capsys: pytest.CaptureFixture[str], name: str) -> None:
    made = configuration(capsys, name, *REMOTE)
    commands = [c["text"] if isinstance(c, dict) else c for c in made.get("setupCommands", made.get("initCommands"))]
    pretty = ["-enable-pretty-printing"] * (name == "vscode")  # the others ask for it themselves
    assert commands[: len(pretty)] == pretty
    source, substitute, load, *last = commands[len(pretty) :]
    assert ["tbreak main" in command for command in last] == [True] * (name == "cdt")
    assert source.startswith("source ") and os.path.isfile(source.partition(" ")[2])
    assert substitute == f"set substitute-path /build {project}/src"
    assert load == "cuda-load ${workspaceFolder}/libhook.so"
    assert made["program"] == "${workspaceFolder}/program"


def test_where_the_server_is(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert configuration(capsys, "vscode", *REMOTE)["miDebuggerServerAddress"] == "gpu:1234"
    for name in ("nsight", "cdt"):
        target = configuration(capsys, name, *REMOTE)["target"]
        assert (target["host"], target["port"]) == ("gpu", "1234")


def test_what_to_type_on_the_server(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (project / "src").mkdir()
    (project / "program").rename(project / "src" / "program")
    line = ["ide", "vscode", "--program", "src/program", "--hook", "libhook.so", *REMOTE]
    assert cli.main(line) == 0
    wanted = f"gdbserver --once --wrapper env LD_PRELOAD={project}/libhook.so -- :1234 /build/program\n"
    assert wanted in capsys.readouterr().out


@pytest.mark.parametrize(("name", "debugger"), [("nsight", ""), ("cdt", "cuda-gdb"), ("vscode", "/cuda/bin/cuda-gdb")])
def test_cuda_gdb_has_a_server_of_its_own(
    project: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, name: str, debugger: str
) -> None:
    monkeypatch.setenv("GDBCUDA_GDB", debugger)
    assert "1. on gdbserver-1:  cuda-gdbserver --once" in ide(capsys, name, "--remote", "gdbserver-1:1234")


SAME = ("type", "version", "default", "kind", "isBundled", "v")  # what CLion itself writes, whatever the program


def test_clion_against_a_sample(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = json.loads(ide(capsys, "clion", "--json", *REMOTE))["files"][0]
    made, sample = ElementTree.fromstring(file["text"]), ElementTree.parse(DATA / "clion_remote.run.xml").getroot()
    for path in (".", "configuration", "configuration/debugger", "configuration/pathMapping", "configuration/method"):
        ours, theirs = made.find(path), sample.find(path)
        assert ours is not None and theirs is not None
        assert ours.attrib.keys() == theirs.attrib.keys(), path
        assert [child.tag for child in ours] == [child.tag for child in theirs]
        assert {key: ours.get(key) for key in SAME if key in ours.attrib} == {
            key: theirs.get(key) for key in SAME if key in theirs.attrib
        }, path
    found = made.find("configuration")
    assert found is not None and found.get("remoteCommand") == "gpu:1234"
    assert found.get("symbolFile") == "$PROJECT_DIR$/program"
    assert found.find("pathMapping").attrib == {"remote": "/build", "local": "$PROJECT_DIR$/src"}  # type: ignore[union-attr]


def test_clion_where_projects_keep_them(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ide(capsys, "clion", "--write")
    assert (project / ".run/gdbcuda_program_on_localhost.run.xml").is_file()
    (project / ".idea").mkdir()
    ide(capsys, "clion", "--write")
    assert (project / ".idea/runConfigurations/gdbcuda_program_on_localhost.xml").is_file()


@pytest.mark.parametrize("name", [*names()])
def test_write_twice_is_write_once(project: Path, capsys: pytest.CaptureFixture[str], name: str) -> None:
    def files() -> dict[Path, bytes]:
        return {path: path.read_bytes() for path in project.rglob("*") if path.is_file()}

    before = files()
    ide(capsys, name)
    assert files() == before, "nothing is written without --write"
    shown = ide(capsys, name, "--write")
    once = files()
    assert shown.startswith(f"wrote {project}/.") and once != before
    ide(capsys, name, "--write")
    assert files() == once


@pytest.mark.parametrize("name", ["vim", "clion"])
def test_the_file_that_the_debugger_reads(
    project: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """The project's, and the person's, where it is to be allowed."""
    monkeypatch.setenv("HOME", str(project))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    (project / ".config/gdb").mkdir(parents=True)
    (project / ".config/gdb/gdbinit").touch()
    for debugger, own, home in (("gdb", ".gdbinit", ".config/gdb/gdbinit"), ("cuda-gdb", *[".cuda-gdbinit"] * 2)):
        monkeypatch.setenv("GDBCUDA_GDB", debugger)
        shown = ide(capsys, name, "--write")
        assert f"{project}/{home}:  add-auto-load-safe-path {project}/{own}\n" in shown
        assert (project / own).read_text().count("cuda-load ") == 1


def test_what_is_in_the_way_stays(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = project / ".vscode"
    folder.mkdir()
    (folder / "launch.json").write_text('{\n  "configurations": [\n')
    message = ide(capsys, "vscode", "--write", status=2)
    assert message == f'gdbcuda: {folder}/launch.json:3: "]" is missing for the bracket in line 2\n'
    assert (folder / "launch.json").read_text() == '{\n  "configurations": [\n'
    assert os.listdir(folder) == ["launch.json"]


def test_all_files_or_none(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = project / ".run/gdbcuda_program_on_localhost.run.xml"
    run.parent.mkdir()
    run.write_text("<other/>")
    message = ide(capsys, "clion", "--write", status=2)
    assert "something else than the run configuration" in message and len(message.splitlines()) == 1
    assert run.read_text() == "<other/>" and not (project / ".gdbinit").exists()


def test_gdbinit_of_the_user_stays(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (project / ".gdbinit").write_text("set print pretty on")
    ide(capsys, "vim", "--write")
    with open(project / ".gdbinit", "a") as file:
        file.write("set confirm off\n")
    ide(capsys, "vim", "--write", *REMOTE)
    lines = (project / ".gdbinit").read_text().splitlines()
    assert (lines[0], lines[-1]) == ("set print pretty on", "set confirm off")
    assert sum(line.startswith("source ") for line in lines) == 1
    assert f"set substitute-path /build {project}/src" in lines


def test_links_and_modes_stay(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (project / "dotfiles").mkdir()
    real = project / "dotfiles" / "gdbinit"
    real.write_text("set confirm off\n")
    real.chmod(0o600)
    (project / ".gdbinit").symlink_to(real)
    ide(capsys, "vim", "--write")
    assert (project / ".gdbinit").is_symlink() and real.stat().st_mode & 0o777 == 0o600
    assert "cuda-load" in real.read_text()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--remote", "gpu"], "--remote is HOST:PORT"),
        (["--remote", "gpu:"], "--remote is HOST:PORT"),
        (["--remote", "gpu:65536"], "--remote is HOST:PORT"),
        (["--program", "train.py"], "train.py: is a script; name the program that it starts"),
        (["--program", "libhook.so"], "libhook.so is no program"),
        (["--hook", "program"], "program is no shared library"),
        (["--path-map", "/build"], "--path-map is A=B"),
        (["--hook", "nowhere.so"], "no file nowhere.so"),
    ],
)
def test_mistakes_are_one_line(project: Path, capsys: pytest.CaptureFixture[str], words: list[str], said: str) -> None:
    (project / "train.py").write_text("#!/usr/bin/env python3\n")
    message = ide(capsys, "vscode", *words, status=2)
    assert said in message and len(message.splitlines()) == 1


@pytest.mark.parametrize(
    ("folder", "wanted"),
    [
        ("my work", "'{}'"),
        ("it's", '"{}"'),
        ('blank, "it\'s"', None),  # neither kind of quotes, so not by VS Code's name for the folder either
        ("größe", "{}"),
    ],
)
def test_blanks_and_quotes_in_paths(
    project: Path, capsys: pytest.CaptureFixture[str], folder: str, wanted: str | None
) -> None:
    inner = project / folder
    inner.mkdir()
    (project / "libhook.so").rename(inner / "libhook.so")
    words = ("--hook", f"{folder}/libhook.so", "--folder", folder, "--remote", "gpu:1", "--hook-there", "/libhook.so")
    made = configuration(capsys, "cdt", *words)
    command = str(inner / "libhook.so").replace(" ", "\\ ").replace('"', '\\"').replace("'", "\\'")
    shown = wanted.format("${workspaceFolder}/libhook.so") if wanted else command
    assert made["initCommands"][1] == f"cuda-load {shown}"


@pytest.mark.parametrize(
    ("name", "typed"),
    [("vim", ":Termdebug {}/my\\ 50\\%/program"), ("emacs", 'gdb -i=mi "{}/my 50%/program" -x {}/.gdbinit')],
)
def test_blanks_in_an_editor_s_own_words(
    project: Path, capsys: pytest.CaptureFixture[str], name: str, typed: str
) -> None:
    """Neither of the two reads words as a shell does."""
    (project / "my 50%").mkdir()
    (project / "program").rename(project / "my 50%" / "program")
    assert typed.replace("{}", str(project)) in ide(capsys, name, "--program", "my 50%/program")


def test_what_cannot_be_preloaded(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (project / "my work").mkdir()
    (project / "libhook.so").rename(project / "my work" / "libhook.so")
    for words in ((), ("--remote", "gpu:1")):
        message = ide(capsys, "vscode", "--hook", "my work/libhook.so", *words, status=2)
        assert "LD_PRELOAD cannot name " in message and message.endswith("; use a link without them\n")


def test_where_the_files_are_there(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ("--remote", "gpu:1", "--hook-there", "/opt/libhook.so", "--program-there", "/opt/program")
    line = "1. on gpu:  gdbserver --once --wrapper env LD_PRELOAD=/opt/libhook.so -- :1 /opt/program\n2. "
    assert line in ide(capsys, "cdt", *words)
    guessed = ide(capsys, "cdt", "--remote", "gpu:1", "--path-map", f"/there={project}")
    said = "(libhook.so is taken to be /there/libhook.so there: --hook-there says else)"
    assert f":1 /there/program\n   {said}" in guessed


def test_a_server_here_has_the_files_here(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """CLion's, whatever the debug info says of the place where they were compiled."""
    line = f"gdbserver --once --wrapper env LD_PRELOAD={project}/libhook.so -- :1234 {project}/program\n"
    assert line in ide(capsys, "clion", "--path-map", f"/there={project}")


def test_several_extensions_in_one_launch_json(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in LAUNCH:
        ide(capsys, name, "--write")
    made = json.loads((project / ".vscode/launch.json").read_text())["configurations"]
    name = "gdbcuda: program"
    assert [one["name"] for one in made] == [name, f"{name} (cuda-gdb)", f"{name} (CDT)"]


def test_sources_that_are_not_here(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (project / "hook.c").write_text("int cuInit(void) { return 0; }")
    subprocess.run(["gcc", "-g", "-shared", "-fPIC", "-fdebug-prefix-map=.=/far", f"-fdebug-prefix-map={project}=/far",
                    "-o", "libhook.so", "hook.c"], check=True)  # fmt: skip
    (project / "hook.c").unlink()
    assert "\nNote: not here: /far/hook.c; say where:  --path-map /far=DIR\n" in ide(capsys, "vscode")


def test_sources_are_found_by_the_debug_info(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Without --path-map: the library says that it was compiled in /libvgpu, and the checkout is here."""
    (project / "src").mkdir()
    (project / "src" / "hook.c").write_text("int cuInit(void) { return 0; }")
    flags = ["-g", "-shared", "-fPIC", f"-fdebug-prefix-map={project}=/libvgpu"]
    subprocess.run(["gcc", *flags, "-o", "libhook.so", str(project / "src" / "hook.c")], check=True)
    assert configuration(capsys, "vscode")["sourceFileMap"] == {"/libvgpu": str(project)}

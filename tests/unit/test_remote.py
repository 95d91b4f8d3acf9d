"""``gdbcuda remote``: the line for the server and the commands for gdb, by what is asked for."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from gdbcuda.errors import UserError
from gdbcuda.remote import substitute_path
from gdbcuda.remote.copies import Copy, findings
from gdbcuda.remote.remote_plan import RemotePlan, RemoteRequest, plan
from gdbcuda.remote.way import Way
from gdbcuda.shell import cli

HOOK, PROGRAM = "/there/libhook.so", "/there/train"


def planned(way: Way | None = None, **more: object) -> RemotePlan:
    return plan(RemoteRequest(way or Way(), **{"hook": HOOK, "program": PROGRAM, **more}))  # type: ignore[arg-type]


def connection(made: RemotePlan) -> str:
    return next(line for line in made.commands if line.startswith("target "))


def test_by_tcp() -> None:
    made = planned(Way(host="gpu", port=2345), arguments=("--epochs", "3"))
    assert made.server == f"gdbserver --once --wrapper env LD_PRELOAD={HOOK} -- :2345 {PROGRAM} --epochs 3"
    assert connection(made) == "target remote gpu:2345"


def test_an_ipv6_address_is_put_in_brackets() -> None:
    assert connection(planned(Way(host="fe80::1"))) == "target remote [fe80::1]:1234"


@pytest.mark.parametrize(
    ("way", "line"),
    [
        (Way(container="trainer"), "docker exec -i trainer gdbserver"),
        (Way(pod="train-0"), "kubectl exec -i train-0 -- gdbserver"),
        (Way(pod="ml/train-0", container="main"), "kubectl exec -i -n ml train-0 -c main -- gdbserver"),
        (Way(ssh="me@gpu"), "ssh me@gpu 'gdbserver"),
        (Way(ssh="gpu", container="trainer"), "ssh gpu 'docker exec -i trainer gdbserver"),
    ],
)
def test_through_a_pipe_gdb_starts_the_server(way: Way, line: str) -> None:
    made = planned(way)
    assert made.server == ""
    assert connection(made).startswith(f"target remote | {line} --once --wrapper env LD_PRELOAD={HOOK} -- - {PROGRAM}")


def test_a_running_process_is_attached_to_and_nothing_is_preloaded() -> None:
    made = planned(Way(port=99), attach=4711)
    assert made.server == "gdbserver --once --attach :99 4711"
    assert "nothing can be preloaded" in made.notes[0]


def test_gdb_starts_the_program() -> None:
    made = planned(multi=True, arguments=("a b",), hook_there="/usr/lib/libhook.so")
    assert made.server == "gdbserver --multi :1234"
    assert made.commands[1:] == [
        "target extended-remote localhost:1234",
        f"set remote exec-file {PROGRAM}",
        f"cuda-load {HOOK} --there /usr/lib/libhook.so",
        "set args 'a b'",
    ]


NASTY = ("a b", "it's", "$HOME", "*", 'say "x"', "a;b", "back\\slash", "")


@pytest.mark.parametrize("way", [Way(), Way(ssh="gpu"), Way(ssh="gpu", container="c"), Way(pod="p")])
def test_arguments_arrive_as_they_are(way: Way, tmp_path: Path) -> None:
    """Through the shell here, and ssh's there, which joins its words with blanks."""
    scripts = {"ssh": 'shift; exec sh -c "$*"', "docker": 'shift 3; exec "$@"', "kubectl": 'shift 4; exec "$@"',
               "gdbserver": 'for word; do printf "%s\\n" "$word"; done'}  # fmt: skip
    for name, text in scripts.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{text}\n")
        (tmp_path / name).chmod(0o755)
    made = planned(way, arguments=NASTY)
    line = made.server or connection(made).partition("| ")[2]
    said = subprocess.run(line, shell=True, env={"PATH": f"{tmp_path}:/usr/bin:/bin"}, capture_output=True, text=True)
    assert said.stdout.split("\n")[-len(NASTY) - 1 : -1] == list(NASTY), said.stderr


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["--port", "70000"], "--port is a number from 1 to 65535"),
        (["--port", "x"], "--port is a number from 1 on"),
        (["--host", "-oProxyCommand=x"], None),
        (["--host", "a;b"], "--host is a host name"),
        (["--ssh", "me@gpu; x"], "--ssh is [USER@]HOST"),
        (["--container", "--privileged"], None),
        (["--container", "$(x)"], "--container is a container's name"),
        (["--pod", "Upper"], "--pod is a pod's name"),
        (["--pod", "p", "--port", "3"], "--host and --port are for TCP"),
        (["--attach", "0"], "--attach is a number from 1 on"),
        (["--attach", "12", "--multi"], "--attach takes a process that runs"),
        (["--path-map", "x"], "--path-map is A=B"),
        (["--env", "1A=2"], "--env is NAME=VALUE"),
        (["--hook", "/a b/libhook.so"], "LD_PRELOAD cannot name '/a b/libhook.so'"),
    ],
)
def test_what_cannot_be_is_one_line(words: list[str], problem: str | None, capsys: pytest.CaptureFixture[str]) -> None:
    if problem is None:  # argparse's own word for it
        with pytest.raises(SystemExit):
            cli.main(["remote", *words, PROGRAM])
        return
    program = [] if "--attach" in words else [PROGRAM]
    assert cli.main(["remote", *words, *program]) == 2
    said = capsys.readouterr().err
    assert said.startswith(f"gdbcuda: {problem}")
    assert said.count("\n") == 1


def test_no_program() -> None:
    with pytest.raises(UserError, match="no program: name one with --program"):
        plan(RemoteRequest())


def test_in_a_shell(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["remote", "--host", "gpu", "--hook", HOOK, PROGRAM, "--lr", "0.1"]) == 0
    said = capsys.readouterr().out
    assert f"On gpu:\n  gdbserver --once --wrapper env LD_PRELOAD={HOOK} -- :1234 {PROGRAM} --lr 0.1\n" in said
    assert "Here, in gdb (started with:  gdbcuda gdb):" in said
    assert cli.main(["remote", "--json", "--host", "gpu", "--hook", HOOK, PROGRAM, "--lr", "0.1"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["server"].endswith("--lr 0.1")
    assert found["commands"][-1] == "target remote gpu:1234"


# -- sources and copies ---------------------------------------------------------------------------------------


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A library that says it was compiled in /libvgpu, its source in the checkout here; a stripped copy beside it."""
    for name in ("src", "build", "there"):
        (tmp_path / name).mkdir()
    source, out = tmp_path / "src" / "hook.c", tmp_path / "build" / "libvgpu.so"
    source.write_text("int cuInit(unsigned flags) { return 0; }\n")
    subprocess.run(["gcc", "-g", "-shared", "-fPIC", f"-fdebug-prefix-map={tmp_path}=/libvgpu", "-Wl,--build-id",
                    "-o", str(out), str(source)], check=True, cwd=tmp_path)  # fmt: skip
    return tmp_path


def test_the_place_of_the_sources_is_found_from_the_debug_info(checkout: Path) -> None:
    made = planned(hook=str(checkout / "build" / "libvgpu.so"))
    assert f"set substitute-path /libvgpu {checkout}" in made.commands
    assert "LD_PRELOAD=/libvgpu/build/libvgpu.so" in made.server
    assert any(note.startswith("libvgpu.so is taken to be /libvgpu/build/libvgpu.so there") for note in made.notes)


def test_what_the_user_says_about_sources_and_places_holds(checkout: Path) -> None:
    hook = str(checkout / "build" / "libvgpu.so")
    made = planned(hook=hook, hook_there="/usr/lib/libvgpu.so", maps=(("/libvgpu", str(checkout)),))
    assert [line for line in made.commands if "substitute" in line] == [f"set substitute-path /libvgpu {checkout}"]
    assert "LD_PRELOAD=/usr/lib/libvgpu.so" in made.server
    assert made.notes == []


def test_sources_that_are_nowhere_are_said(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (checkout / "src" / "hook.c").rename(checkout / "src" / "other.c")
    monkeypatch.chdir(checkout)
    found = substitute_path.of_files([str(checkout / "build" / "libvgpu.so")])
    assert found == ([], ["/libvgpu/src/hook.c"])
    made = planned(hook=str(checkout / "build" / "libvgpu.so"))
    assert "not here: /libvgpu/src/hook.c; say where:  --path-map /libvgpu/src=DIR" in made.notes


def ids(copy: Copy) -> dict[str, str]:
    return {found.id: found.do for found in findings(copy)}


def test_copies(checkout: Path) -> None:
    from gdbcuda import elf

    here = str(checkout / "build" / "libvgpu.so")
    build_id = elf.open(here).build_id
    far = "/usr/lib/libvgpu.so"
    assert ids(Copy(far, 0x7000, build_id, here, True, (str(checkout / "src" / "hook.c"),))) == {
        "same-build": "", "sources-found": ""}  # fmt: skip
    other = ids(Copy(far, 0x7000, "00" * 20, here, True))
    assert list(other) == ["other-build"]
    assert f"\n    remote get {far} {here}" in other["other-build"]
    assert "add-symbol-file" in ids(Copy(far, 0x7000, build_id, here, False))["debug-info-here"]
    assert "-o 0x7000" in ids(Copy(far, 0x7000, build_id, here, False))["debug-info-here"]
    assert f"set solib-search-path {checkout}/build" in ids(Copy(far, 0, build_id, here, None))["no-symbols"]
    assert "set sysroot target:" in ids(Copy(far, 0, build_id, "", None))["no-symbols"]
    assert "no-build-id" in ids(Copy(far, 0, None, here, True))
    gone = ids(Copy(far, 0, build_id, here, True, ("/libvgpu/src/hook.c",)))["sources-not-found"]
    assert gone == f"in gdb:\n    set substitute-path /libvgpu {checkout}"


@pytest.mark.parametrize(
    ("debugger", "words", "server", "start"),
    [
        ("", [], "gdbserver", "gdbcuda gdb"),
        ("/usr/local/cuda/bin/cuda-gdb", [], "cuda-gdbserver", "gdbcuda gdb"),
        ("", ["--gdbserver", "cuda-gdbserver"], "cuda-gdbserver", "GDBCUDA_GDB=cuda-gdb gdbcuda gdb"),
        ("", ["--gdbserver", "/opt/my tools/gdbserver"], "'/opt/my tools/gdbserver'", "gdbcuda gdb"),
    ],
)
def test_the_server_that_the_debugger_speaks_to(
    debugger: str, words: list[str], server: str, start: str,
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setenv("GDBCUDA_GDB", debugger)
    for way, line in ((["--host", "gpu"], f"  {server} --once :1234 "), (["--pod", "p"], f"-- {server} --once - ")):
        assert cli.main(["remote", *words, *way, PROGRAM]) == 0
        shown = capsys.readouterr().out
        assert f"{line}{PROGRAM}" in shown
        assert cli.main(["remote", *words, *way, "--multi", PROGRAM]) == 0
        assert f"{server} --multi" in capsys.readouterr().out
    assert f"(started with:  {start}):" in shown


def test_options_that_may_be_given_again(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--env", "A=1", "--env", "B=x y", "--path-map", "/a=/here", "--path-map", "/b=/there"]
    assert cli.main(["remote", *words, "--multi", PROGRAM]) == 0
    shown = capsys.readouterr().out
    for line in ("set environment A=1", "set environment B=x y", "set substitute-path /a /here",
                 "set substitute-path /b /there"):  # fmt: skip
        assert f"\n  {line}\n" in shown

"""gdbcuda log coverage: which functions of a hook library were reached, and by which way."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from log_files import append, call, run, write
from shim_support import HOOK
from traced_programs import Trace, needs_recorder, trace

from gdbcuda.calls.record import Call
from gdbcuda.shell import cli

__all__ = ["trace"]
HOOK_SOURCE = """\
int cuMemAlloc_v2(void) { return 0; }
int cuMemFree_v2(void)
{
    return 0;
}
int cuMemsetD8_v2(void) { return 0; }
int cuStreamCreate(void) { return 0; }
int not_of_the_api(void) { return 0; }
"""
PROGRAM_SOURCE = "int cuMemAlloc_v2(void); int main(void) { return cuMemAlloc_v2(); }"
ASKING_SOURCE = "void *dlsym(void *, const char *); void *ask(void) { return dlsym(0, \"cuMemFree_v2\"); }"
BY_NAME, ASKING, NOWHERE, IN_HOOK = 0x400, 0x500, 0x600, 0x700


class Files:
    def __init__(self, folder: Path) -> None:
        self.hook = self.built(folder / "libhook.so", HOOK_SOURCE, "-shared", "-g")
        self.program = self.built(folder / "program", PROGRAM_SOURCE, f"-L{folder}", "-l:libhook.so")
        self.asking = self.built(folder / "libasking.so", ASKING_SOURCE, "-shared")
        self.places = {
            BY_NAME: {"function": "main", "object": str(self.program), "layer": "app"},
            ASKING: {"function": "ask", "object": str(self.asking), "layer": "app"},
            NOWHERE: {"function": "gone", "object": str(folder / "gone.so"), "layer": "app"},
            IN_HOOK: {"function": "watch", "object": str(self.hook), "layer": "hook"},
        }

    def built(self, path: Path, source: str, *options: str) -> Path:
        (path.parent / f"{path.name}.c").write_text(source)
        subprocess.run(["gcc", "-fPIC", "-o", str(path), f"{path}.c", *options], check=True)
        return path


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Files:
    return Files(tmp_path_factory.mktemp("coverage"))


def to_hook(number: int, name: str, caller: int = BY_NAME, **fields: Any) -> Call:
    return call(number, name, object="libhook.so", caller=caller, **fields)


def to_driver(number: int, name: str, caller: int, **fields: Any) -> Call:
    return call(number, name, object="libcuda.so.1", layer="driver", caller=caller, **fields)


def covered(capsys: pytest.CaptureFixture[str], files: Files, *logs: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(run(capsys, "coverage", *logs, "--hook", files.hook, "--json"))
    found["functions"] = {one["function"]: one for one in found["functions"]}
    return found


def test_past_a_function_that_is_handed_out_under_another_name(
    files: Files, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The library exports no cuMemGetInfo_v2: that it has one is known from the calls that arrived, the later ones."""
    log = write(tmp_path / "log", [
        to_driver(0, "cuMemGetInfo_v2", BY_NAME), to_driver(1, "cuInit", BY_NAME),
        to_hook(2, "cuMemGetInfo_v2", ASKING),
        to_driver(3, "cuMemGetInfo_v2", IN_HOOK, parent=2, depth=1),
    ], files.places)  # fmt: skip
    found = covered(capsys, files, log)
    assert found["functions"]["cuMemGetInfo_v2"]["past"] == {str(files.program.name): 1}
    assert "cuInit" not in found["functions"]
    assert [one["past"] for one in found["families"] if one["name"] == "cuMem"] == [1]


def test_what_was_reached_and_by_which_way(
    files: Files, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = {"symbol": "cuStreamCreate", "cudaVersion": 2000}
    log = write(tmp_path / "log", [
        to_hook(0, "cuMemAlloc_v2"), to_hook(1, "cuMemAlloc_v2", ASKING), to_hook(2, "cuMemFree_v2", NOWHERE),
        to_driver(3, "cuGetProcAddress_v2", BY_NAME, arguments=asked), to_hook(4, "cuStreamCreate"),
        to_hook(5, "cuMemFree_v2"),
    ], files.places)  # fmt: skip
    found = covered(capsys, files, log)
    ways = {name: one["ways"] for name, one in found["functions"].items()}
    assert ways == {
        "cuMemAlloc_v2": {"by name": 1, "dlsym": 1}, "cuMemFree_v2": {"table": 1, "not known": 1},
        "cuMemsetD8_v2": {}, "cuStreamCreate": {"cuGetProcAddress": 1},
    }  # fmt: skip
    assert (found["hooked"], found["reached"]) == (4, 3)


RESOLVERS = ["cuGetProcAddress", "cuGetProcAddress_v2", "cudaGetDriverEntryPoint", "cudaGetDriverEntryPoint_ptsz",
             "cudaGetDriverEntryPointByVersion", "cudaGetDriverEntryPointByVersion_ptsz"]  # fmt: skip


@pytest.mark.parametrize(("kind", "details", "way"), [
    ("recorded", {"names": ["cuMemAlloc_v2"]}, "not known"),
    ("recorded", {"names": ["cuMemAlloc_v2", *RESOLVERS]}, "dlsym"),
    ("unseen", {"name": "before"}, "not known"),
    ("unseen", {"name": "cuMemFree"}, "dlsym"),
])  # fmt: skip
def test_who_has_not_asked_in_a_log_without_all_requests(
    files: Files, tmp_path: Path, capsys: pytest.CaptureFixture[str], kind: str, details: dict[str, Any], way: str
) -> None:
    """It may have asked for the function all the same. What the loader has bound is known."""
    log = write(tmp_path / "log", [to_hook(0, "cuMemAlloc_v2"), to_hook(1, "cuMemAlloc_v2", ASKING)], files.places)
    header, rest = log.read_text().split("\n", 1)
    note = json.dumps({"ts": 0, "phase": "M", "name": kind, "details": {**details, "pid": 0}})
    log.write_text(f"{header}\n{note}\n{rest}")
    found = covered(capsys, files, log)["functions"]["cuMemAlloc_v2"]["ways"]
    assert found == {"by name": 1, way: 1}


def test_what_was_handed_out_and_never_called(
    files: Files, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A library without symbols has functions all the same: what was asked for, they are."""

    def asked(number: int, name: str, version: int, answer: str) -> Call:
        out = {"pfn": {"address": "0x1", "value": answer}}
        arguments = {"symbol": name, "cudaVersion": version, "flags": 0}
        return call(number, "cuGetProcAddress_v2", arguments, layer="driver", object="libcuda.so.1", out=out)

    log = write(tmp_path / "log", [
        asked(0, "cuMemAlloc", 3020, "0x10"), asked(1, "cuMemHostAlloc", 13000, "0x20"),
        asked(2, "cuMemAdvise", 8000, "0x30"), asked(3, "cuMemFree", 2000, "0x40"),
    ], files.places)  # fmt: skip
    hook, driver = str(files.hook), "/usr/lib/libcuda.so.1"
    found = [(0x10, [], hook), (0x20, ["own", "cuMemHostAlloc"], hook), (0x30, ["cuMemAdvise"], driver),
             (0x40, [], hook)]  # fmt: skip
    notes = [{"ts": 0, "phase": "M", "name": "function", "details": {"address": at, "names": names, "object": file}}
             for at, names, file in found]  # fmt: skip
    header, rest = log.read_text().split("\n", 1)
    log.write_text("\n".join([header, *map(json.dumps, notes), rest]))
    told = covered(capsys, files, log)
    assert told["functions"].keys() - {"cuMemAlloc_v2", "cuMemFree_v2", "cuMemsetD8_v2", "cuStreamCreate"} == {
        "cuMemHostAlloc", "cuMemFree",
    }  # fmt: skip
    assert (told["hooked"], told["reached"]) == (6, 0)


def test_what_the_hook_calls_itself_is_not_reached(
    files: Files, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = write(tmp_path / "log", [
        to_hook(0, "cuMemAlloc_v2", end=0.009), to_hook(1, "cuMemFree_v2", IN_HOOK, parent=0, depth=1),
        to_driver(2, "cuMemAlloc_v2", IN_HOOK, parent=0, depth=1), to_driver(10, "cuMemsetD8_v2", IN_HOOK),
    ], files.places)  # fmt: skip
    found = covered(capsys, files, log)["functions"]
    assert (found["cuMemFree_v2"]["calls"], found["cuMemFree_v2"]["own"]) == (0, 1)
    assert {name: one["past"] for name, one in found.items() if one["past"]} == {}


def test_calls_past_the_hook(files: Files, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = write(tmp_path / "log", [
        to_driver(0, "cuMemFree_v2", ASKING), to_driver(1, "cuMemFree_v2", BY_NAME),
        to_driver(2, "cuMemFree_v2", ASKING), to_driver(3, "cuCtxGetCurrent", BY_NAME), to_hook(4, "cuMemAlloc_v2"),
    ], files.places)  # fmt: skip
    text = run(capsys, "coverage", log, "--hook", files.hook)
    assert text.startswith("libhook.so: 1 of 4 functions reached, in 1 call\n"
                           "3 calls of 1 function went past it: cuMemFree_v2\n")  # fmt: skip
    assert "cuMemFree_v2                3  libasking.so and program" in text
    assert "Never reached: cuMemFree_v2, cuMemsetD8_v2 and cuStreamCreate" in text


def test_several_logs_are_merged(files: Files, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first = write(tmp_path / "first", [to_hook(0, "cuMemAlloc_v2")], files.places)
    second = write(tmp_path / "second", [to_hook(0, "cuMemAlloc_v2"), to_hook(1, "cuMemsetD8_v2")], files.places)
    found = covered(capsys, files, first, second)
    assert {name: one["calls"] for name, one in found["functions"].items()} == {
        "cuMemAlloc_v2": 2, "cuMemFree_v2": 0, "cuMemsetD8_v2": 1, "cuStreamCreate": 0,
    }  # fmt: skip
    assert [(one["name"], one["hooked"], one["reached"], one["calls"]) for one in found["families"]] == [
        ("cuMem", 2, 1, 2), ("cuMemset", 1, 1, 1), ("cuStream", 1, 0, 0),
    ]  # fmt: skip


def recorded(path: Path, names: list[str], is_some: bool) -> Path:
    line = {"ts": 0.0, "phase": "M", "name": "recorded", "details": {"names": names, "some": is_some, "pid": 0}}
    return append(path, json.dumps(line) + "\n")


@pytest.mark.parametrize(("names", "is_some", "known"), [
    (["cuMemAlloc_v2", "cuMemFree_v2"], False, {"cuMemAlloc_v2", "cuMemFree_v2"}),
    (["cuMemAlloc_v2", "cuMemFree_v2"], True, {"cuMemAlloc_v2"}),  # of which a call is there
])  # fmt: skip
def test_what_is_not_recorded_is_not_known(
    files: Files, tmp_path: Path, capsys: pytest.CaptureFixture[str], names: list[str], is_some: bool, known: set[str]
) -> None:
    """Unless another of the logs has all."""
    whole = write(tmp_path / "whole", [to_hook(0, "cuMemAlloc_v2")], files.places)
    part = recorded(write(tmp_path / "part", [to_hook(0, "cuMemAlloc_v2")], files.places), names, is_some)
    found = covered(capsys, files, part)["functions"]
    assert {name for name, one in found.items() if one["known"]} == known
    text = run(capsys, "coverage", part, "--hook", files.hook)
    assert f"Not known of {4 - len(known)} functions, whose calls were not all recorded: cu" in text
    assert all(one["known"] for one in covered(capsys, files, part, whole)["functions"].values())


def test_a_library_that_was_not_loaded(files: Files, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = write(tmp_path / "log", [to_driver(0, "cuMemAlloc_v2", BY_NAME)], files.places)
    assert "none of 4 functions was reached\nNo call of the log is its own: was it loaded?" in run(
        capsys, "coverage", log, "--hook", files.hook
    )


def test_the_tracefile_of_lcov(files: Files, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = write(tmp_path / "log", [to_hook(0, "cuMemFree_v2"), to_hook(1, "cuMemFree_v2")], files.places)
    told = run(capsys, "coverage", log, "--hook", files.hook, "--lcov", tmp_path / "hook.info")
    assert told.endswith("4 of 4 functions have a line by debug info.\n")
    assert (tmp_path / "hook.info").read_text().splitlines() == [
        "TN:gdbcuda", f"SF:{files.hook}.c", "FN:1,cuMemAlloc_v2", "FN:3,cuMemFree_v2", "FN:6,cuMemsetD8_v2",
        "FN:7,cuStreamCreate", "FNDA:0,cuMemAlloc_v2", "FNDA:2,cuMemFree_v2", "FNDA:0,cuMemsetD8_v2",
        "FNDA:0,cuStreamCreate", "FNF:4", "FNH:1", "DA:1,0", "DA:3,2", "DA:6,0", "DA:7,0", "LF:4", "LH:1",
        "end_of_record",
    ]  # fmt: skip


@pytest.mark.parametrize("name, problem", [("no_such.so", "no such file"), ("program", "is no shared library")])
def test_what_is_no_hook_library(
    files: Files, tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, problem: str
) -> None:
    log = write(tmp_path / "log", [])
    assert cli.main(["log", "coverage", str(log), "--hook", str(files.hook.parent / name)]) == 2
    told = capsys.readouterr().err
    assert problem in told and len(told.splitlines()) == 1


class TestOfARun:
    pytestmark = needs_recorder

    def test_under_the_runtime(self, trace: Trace, shim: Path) -> None:
        hook = str(shim / HOOK)
        found = trace("runtime_alloc", options=("--hook", hook))
        told = json.loads(found.log("coverage", "--hook", hook, "--json").stdout)
        ways = {one["function"]: one["ways"] for one in told["functions"] if one["calls"]}
        assert (ways["cudaMalloc"], ways["cuMemAlloc_v2"]) == ({"by name": 3}, {"cuGetProcAddress": 3})
        assert list(ways["cuGetProcAddress_v2"]) == ["dlsym"], "it asks for that too, with the one that it has"
        assert not any(one["past"] for one in told["functions"])


def test_calls_that_came_out_of_it_and_had_not_gone_in(
    files: Files, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """As of a hook that patches slots, whose functions have no exported names."""
    log = write(tmp_path / "log", [
        to_driver(0, "cuMemAlloc_v2", IN_HOOK), to_driver(1, "cuInit", IN_HOOK), to_driver(2, "cuInit", BY_NAME),
    ], files.places)  # fmt: skip
    found = covered(capsys, files, log)
    assert found["unentered"] == {"cuMemAlloc_v2": 1, "cuInit": 1} and found["reached"] == 0
    text = run(capsys, "coverage", log, "--hook", files.hook)
    assert "2 calls came out of it that no recorded call had gone into: cuInit and cuMemAlloc_v2\n" in text
    assert "was it loaded?" not in text


def test_what_the_tracefile_leaves_out(files: Files, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = write(tmp_path / "log", [to_hook(0, "cuMemAlloc_v2"), to_hook(1, "cuCtxCreate_v2")], files.places)
    text = run(capsys, "coverage", log, "--hook", files.hook, "--lcov", tmp_path / "hook.info")
    assert "4 of 4 functions have a line by debug info; 1 without an exported name left out." in text


def test_a_sentence_is_broken_by_the_terminal_alone(
    files: Files, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = write(tmp_path / "log", [to_driver(0, "cuMemAlloc_v2", IN_HOOK)], files.places)
    text = run(capsys, "coverage", log, "--hook", files.hook)
    assert "\n(Its own threads make such calls, and a recording that begins while" in text
    assert text.partition("(Its own")[2].partition("\n")[0].endswith("cuda-log in gdb does.)")

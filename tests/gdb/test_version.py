"""What a bug report needs, before there is a process and in one."""

from __future__ import annotations

import json
import re
import subprocess

from scenario import GDB, Scenario

from gdbcuda import __version__


def rows(text: str) -> dict[str, str]:
    return dict(re.findall(r"^(\w[\w ]*?)  +(\S.*)$", text, re.MULTILINE))


def build_id(path: object) -> str:
    notes = subprocess.run(["readelf", "-n", str(path)], text=True, capture_output=True, check=True).stdout
    found = re.search(r"Build ID: (\w+)", notes)
    assert found
    return found[1]


def test_in_a_process(scenario: Scenario) -> None:
    text = scenario.run("test_alloc", "break main", "RUN", "set cuda-recursion-limit 7", "cuda-version")
    found = rows(text)
    version = subprocess.run([GDB, "--version"], text=True, capture_output=True, check=True).stdout.splitlines()
    assert found["gdbcuda"] == __version__ and found["gdb"] in version[:2]  # NVIDIA's wrapper says first what it runs
    assert re.match(r"pygments \d\S*, tabulate \d\S*, pyelftools \d\S*$", found["packages"])
    assert re.match(r"CUDA \d+\.\d+, NVML \d+\.\d+$", found["API table"])
    assert found["hook"] == f"{scenario.hook}  build-id {build_id(scenario.hook)}"
    assert found["driver"].endswith(build_id(scenario.shim / "standin" / "libcuda.so.1"))
    assert found["target"] == ("native" if scenario.place == "local" else "remote")
    assert found["settings"] == "cuda-recursion-limit 7"


def test_before_the_start_and_as_json(local: Scenario) -> None:
    text = local.run(None, "cuda-version", "echo \\n", "cuda-version --json", hook=None)
    found, document = rows(text.partition("{")[0]), json.loads(text[text.index("{") :])
    assert (found["target"], found["program"], found["settings"]) == ("no process", "none", "as they come")
    assert (document["gdbcuda"], document["loaded"], document["settings"]["cuda-recursion-limit"]) == (
        __version__,
        [],
        0,
    )


def test_the_setting_of_that_name_stays(local: Scenario) -> None:
    text = local.run(None, "set cuda-version 12.9", "show cuda-version", "cuda-version", hook=None)
    assert "cuda-version is 12.9." in text and rows(text)["API table"].startswith("CUDA 12.9,")

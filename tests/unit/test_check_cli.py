"""``gdbcuda check`` as it is typed: what it prints, its exit status, its JSON, and files that are no good."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from elf_build import compiled

from gdbcuda.check import cli
from gdbcuda.shell.cli import make_parser

ROOT = Path(__file__).resolve().parents[2]
ALLOC = "int cuMemAlloc_v2(void **p, unsigned long n) { *p = (void *)n; return 0; }\n"


def typed(*words: str | Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """gdbcuda check WORDS in a process of its own."""
    variables = {**os.environ, "PYTHONPATH": str(ROOT), **environment}
    command = [sys.executable, "-m", "gdbcuda.shell.cli", "check", *map(str, words)]
    return subprocess.run(command, env=variables, capture_output=True, text=True, timeout=60)


@pytest.fixture
def good(tmp_path: Path) -> Path:
    return compiled(tmp_path, ALLOC, "-g", name="libgood.so")


@pytest.fixture
def bad(tmp_path: Path) -> Path:
    return compiled(tmp_path / "bad", ALLOC, "-g", "-fvisibility=hidden", name="libbad.so")


def test_the_examples_of_its_help_parse() -> None:
    examples = re.findall(r"^  gdbcuda (.*)$", typed("--help").stdout.partition("Examples:")[2], re.MULTILINE)
    assert len(examples) == 3
    assert all(make_parser().parse_args(example.split()).file for example in examples)


def test_table_worst_first_and_verdict_last(bad: Path) -> None:
    done = typed(bad, COLUMNS="100")
    lines = done.stdout.splitlines()
    severities = [line.split()[0] for line in lines if line.split()[0] in ("error", "warning", "note")]
    assert severities == sorted(severities, key=["error", "warning", "note"].index)
    assert lines[-1] == "libbad.so: will not be reached by linked programs (hidden-functions)"
    assert (done.returncode, done.stderr) == (1, "")
    assert max(map(len, lines[1:])) <= 100, "but for the path in the heading"
    assert "\x1b" not in done.stdout


def test_quiet_prints_a_line_for_each_file(good: Path, bad: Path) -> None:
    done = typed("--quiet", good, bad)
    assert [line.partition(":")[0] for line in done.stdout.splitlines()] == ["libgood.so", "libbad.so"]
    assert done.returncode == 1
    assert typed("--quiet", good).returncode == 0


def test_two_libraries_of_one_name_are_told_apart(good: Path, tmp_path: Path) -> None:
    other = tmp_path / "release" / good.name
    other.parent.mkdir()
    other.write_bytes(good.read_bytes())
    for words in (("--quiet",), ()):
        lines = typed(*words, good, other, good.parent / "none.so").stdout.splitlines()
        assert [path for path in (good, other) if any(line.startswith(f"{path}: ") for line in lines)] == [good, other]


def test_colour_when_asked_for(good: Path) -> None:
    assert "\x1b[" in typed("--color", "always", good).stdout
    assert "\x1b[" not in typed("--color", "auto", good).stdout
    in_colour, without = (typed("--json", "--color", choice, good).stdout for choice in ("always", "auto"))
    assert "\x1b[" in in_colour and json.loads(re.sub(r"\x1b\[[0-9;]*m", "", in_colour)) == json.loads(without)


def test_a_version_to_compare_with(good: Path) -> None:
    assert "(CUDA 11.8)" in typed("--cuda", "11.8", good).stdout
    wrong = typed("--cuda", "eleven", good)
    assert (wrong.returncode, wrong.stdout) == (2, "")
    assert wrong.stderr.count("\n") == 1


def test_the_hook_is_reported_with_the_program(tmp_path: Path, good: Path) -> None:
    source = '#include <dlfcn.h>\nint main(void) { return !dlopen("libcuda.so.1", 1); }'
    program = compiled(tmp_path, source, "-pie", "-fPIE", name="program")
    done = typed("--quiet", program, "--hook", good)
    assert [line.partition(":")[0] for line in done.stdout.splitlines()] == ["libgood.so", "program"]
    assert "may not be reached by this program" in done.stdout


def test_a_library_inside_an_image(tmp_path: Path) -> None:
    image = tmp_path / "image"
    compiled(image / "opt" / "lib", ALLOC, "-g", name="libhook.so.1")
    (image / "usr" / "lib").mkdir(parents=True)
    (image / "usr" / "lib" / "libhook.so").symlink_to("/opt/lib/libhook.so.1")
    done = typed("--sysroot", image, "--quiet", "/usr/lib/libhook.so")
    assert done.stdout.startswith("libhook.so.1: ready")
    (image / "usr" / "lib" / "circle.so").symlink_to("circle.so")
    assert typed("--sysroot", image, "/usr/lib/circle.so").returncode == 2


def bad_files(folder: Path, library: bytes) -> dict[str, bytes]:
    """Names and contents of files that are no library."""
    header = bytearray(library)
    header[0x28:0x30] = b"\xff" * 8
    return {
        "empty": b"", "text": b"hello\n", "archive.a": b"!<arch>\n" + b"x" * 90, "script": b"#!/bin/sh\n",
        "ldscript.so": b"/* GNU ld script */\nINPUT(/lib/libcuda.so.1)\n", "cut.so": library[:500],
        "half.so": library[: len(library) // 2], "lies.so": bytes(header), "elf": b"\x7fELF",
    }  # fmt: skip


@pytest.mark.parametrize(("cuda", "said"), [
    ("12.9", ""), ("12", ""), ("12.4", "gdbcuda: CUDA 12.4 is not in the table: compared with 11.8\n"),
    ("99.9", "gdbcuda: CUDA 99.9 is not in the table: compared with 13.0\n")])  # fmt: skip
def test_another_version_than_the_one_that_was_asked_for_is_told(good: Path, cuda: str, said: str) -> None:
    assert typed("--quiet", "--cuda", cuda, good).stderr == said


def test_a_sysroot_that_is_not_there(good: Path) -> None:
    assert typed("--sysroot", "/no/such", good).stderr == "gdbcuda: --sysroot /no/such is no folder\n"


def test_a_hook_library_that_is_not_there_is_told_once(tmp_path: Path, good: Path) -> None:
    done = typed("--quiet", sys.executable, "/bin/sh", "--hook", tmp_path / "missing")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"gdbcuda: cannot read {tmp_path / 'missing'}: no such file or directory\n"


def test_bad_files_cost_one_line_each(tmp_path: Path, good: Path) -> None:
    files = bad_files(tmp_path, good.read_bytes())
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
    os.mkfifo(tmp_path / "fifo")
    names = [*files, "fifo", "missing", ".", "bad"]
    done = typed("--quiet", *(tmp_path / name for name in names), good)
    assert done.returncode == 2
    lines = done.stderr.splitlines()
    assert len(lines) == len(names), done.stderr
    assert all(line.removeprefix("gdbcuda: ").removeprefix("cannot read ").startswith(str(tmp_path)) for line in lines)
    assert done.stdout.startswith("libgood.so: ready"), "the others are checked all the same"


def test_a_damaged_part_is_a_finding(tmp_path: Path) -> None:
    data = bytearray(compiled(tmp_path, ALLOC, "-gdwarf-5").read_bytes())
    at = data.find(b"\x05\x00\x01\x08")  # version, unit type and address size in .debug_info
    data[at - 4 : at] = b"\xff\xff\xff\x7f"
    data[at + 4 : at + 8] = b"\xff\xff\xff\x7f"
    path = tmp_path / "libdamaged.so"
    path.write_bytes(data)
    done = typed(path)
    assert (done.returncode, done.stderr) == (1, "")
    assert "damaged" in done.stdout


def test_json_is_what_the_schema_says(tmp_path: Path, good: Path, bad: Path) -> None:
    done = typed("--json", good, bad, tmp_path / "missing")
    assert (done.returncode, done.stderr) == (2, "")
    document = json.loads(done.stdout)
    schema = json.loads(Path(cli.__file__).with_name("schema.json").read_text())
    assert list(problems(document, schema, schema)) == []
    assert [file["exit_status"] for file in document["files"]] == [0, 1, 2]
    assert document["files"][1]["findings"][0]["id"] == "hidden-functions"
    functions = [file["functions"] for file in document["files"][:2]]
    assert [each["exported"] for each in functions] == [["cuMemAlloc_v2"], []]
    assert [each["hidden"] for each in functions] == [[], ["cuMemAlloc_v2"]]
    assert "cuMemFree_v2" in functions[0]["not_hooked"]
    document["files"][0]["findings"][0]["severity"] = "bad"
    assert list(problems(document, schema, schema))


TYPES: dict[str, tuple[type, ...]] = {
    "object": (dict,), "array": (list,), "string": (str,), "integer": (int,), "null": (type(None),),
}  # fmt: skip


def problems(value: Any, schema: dict[str, Any], root: dict[str, Any]) -> list[str]:
    """What of the value is against the schema; as much of JSON Schema as schema.json uses."""
    if "$ref" in schema:
        return problems(value, root["$defs"][schema["$ref"].rpartition("/")[2]], root)
    if "oneOf" in schema:
        fitting = [each for each in schema["oneOf"] if not problems(value, each, root)]
        return [] if len(fitting) == 1 else [f"{len(fitting)} of oneOf fit {value!r:.80}"]
    unknown = set(schema) - {"$schema", "$defs", "title", "description", "type", "enum", "required", "items",
                             "properties", "additionalProperties"}  # fmt: skip
    assert not unknown, unknown
    wanted = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    if not any(isinstance(value, TYPES[name]) for name in wanted):
        return [f"{value!r:.80} is no {wanted}"]
    found = [] if value in schema.get("enum", [value]) else [f"{value!r} is none of {schema['enum']}"]
    if isinstance(value, dict):
        known = schema["properties"]
        found += [f"{name} is missing" for name in schema["required"] if name not in value]
        found += [f"{name} is unknown" for name in value if name not in known]
        found += [p for name, each in value.items() if name in known for p in problems(each, known[name], root)]
    if isinstance(value, list):
        found += [problem for each in value for problem in problems(each, schema["items"], root)]
    return found


def test_it_is_a_subcommand() -> None:
    import argparse

    parser = argparse.ArgumentParser()
    cli.add_parser(parser.add_subparsers())
    args = parser.parse_args(["check", "--quiet", "/dev/null"])
    assert args.run(args) == 2


def test_never_a_write(good: Path) -> None:
    good.chmod(0o555)
    before = good.stat().st_mtime_ns
    assert typed("--quiet", good).returncode == 0
    assert good.stat().st_mtime_ns == before

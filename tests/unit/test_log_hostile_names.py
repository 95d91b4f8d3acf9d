"""A log whose every string was written by somebody who means ill: no view lets it reach the terminal, or the page."""

from __future__ import annotations

import json
import re
import unicodedata
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from log_files import HEADER

from gdbcuda.log.views import report
from gdbcuda.shell import cli
from gdbcuda.text import render

EVIL = "\x1b[32mfree\x1b]0;title\x07\x9b2J\nready: yes\t\u202etxt\r\u2028\x00<!--<script>"
OURS = re.compile(r"\x1b\[(?:0|" + "|".join(set(render.ROLES.values())) + ")m")
Data = dict[str, Any]
CONTROLS = ("Cc", "Cf", "Cs", "Zl", "Zp")


def lines(evil: str) -> list[Data]:
    """A process, a thread, places, a kernel; calls in the hook that pass on something else, one that fails, a leak."""
    where = {"inferior": 1, "pid": 7}
    head = HEADER | {"program": evil, "version": evil, "objects": [{"file": evil, "layer": evil, "build_id": evil}]}
    notes = [
        {"name": "process", "details": {**where, "program": evil}},
        {"name": "thread", "details": {**where, "thread": 1, "lwp": 8, "name": evil}},
        {"name": "object", "details": {**where, "file": evil, "layer": evil, "build_id": evil}},
        {"name": "place", "details": {**where, "address": 1, "function": evil, "object": evil, "source": evil}},
        {"name": "place", "details": {**where, "address": 2, "function": evil, "object": evil}},
        {"name": "kernel", "details": {"name": "_Z1k", "demangled": evil}},
    ]
    calls: list[Data] = []

    def call(number: int, name: str, arguments: Data, out: Data, status: int = 0, **more: Any) -> None:
        begin = {"op_id": number, "phase": "B", "name": name, "details": arguments, "thread": 1, "lwp": 8,
                 "layer": "hook", "object": evil, "caller": 1 + number % 2, "stack": [1, 2, 3], **where,
                 **more}  # fmt: skip
        details = {"status": status, "result": evil if status else "CUDA_SUCCESS", "out": out}
        calls.extend([begin | {"ts": number / 100}, {"ts": number / 100 + 0.05, "op_id": number, "phase": "E",
                                                    "name": name, "details": details}])  # fmt: skip

    block = {"dptr": {"address": "0x1", "value": "0x2000"}, "other": {"address": evil, "value": evil}}
    call(1, "cuMemAlloc_v2", {"bytesize": 64, evil: evil, "dptr": {"address": evil, "unreadable": True}}, block)
    call(2, "cuMemAlloc_v2", {"bytesize": 1 << 40, "dptr": [evil, {evil: evil}]}, {evil: evil}, 2)
    call(3, "cuMemFree_v2", {"dptr": "0x9", "x": evil}, {}, 1)
    call(4, "cuModuleGetFunction", {"name": "_Z1k"}, {"hfunc": {"address": "0x1", "value": "0x77"}})
    grid = {f"{what}Dim{axis}": evil if axis == "Z" else 1 for what in ("grid", "block") for axis in "XYZ"}
    call(5, "cuLaunchKernel", {"f": "0x77", **grid}, {})
    call(6, "cuMemcpyHtoD_v2", {"dstDevice": "0x2000", "srcHost": evil, "ByteCount": 4096}, {})
    call(7, evil, {evil: {evil: evil}}, {evil: evil}, layer=evil)
    call(8, "cuInit", {"Flags": evil}, {})
    call(9, "cuInit", {"Flags": evil + "2"}, {}, parent=8, depth=1, layer="driver")
    call(10, "cuMemGetInfo_v2", {}, {"free": {"address": "0x1", "value": 1}, "total": {"address": "0x2", "value": 2}})
    calls[-1]["details"]["ended"] = evil
    strange: list[Data] = [{"ts": 1, "phase": evil}, {"gdbcuda_log": evil}]
    return [head, *({"ts": 0, "phase": "M", **note} for note in notes), *calls, *strange]


def write(path: Path, evil: str) -> Path:
    path.write_text("\n".join(map(json.dumps, lines(evil))) + "\n")
    return path


VIEWS = [
    ("show",), ("show", "--stack"), ("tree",), ("changes",), ("summary",), ("timeline",), ("diff",),
    ("show", "--failed"), ("summary", "--if", "bytesize > 1"),
    *(("memory", "--view", view) for view in ("overview", "live", "leaks", "peak", "by-site", "problems", "reported",
                                              "0x2000")),
]  # fmt: skip


def shown(capsys: pytest.CaptureFixture[str], folder: Path, evil: str, view: tuple[str, ...], *options: str) -> str:
    """Output and complaints. The second log of a comparison lacks the last calls."""
    first, second = write(folder / "a", evil), write(folder / "b", evil)
    second.write_text("\n".join(second.read_text().splitlines()[:-9]) + "\n")
    files = [first, second] if view[0] in ("diff", "show") else [first]
    assert cli.main(["log", *view, *options, *map(str, files)]) == 0
    seen = capsys.readouterr()
    return seen.out + seen.err


@pytest.mark.parametrize("view", VIEWS, ids=" ".join)
@pytest.mark.parametrize("colour", ["always", "never"])
def test_of_no_view_it_controls_the_terminal(
    view: tuple[str, ...], colour: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    evil = shown(capsys, tmp_path, EVIL, view, "--color", colour)
    plain = OURS.sub("", evil) if colour == "always" else evil
    assert not [c for c in plain if unicodedata.category(c) in CONTROLS and c != "\n"]
    harmless = shown(capsys, tmp_path, "harmless", view, "--color", colour)
    assert evil.count("\n") == harmless.count("\n"), "it makes lines of its own"
    assert r"\x1b[32mfree" in evil or "harmless" not in harmless


@pytest.mark.parametrize("view", [view for view in VIEWS if "--stack" not in view], ids=" ".join)
def test_as_json_it_is_what_it_was(view: tuple[str, ...], capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    seen = shown(capsys, tmp_path, EVIL, view, "--json").partition("gdbcuda: ")[0]
    assert (seen.isascii() and json.dumps(EVIL)[1:-1] in seen) or view == ("timeline",)
    assert all(isinstance(json.loads(line), dict) for line in seen.splitlines())


@pytest.mark.parametrize("kind", ["chrome", "csv"])
def test_what_is_exported_is_what_it_was(kind: str, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert cli.main(["log", "export", "--format", kind, str(write(tmp_path / "log", EVIL))]) == 0
    seen = capsys.readouterr().out
    assert (json.dumps(EVIL) if kind == "chrome" else EVIL) in seen


# -- the page


class Page(HTMLParser):
    """The elements of a page, and the text of its scripts."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[str] = []
        self.scripts: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.elements.append(tag)
        self.scripts += [""] * (tag == "script")

    def handle_data(self, data: str) -> None:
        if self.cdata_elem == "script":
            self.scripts[-1] += data

    def handle_comment(self, data: str) -> None:
        self.elements.append("comment")


STRUCTURE = Page(report.TEMPLATE.read_text()).elements
PIECES = st.sampled_from([
    "<!--", "-->", "<script", "<script>", "</script", "</script>", "</SCRIPT >", "<", ">", "&", "&lt;", "]]>",
    "<![CDATA[", "\\", "\\u003c", '"', "\u2028", "\ud800", "@DATA@", "</title>", "\x00",
])  # fmt: skip
STRINGS = st.lists(st.one_of(PIECES, st.text(st.characters(exclude_categories=())))).map("".join)


def page_of(folder: Path, evil: str) -> tuple[str, Page]:
    page = folder / "page.html"
    assert cli.main(["log", "report", str(write(folder / "log", evil)), "-o", str(page)]) == 0
    text = page.read_text(encoding="utf-8")
    return text, Page(text)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(STRINGS)
def test_of_every_string_the_page_is_the_same_page(tmp_path: Path, evil: str) -> None:
    """The same elements, and the data of the script is what the log says. By the rules of HTML a script element's text
    needs a "<" to be anything else (HTML Standard, 13.2.5.4)."""
    text, page = page_of(tmp_path, evil)
    assert page.elements == STRUCTURE
    data = page.scripts[0]
    assert text.partition(data)[1] and not set("<>&") & set(data) and data.isascii()
    found = json.loads(data)
    assert found["names"][-1] == "cuMemGetInfo_v2" and evil in found["names"]
    assert [one["name"] for one in found["threads"]] == [f"T1 {evil}".rstrip()]
    assert found["program"] == (evil.rsplit("/", 1)[-1] if evil else "an unknown program")
    assert [name for name, *_ in found["kernels"]] == [evil or "0x77"]


@pytest.mark.parametrize("evil", ["<!--<script>", "</script><b>x</b>", "<!--<script></script>-->", EVIL])
def test_of_strings_that_html_knows(tmp_path: Path, evil: str) -> None:
    assert page_of(tmp_path, evil)[1].elements == STRUCTURE

"""gdbcuda log report: one page that needs nothing but itself, tried in a real browser."""

from __future__ import annotations

import json
import re
import shutil
import struct
import subprocess
import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest
from log_files import call, failed, write

from gdbcuda.log.views import report
from gdbcuda.shell import cli

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
EVIL = "</script><b>main</b>"
LINE = f'cuMemAlloc(&kept, 1 << 20); /* {EVIL} */'
PLACES = {0x400: {"function": "load_model", "source": "model.c:7", "text": LINE}, 0x500: {"function": EVIL}}


@pytest.fixture
def page(tmp_path: Path) -> Path:
    def alloc(number: int, pointer: str, size: int, **fields: object) -> object:
        return call(number, "cuMemAlloc_v2", {"dptr": {"address": "0x7f"}, "bytesize": size}, caller=0x400,
                    out={"dptr": {"address": "0x7f", "value": pointer}}, **fields)  # fmt: skip

    calls = [
        alloc(0, "0x10000", 4096), alloc(1, "0x20000", 1 << 20, thread=2),
        call(2, "cuMemFree_v2", {"dptr": "0x10000"}, thread=2), call(3, "cuMemFree_v2", {"dptr": "0x10000"}),
        failed(4, "cuMemsetD8_v2", 700, "CUDA_ERROR_ILLEGAL_ADDRESS", arguments={"dstDevice": "0x1"}, caller=0x500,
               stack=[0x500, 0x400]),
    ]  # fmt: skip
    page = tmp_path / "report.html"
    assert cli.main(["log", "report", str(write(tmp_path / "log", calls, PLACES)), "-o", str(page)]) == 0
    return page


def data_of(page: Path) -> dict:
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page.read_text(), re.DOTALL)
    assert found is not None
    return json.loads(found[1])


def test_the_page_holds_all_there_is_to_show(page: Path) -> None:
    data = data_of(page)
    assert [thread["name"] for thread in data["threads"]] == ["T1", "T2"] and len(data["calls"]) == 5
    assert data["peak"] == 4096 + (1 << 20) and data["memory"][-1][1] == 1 << 20
    assert [row[2] for row in data["problems"]] == ["double free"]
    assert data["leaks"] == [[1, 1 << 20, "cuMemAlloc_v2", "load_model at model.c:7"]]
    assert [row[3:] for row in data["errors"]] == [["cuMemsetD8_v2", "hook", "CUDA_ERROR_ILLEGAL_ADDRESS", EVIL]]
    assert [row[:2] for row in data["figures"] if row[4]] == [
        ["errors", 1], ["bad frees and copies", 1], ["not freed, in 1 block", 1 << 20]]  # fmt: skip
    assert [block[1] for block in data["blocks"]] == [None, 0.002] and data["all_blocks"]  # the larger one first


def test_a_result_without_a_name_is_written_as_in_the_log(tmp_path: Path) -> None:
    log, page = write(tmp_path / "log", [failed(0, "cuMemAlloc_v2", -1, -1)], PLACES), tmp_path / "report.html"
    assert cli.main(["log", "report", str(log), "-o", str(page)]) == 0
    assert data_of(page)["errors"][0][5] == "-1 (not in CUresult)"


def test_a_call_in_the_page_is_c(page: Path) -> None:
    """The classes are pygments' own names; calls that differ in numbers have one shape."""
    data = data_of(page)
    assert {name for shape in data["shapes"] for name, _ in shape} == {"", "nf", "mi"}  # every number is one
    shapes = {row[7].partition(" ")[0]: row[8] for row in data["calls"]}
    assert shapes["#2"] == shapes["#3"] != shapes["#4"]


def test_a_source_line_in_the_page_is_c(page: Path) -> None:
    lines = data_of(page)["lines"]
    assert [text for text, _ in lines.values()] == [LINE] and list(lines) == ["load_model at model.c:7"]
    assert next(name for _, pieces in lines.values() for name, _ in pieces) == "nf"


def test_the_page_needs_no_network(page: Path) -> None:
    assert not re.search(r"https?:|\bsrc=|\bhref=|@import|url\(", page.read_text())


def test_of_a_long_log_some_calls_are_drawn_from_all_of_the_time(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Of every thread and function, although they take turns; inner calls with their outer one, and all errors."""
    monkeypatch.setattr(report, "MOST_CALLS", 200)
    names = ("cuMemAlloc_v2", "cuMemsetD8_v2", "cuMemcpyDtoH_v2", "cuMemFree_v2")
    calls = []
    for number in range(0, 4000, 2):
        turn = number // 2 % 4
        calls.append(call(number, names[turn], thread=turn, end=number / 1000 + 0.0015, status=int(number == 1234)))
        calls.append(call(number + 1, names[turn], thread=turn, parent=number, depth=1, layer="driver"))
    page = tmp_path / "report.html"
    assert cli.main(["log", "report", str(write(tmp_path / "log", calls)), "-o", str(page)]) == 0
    data = data_of(page)
    drawn = [(round(row[1] * 1000), row[0], row[5]) for row in data["calls"] if not row[6]]
    assert 100 <= len(drawn) <= 201 and f"{len(data['calls'])} of the 4000 calls are drawn" in data["head"]
    assert {thread for _, thread, _ in drawn} == {0, 1, 2, 3}
    assert {number // 1000 for number, _, _ in drawn} == {0, 1, 2, 3}
    assert {number for number, _, depth in drawn if depth} == {number + 1 for number, _, depth in drawn if not depth}
    assert [row[1] for row in data["calls"] if row[6]] == [1.234]


def test_an_empty_log_has_a_page(tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    assert cli.main(["log", "report", str(write(tmp_path / "log", [])), "-o", str(page)]) == 0
    assert data_of(page)["calls"] == [] and data_of(page)["figures"][0][1] == 0


def test_bad_outputs(page: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = str(page.with_name("log"))
    assert cli.main(["log", "report", log, "-o", str(page.parent)]) == 2
    assert cli.main(["log", "report", log, log, "-o", str(page)]) == 2
    assert "cannot write" in capsys.readouterr().err


def test_of_several_logs_a_page_each(page: Path, tmp_path: Path) -> None:
    """Logs of the same name in two folders do not overwrite each other."""
    other = tmp_path / "other" / "log"
    other.parent.mkdir()
    write(other, [call(0, "cuInit")])
    logs = [str(page.with_name("log")), str(other)]
    assert cli.main(["log", "report", *logs, "-o", str(tmp_path / "pages")]) == 0
    first, second = sorted((tmp_path / "pages").iterdir())
    assert data_of(first) == data_of(page) and data_of(second)["names"] == ["cuInit"]


USE = """<script>{
const said = {before: $("range").textContent, rows: $("functions").tBodies[0].rows.length};
const lanes = $("lanes"), box = lanes.getBoundingClientRect();
lanes.dispatchEvent(new WheelEvent("wheel", {deltaY: -1, clientX: box.left + 200, clientY: box.top + 8}));
said.zoomed = $("range").textContent;
lanes.dispatchEvent(new MouseEvent("mousemove", {clientX: box.left + LEFT + 2, clientY: box.top + 8}));
said.call = $("tip").textContent;
const memory = $("memory"), place = memory.getBoundingClientRect();
$("reset").click();
said.reset = $("range").textContent;
memory.dispatchEvent(new MouseEvent("mousemove", {clientX: place.left + 500, clientY: place.top + 50}));
said.memory = $("tip").textContent;
[...$("functions").tHead.rows[0].cells].find(cell => cell.textContent.startsWith("function")).click();
said.sorted = [...$("functions").tBodies[0].rows].map(row => row.cells[0].textContent);
const leak = $("leaks").tBodies[0].rows[0].cells[3].querySelector("code");
said.leak = [leak.textContent, [...leak.children].map(one => one.className)];
$("filter").value = "MEMSET";
$("filter").dispatchEvent(new Event("input"));
said.filtered = [...$("functions").tBodies[0].rows].map(row => row.cells[0].textContent);
said.errors = $("errors").tBodies[0].rows[0].cells[6].textContent;
$("errors").tBodies[0].rows[0].click();
said.error = $("call").textContent;
said.spans = [...$("call").children].filter(one => one.className).map(one => [one.className, one.textContent]);
said.painted = getComputedStyle($("call").querySelector(".nf")).color !== getComputedStyle($("call")).color;
const press = key => document.body.dispatchEvent(new KeyboardEvent("keydown", {key, bubbles: true}));
const drawn = () => lanes.getContext("2d").getImageData(0, 0, lanes.width, lanes.height).data;
const colours = () => new Set(new Uint32Array(drawn().buffer));
const with_mark = colours().size;
press("Escape"); said.marks = with_mark - colours().size; said.none = $("call").textContent;
$("errors").tBodies[0].rows[0].click();
press("ArrowUp"); said.up = $("call").textContent;
press("ArrowDown"); said.down = $("call").textContent;
const at = $("range").textContent;
press("ArrowLeft"); said.moved = $("range").textContent !== at;
const hook = [...$("keys").children].find(one => one.textContent === "hook");
const shown = () => [$("functions").tBodies[0].rows.length, $("errors").tBodies[0].rows.length];
hook.click(); said.off = [hook.className, ...shown()]; hook.click(); said.on = shown();
const failed = [...$("keys").children].find(one => one.textContent === "failed");
$("errors").tBodies[0].rows[0].click();
failed.click(); said.not_failed = shown();
const marked = String(drawn()); press("Escape"); said.unmarked = marked === String(drawn());
failed.click(); $("errors").tBodies[0].rows[0].click(); press("ArrowUp"); failed.click(); press("ArrowDown");
said.passed_by = $("call").textContent; failed.click();
const pixels = lanes.getContext("2d").getImageData(0, 0, lanes.width, lanes.height).data;
said.colours = new Set(new Uint32Array(pixels.buffer)).size;
document.title = "said:" + JSON.stringify(said);
}</script></html>"""


def browse(page: Path, *options: str) -> str:
    assert BROWSER is not None
    line = [BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--window-size=1200,900",
            f"--user-data-dir={page.parent / 'profile'}", *options, page.as_uri()]  # fmt: skip
    return subprocess.run(line, capture_output=True, text=True, check=True, timeout=60).stdout


@pytest.mark.skipif(BROWSER is None, reason="no chromium on this machine (apt-get install chromium)")
def test_in_a_browser(page: Path) -> None:
    page.write_text(page.read_text().replace("</html>", USE))
    title = re.search(r"<title>said:(.*?)</title>", browse(page, "--dump-dom"), re.DOTALL)
    assert title is not None, "the page's script did not run to its end"
    said = json.loads(title[1].replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&"))
    assert said["rows"] == 3 and said["zoomed"] != said["before"] == said["reset"]
    assert said["call"].startswith("#0 cuMemAlloc_v2(") and "by load_model at model.c:7" in said["call"]
    assert said["memory"].startswith("2 blocks at") and "1048576 [1.00 MiB]  #1 cuMemAlloc_v2" in said["memory"]
    assert said["sorted"] == sorted(said["sorted"], reverse=True) and len(said["sorted"]) == 3
    assert said["filtered"] == ["cuMemsetD8_v2"] and said["errors"] == EVIL
    assert said["error"].startswith("#4 cuMemsetD8_v2(dstDevice=0x1) = CUDA_ERROR_ILLEGAL_ADDRESS (700)")
    assert said["spans"][:2] == [["nf", "cuMemsetD8_v2"], ["mi", "0x1"]] and said["painted"]
    assert said["colours"] > 3 and said["leak"][0] == LINE and {"nf", "mi"} <= set(said["leak"][1])
    assert said["call"].endswith(LINE)
    assert said["error"].endswith("\n  from load_model at model.c:7") and said["down"] == said["error"]
    assert said["none"] == "" and said["up"].startswith("#3 cuMemFree_v2(") and said["moved"]
    assert said["off"] == ["off", 0, 0] and said["on"] == [1, 1], "what has failed is of its layer as well"
    assert said["not_failed"] == [1, 0] and said["unmarked"], "a call that is not shown is not marked"
    assert said["passed_by"].startswith("#3 cuMemFree_v2("), "keys pass by what is not shown"


def image_data(png: bytes) -> Iterator[bytes]:
    """The IDAT chunks. (PNG specification, 5.3)"""
    at = 8
    while at < len(png):
        (size,) = struct.unpack_from(">I", png, at)
        if png[at + 4 : at + 8] == b"IDAT":
            yield png[at + 8 : at + 8 + size]
        at += size + 12


@pytest.mark.skipif(BROWSER is None, reason="no chromium on this machine (apt-get install chromium)")
def test_a_picture_of_it_is_not_blank(page: Path) -> None:
    picture = page.with_name("report.png")
    browse(page, f"--screenshot={picture}")
    raw = picture.read_bytes()
    assert struct.unpack(">II", raw[16:24]) == (1200, 900)
    assert len(set(zlib.decompress(b"".join(image_data(raw)))[::997])) > 8


def test_long_names_of_cplusplus_are_short_in_tables(tmp_path: Path) -> None:
    """Whole in the data, which the filter searches, and where the mouse rests on them."""
    whole = f"at::Pool<{'std::pair<int, ' * 20}int{'>' * 20} >::grow(unsigned long)"
    path = write(tmp_path / "log", [failed(1, "cudaMalloc", 2, "cudaErrorMemoryAllocation", caller=5)],
                 {5: {"function": whole, "source": "pool.h:3"}})  # fmt: skip
    page = tmp_path / "report.html"
    assert cli.main(["log", "report", str(path), "-o", str(page)]) == 0
    found = data_of(page)
    assert found["short"] == {f"{whole} at pool.h:3": "at::Pool<...>::grow(unsigned long) at pool.h:3"}
    assert found["errors"][0][-1] == f"{whole} at pool.h:3"

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gdbcuda.text import render

ROWS = [("cuMemAlloc_v2", 3, "hook libvgpu.so"), ("cuInit", 1200, "driver")]
HEADERS = ("function", "calls", "layer")


def test_colour_only_when_wanted() -> None:
    assert render.colour("libvgpu.so", "layer-hook", False) == "libvgpu.so"
    coloured = render.colour("libvgpu.so", "layer-hook", True)
    assert coloured != "libvgpu.so" and render.plain(coloured) == "libvgpu.so"
    with pytest.raises(KeyError):
        render.colour("x", "no such role", True)


def test_table() -> None:
    lines = render.table(ROWS, HEADERS).split("\n")
    assert [line.rstrip() for line in lines] == [
        "function         calls  layer",
        "-------------  -------  ---------------",
        "cuMemAlloc_v2        3  hook libvgpu.so",
        "cuInit            1200  driver",
    ]
    assert render.table([], HEADERS).split()[:3] == list(HEADERS)


def test_table_drops_colour_where_none_is_wanted() -> None:
    cell = render.colour("hook", "layer-hook", True)
    assert "\x1b" not in render.table([[cell]], ["layer"])
    coloured = render.table([[cell]], ["layer"], colour=True)
    assert "\x1b" in coloured and render.plain(coloured).split() == ["layer", "-------", "hook"]


CELLS = [("dptr", "CUdeviceptr *", "0x10"), ("bytesize", "size_t", "4096 [4.00 KiB]")]


def test_same_rows_without_tabulate() -> None:
    script = (
        "import sys; sys.modules['tabulate'] = None; sys.modules['pygments'] = None\n"
        "from gdbcuda.text import render\n"
        f"print(render.table({ROWS!r}, {HEADERS!r}, width=30))\n"
        f"print(render.rows_of_cells({CELLS!r}))\n"
        "from gdbcuda.text.highlight import C, classes, highlighted, highlighted_line, style_sheet\n"
        "print(highlighted('int x;', C, True), highlighted_line('f(1)', C, True), classes('f(1)'), [style_sheet()])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    with_tabulate = render.table(ROWS, HEADERS, width=30)
    shown = f"{with_tabulate}\n{render.rows_of_cells(CELLS)}\nint x; f(1) [] ['']\n"
    assert done.stdout == shown


@pytest.mark.parametrize("width", [None, 200, 60, 30])
def test_a_long_table_looks_as_a_short_one(width: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is made without tabulate, which takes minutes for what a large program has."""
    rows = [(at * 7, render.colour(f"cuMem{'Alloc' * (at % 4)}", "function", True), "", "a b\nc") for at in range(60)]
    shown = []
    for most in (1000, 10):
        monkeypatch.setattr(render, "MOST_TABULATED", most)
        shown.append(render.table(rows, ("n", "function", "none", "two lines"), colour=True, lines=True, width=width))
    assert shown[0] == shown[1]


def test_rows_without_titles() -> None:
    """Numbers in text stay as they are written, and nothing is behind the last cell."""
    painted = render.colour("size_t", "note", True)
    rows = render.rows_of_cells([("dptr", "CUdeviceptr *", "0x10 -> 0x20"), ("n", painted, "1e5"), ("x", "", "")])
    assert rows.split("\n") == ["dptr  CUdeviceptr *  0x10 -> 0x20", f"n     {painted}         1e5", "x"]


def test_importing_costs_neither_tabulate_nor_pygments() -> None:
    script = "import sys; from gdbcuda.text import render; print({'tabulate', 'pygments'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"


def test_wrap() -> None:
    assert render.wrap("one two three", 7) == "one two\nthree"
    assert render.wrap("a\n\nb", 7) == "a\n\nb"


def test_where_columns_would_be_too_narrow() -> None:
    rows = [("dlsym", "libvgpu.so", "GLIBC_2.34 (default), GLIBC_2.2.5", "0x7ffff7dd75b0"), ("dlvsym", "", "-", "0x1")]
    assert render.table(rows, ("function", "object", "version", "address"), width=30).split("\n") == [
        "function  dlsym",
        "object    libvgpu.so",
        "version   GLIBC_2.34",
        "          (default),",
        "          GLIBC_2.2.5",
        "address   0x7ffff7dd75b0",
        "",
        "function  dlvsym",
        "version   -",
        "address   0x1",
    ]


def test_the_width_of_the_terminal_is_asked_where_there_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    row = [["x " * 60, "y " * 60]]
    monkeypatch.setattr("os.isatty", lambda handle: False)
    assert render.visible_width(render.table(row, HEADERS[:2])) > 200
    monkeypatch.setattr("os.isatty", lambda handle: True)
    monkeypatch.setenv("COLUMNS", "70")
    assert render.visible_width(render.table(row, HEADERS[:2])) <= 70


ROW = st.tuples(st.text("ab \n", max_size=60), st.integers(), st.text("xyz", max_size=60))


@given(st.lists(ROW, max_size=4), st.sampled_from([28, 40, 60, 200]))
def test_table_fits(rows: "list[tuple[str, int, str]]", width: int) -> None:
    text = render.table(rows, HEADERS, width=width)
    assert not rows or all(render.visible_width(line) <= width for line in text.split("\n"))
    titles = text.split().count("layer") + text.split().count("layer:")
    shown = {row[2] for row in rows} if "layer:" in text.split() else [row[2] for row in rows]
    assert "".join(text.split()).count("y") == sum(cell.count("y") for cell in shown) + titles


def test_what_is_in_each_row_stands_above_where_the_table_is_too_wide() -> None:
    rows = [("cuInit", "app program", "driver libcuda.so.1", "not in libhook.so"),
            ("cuMemAlloc_v2", "app program", "driver libcuda.so.1", "not in libhook.so, and more")]  # fmt: skip
    headers = ("function", "asked by", "reaches", "why")
    assert render.table(rows, headers, width=70).split("\n")[0].startswith("function       asked by")
    assert render.table(rows, headers, width=50).split("\n") == [
        "In each row: asked by: app program; reaches:",
        "  driver libcuda.so.1",
        "function       why",
        "-------------  ---------------------------",
        "cuInit         not in libhook.so",
        "cuMemAlloc_v2  not in libhook.so, and more",
    ]
    assert render.table(rows[:1], headers, width=50).startswith("function  cuInit\nasked by  app program\n")


def test_fold_breaks_at_blanks_and_stays_behind_the_number() -> None:
    line = (
        f"#12      0.25  cuMemAlloc_v2(bytesize=4096) = {render.colour('CUDA_SUCCESS', 'ok', True)}  by main at a.c:3"
    )
    folded = render.fold(line, 50).split("\n")
    assert [render.plain(one) for one in folded] == [
        "#12      0.25  cuMemAlloc_v2(bytesize=4096) =", "         CUDA_SUCCESS  by main at a.c:3"]  # fmt: skip
    assert render.colour("CUDA_SUCCESS", "ok", True) in folded[1]
    assert render.fold(line, None) == line and render.fold("x" * 90, 50) == "x" * 90


@given(st.text(alphabet="ab #1\n", max_size=200), st.integers(16, 60))
def test_fold_loses_nothing(text: str, width: int) -> None:
    assert render.fold(text, width).split() == text.split()
    assert all(len(one) <= width or " " not in one.strip() for one in render.fold(text, width).split("\n"))


@pytest.mark.parametrize("without", [(), ("tabulate",)])
@pytest.mark.parametrize("width", [30, 44])
def test_titles_fit_too(without: tuple[str, ...], width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in without:
        monkeypatch.setitem(sys.modules, name, None)
    text = render.table([("cuInit", "1")], ["function", "a title that is longer than what is below it"], width=width)
    assert render.visible_width(text) <= width
    assert {"title", "longer", "cuInit", "1"} <= set(text.split())
    if width == 44:  # the rule is between titles and cells
        lines = text.split("\n")
        assert lines[-2].startswith("---") and lines[-1].startswith("cuInit")

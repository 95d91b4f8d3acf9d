"""The manual: its pages as they are, read, shown and searched."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest
from forking_gdbcuda import run_gdbcuda

from gdbcuda.errors import UserError
from gdbcuda.manual import cli, inline, markdown_blocks, plain, search
from gdbcuda.manual.pages import FOLDER, Page, pages, read, topic_of
from gdbcuda.text import error_lines
from gdbcuda.text.render import visible_width

PAGES = list(pages().values())
each_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.topic)


def shown(text: str, width: int | None = 80) -> str:
    return plain.shown(text, plain.Terminal("gdbcuda help", width))


def test_every_file_is_a_page() -> None:
    assert len(PAGES) > 15
    assert {path.name[3:-3] for path in FOLDER.glob("*.md")} == pages().keys()


def test_their_numbers_leave_none_out() -> None:
    """Each has a place of its own in the order: none is put behind the last one because that was the next number."""
    assert [int(path.name[:2]) for path in sorted(FOLDER.glob("*.md"))] == [*range(1, len(PAGES) + 1)]
    topics = [*pages()]
    assert (topics[0], topics[-1]) == ("first-stop", "limits")


@each_page
def test_a_page_begins_with_its_title_and_its_question(page: Page) -> None:
    assert page.text.startswith(f"# {page.title}\n\n{page.answers}\n\n")
    assert re.fullmatch(r"[A-Z][^.?]+\?", page.answers), "one sentence, a question"
    assert len(page.answers) < 100


@each_page
@pytest.mark.parametrize("width", [40, 80, 200])
def test_a_page_fits_the_terminal(page: Page, width: int) -> None:
    """But for one long word, and for what is to be typed: a part of a command is another command."""
    wide = [line for line in shown(page.text, width).split("\n") if visible_width(line) > width]
    assert [line for line in wide if " " in line.strip() and not plain.is_typed(line)] == []


@each_page
def test_a_command_of_a_session_stays_a_line(page: Page) -> None:
    code = [line for kind, block in markdown_blocks.blocks(page.text.splitlines()) if kind == "code" for line in block]
    typed = [f"    {line}" for line in code if line.startswith(("$ ", "(gdb) "))]
    assert set(typed) <= set(shown(page.text, 40).split("\n"))


@each_page
def test_no_mark_is_left_outside_of_code(page: Page) -> None:
    """And no word is lost: what stands between the marks comes."""
    code = {line for kind, block in markdown_blocks.blocks(page.text.splitlines()) if kind == "code" for line in block}
    lines = [line for line in shown(page.text, None).split("\n") if line[4:] not in code]
    assert [line for line in lines if re.search(r"`|\*\*|\]\(|^#|\\\||^\|", line)] == []
    read_words = re.findall(r"\w+", re.sub(r"\]\([^)]*\)", "]", page.text))
    shown_words = set(re.findall(r"\w+", shown(page.text, None)))
    assert [word for word in read_words if word not in shown_words] == []


@each_page
def test_code_comes_as_it_is_where_nobody_looks(page: Page) -> None:
    text = shown(page.text, None)
    blocks = markdown_blocks.blocks(page.text.splitlines())
    code = [line for kind, block in blocks if kind == "code" for line in block if line]
    assert [line for line in code if f"    {line}\n" not in text + "\n"] == []


def test_memory_pages() -> None:
    text = """# Title

A paragraph
of two lines.
- one
  and more
- two

| a | b |
|---|---|
| `x \\| y` | **z** |

    indented

```
$ # no heading
- no item
```
1. first
"""
    assert [kind for kind, _ in markdown_blocks.blocks(text.splitlines())] == [
        "heading", "paragraph", "item", "item", "table", "code", "code", "item"]  # fmt: skip
    assert shown(text) == """Title
=====

A paragraph of two lines.

- one and more
- two

a      b
-----  ---
x | y  z

    indented

    $ # no heading
    - no item

1. first"""


@pytest.mark.parametrize(
    ("markdown", "text"),
    [
        ("**bold** and *slanted*", "bold and slanted"),
        ("**`--from`**: who", "--from: who"),
        ("`'cuMem*'` and `*.so`", "'cuMem*' and *.so"),
        ("type `set cuda-debug on`", "type 'set cuda-debug on'"),
        ("`log --if 'a > 1'`", "\"log --if 'a > 1'\""),
        ("2 * 3 * 4", "2 * 3 * 4"),
        ("see [Routes](06-routes.md)", "see Routes (cuda-help routes)"),
        ("see [Routes](gdbcuda/manual/06-routes.md#x)", "see Routes (cuda-help routes)"),
        ("![two lanes](pictures/report.png)", "(A picture: two lanes)"),
        ("see [the rules](../../CONTRIBUTING.md)", "see the rules"),
        ("see [gdb](https://example.org/gdb)", "see gdb (https://example.org/gdb)"),
    ],
)
def test_marks_in_a_line(markdown: str, text: str) -> None:
    assert inline.unmarked(markdown, "cuda-help") == text


def test_topics() -> None:
    assert topic_of("First stop") == topic_of("first-stop") == "first-stop"
    assert topic_of("frist-stop") == topic_of("") == ""


def test_every_page_that_a_message_names_is_there() -> None:
    """Behind an error (``page=``), and in a notice: "(cuda-help TOPIC)" or "cuda-help TOPIC says"."""
    sources = [path.read_text() for path in FOLDER.parent.rglob("*.py") if path.parent != FOLDER]
    behind = [name for text in sources for name in re.findall(r'\bpage="([^"]*)"', text)]
    notice = re.compile(r"(?:cuda-help|gdbcuda help) ([a-z][\w-]*)(?:\)| says)")
    inside = [name for text in sources for name in notice.findall(text)]
    assert len(behind) > 8 and len(inside) >= 3
    assert {*behind, *inside} - pages().keys() == set()


def test_a_message_leads_to_its_page() -> None:
    mistake = UserError("the condition is empty", page="conditions")
    assert error_lines.line(mistake, "", "cuda-help") == "the condition is empty (cuda-help conditions)"
    assert error_lines.line(UserError("no such file"), "", "cuda-help") == "no such file"


def test_search_names_heading_and_sentence() -> None:
    found = search.matches("GUARD", "help x", [("One", "a guard."), ("One", "none"), ("Two", "no"), ("Guards", "such")])
    assert list(map(str, found)) == ["help x: One\n  a guard.", "help x: Guards"]
    page = read("t", "# T\n\nWhy?\n\nIt is so. It is folded\nover two lines.\n\n## Below\n\n| folded | x |\n|-|-|\n")
    assert [*search.lines_of(page)] == [
        ("T", "Why?"), ("T", "It is so."), ("T", "It is folded over two lines."), ("Below", "folded  x")]  # fmt: skip


def test_search_says_how_much_more_there_is() -> None:
    found = search.matches("a", "help x", [("One", f"a{number}") for number in range(5)])
    assert str(found[0]) == "help x: One\n  a0\n  a1\n  a2\n  (2 more)"


def test_a_word_that_stands_everywhere_is_told_by_the_best_places() -> None:
    headings = [*(f"Heading {number}" for number in range(9)), "What it is"]
    found = search.matches("it", "cuda-help a", [(heading, "it, and then it") for heading in headings])
    found += search.matches("it", "help cuda-x", [("It", "none"), ("Items", "none")])
    lines = search.shown("it", found)
    assert lines[:2] == ["cuda-help a: What it is\n  it, and then it", "help cuda-x: It"]
    assert len(lines) == 7 and lines[-1] == "6 more places: cuda-help a; help cuda-x"
    told = cli.text("nothing", plain.Terminal("gdbcuda help", 80))
    assert "more places: gdbcuda help " in told and len(told.splitlines()) <= 24, told


def test_everything_that_a_page_says_is_found() -> None:
    found = search.in_pages("seccomp", "gdbcuda help")
    assert [match.shown_by for match in found] == ["gdbcuda help log", "gdbcuda help guards"]
    assert found[1].lines[0].count("seccomp") == 1


def gdbcuda_help(*words: str) -> subprocess.CompletedProcess[str]:
    return run_gdbcuda("help", *words)


def test_help_in_a_shell_lists_the_pages() -> None:
    done = gdbcuda_help()
    topics = re.findall(r"^([a-z][\w-]+)  ", done.stdout, re.MULTILINE)
    assert (done.returncode, done.stderr) == (0, "")
    assert topics[1:] == [*pages()]


def test_help_in_a_shell_shows_a_page_or_searches() -> None:
    assert gdbcuda_help("first", "stop").stdout.startswith("The first stop\n==============\n\n")
    assert "\ngdbcuda help guards: " in gdbcuda_help("seccomp").stdout
    assert gdbcuda_help("breakpoint").stdout.startswith("'breakpoint' is no topic; did you mean breakpoints?\n")


def test_a_misspelt_topic_is_one_line() -> None:
    done = gdbcuda_help("brekpoints")
    said = "gdbcuda: 'brekpoints' is no topic, and nothing here speaks of it; did you mean breakpoints?\n"
    assert (done.returncode, done.stdout, done.stderr) == (2, "", said)


def test_help_loads_no_other_part_of_the_product() -> None:
    script = """import sys
from gdbcuda.shell import cli
cli.main(["help", "log"])
print("loaded:", *sorted({name.split(".")[1] for name in sys.modules if name.startswith("gdbcuda.")}))
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "loaded: command_line data_classes errors files manual shell text"
    assert cli.COMMAND == "gdbcuda help"

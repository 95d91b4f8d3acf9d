"""README and the manual name what is there: their commands parse, their options, settings and functions exist, and
README leaves no command out."""

from __future__ import annotations

import argparse
import json
import re
import shlex
from pathlib import Path

import pytest
from readme_sessions import PAGES
from scenario import Scenario

from gdbcuda.manual.pages import pages
from gdbcuda.shell.cli import make_parser

TEXT = "\n".join(page.read_text() for page in PAGES)
TYPED = [line for line in re.findall(r"^\s*\(gdb\) (.*?)(?:  +#.*)?$", TEXT, re.MULTILINE) if "…" not in line]
QUOTED = re.compile(r"(?<!`)`([^`]+)`(?!`)")
SPANS = [" ".join(span.replace("\\|", "|").split()) for page in PAGES for span in QUOTED.findall(page.read_text())]
SHELL = re.findall(r"^\s*\$ (?:\w+=\S+ )*(gdbcuda (?!gdb )[^\n…]*)$", TEXT, re.MULTILINE)

ASK = """python
import json
from gdbcuda.errors import UserError
from gdbcuda.live.prompt.command import REGISTRY
from gdbcuda.command_line.options import Option
def mistake(line):
    words = line.split()
    name = next((name for name in (" ".join(words[:count]) for count in (3, 2, 1)) if name in REGISTRY), None)
    if name is None:
        return "there is no such command"
    try:
        REGISTRY[name].parse(line[len(name):])
    except UserError as problem:
        return str(problem)
def is_setting(name):
    try:
        gdb.parameter(name)
        return True
    except RuntimeError:
        return False
answer = {"mistakes": [(line, mistake(line)) for line in LINES if mistake(line)],
          "commands": {name: [part.name for part in command.parts if isinstance(part, Option)]
                       for name, command in REGISTRY.items()},
          "settings": [name for name in SETTINGS if is_setting(name)],
          "functions": gdb.execute("help function", to_string=True)}
print("answer:" + json.dumps(answer))
end
"""


@pytest.fixture(scope="module")
def product(shim, tmp_path_factory) -> dict:
    """What gdb makes of README's lines, and what there is."""
    script = tmp_path_factory.mktemp("readme") / "ask.gdb"
    lines = [line for line in TYPED if line.startswith("cuda-")]
    script.write_text(ASK.replace("LINES", repr(lines)).replace("SETTINGS", repr(settings())))
    text = Scenario(shim).run(None, f"source {script}", hook=None)
    return json.loads(re.search(r"^answer:(.*)$", text, re.MULTILINE)[1])


def settings() -> list[str]:
    return sorted(set(re.findall(r"\bset (cuda-[a-z-]+)", TEXT)))


def spans(word: str) -> list[list[str]]:
    """The words of each `WORD …` in running text."""
    return [span.split() for span in SPANS if re.match(rf"{word}\b(?![-.])", span)]


def test_commands_parse(product: dict) -> None:
    assert len(TYPED) > 40
    assert product["mistakes"] == []


def test_commands_and_options_in_the_text_exist(product: dict) -> None:
    known = product["commands"]
    for span in SPANS:
        words = span.split()
        if not words[0].startswith("cuda-") or words[0] in ("cuda-gdb", "cuda-gdbserver"):
            continue
        mine = {name: options for name, options in known.items() if name.split()[0] == words[0]}
        assert mine, span
        options = {option for found in mine.values() for option in found}
        assert set(re.findall(r"--[a-z-]+", span)) <= options, span
        alternatives = words[1].split("|") if len(words) > 1 and "|" in words[1] and "[" not in words[1] else []
        assert all(f"{words[0]} {word}" in mine for word in alternatives), span


def test_no_command_is_left_out(product: dict) -> None:
    named = {span.split()[0] for span in QUOTED.findall(PAGES[0].read_text())}
    assert [name for name in product["commands"] if " " not in name and name not in named] == []


def test_settings_and_functions_exist(product: dict) -> None:
    assert product["settings"] == settings()
    used = set(re.findall(r"\$(_cuda_\w+)", TEXT))
    assert sorted(name for name in used if name not in product["functions"]) == []


def test_shell_lines_parse(capsys: pytest.CaptureFixture[str]) -> None:
    assert len(SHELL) > 8
    for line in SHELL:
        try:
            make_parser().parse_args(arguments(line))
        except SystemExit:
            pytest.fail(f"{line}: {capsys.readouterr().err}")


def arguments(line: str) -> list[str]:
    """Without a redirection, a pipe or a comment."""
    words = shlex.split(line, comments=True)[1:]
    return words[: next((place for place, word in enumerate(words) if word in (">", "|", "&&")), None)]


def test_subcommands_and_options_of_the_shell_exist() -> None:
    known = subcommands(make_parser())
    for words in spans("gdbcuda"):
        if len(words) > 1 and re.match(r"[a-z]", words[1]):
            assert words[1] in known, words
            options = set(re.findall(r"--[a-z-]+", " ".join(words)))
            assert options <= all_options(known[words[1]]), words


def slugs(page: Path) -> set[str]:
    headings = re.findall(r"^#+ (.*)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading).strip().lower().replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    for link in re.findall(r"\]\((?!https?:)([^)]*)\)", page.read_text()):
        file, _, place = link.partition("#")
        target = (page.parent / file) if file else page
        assert target.exists(), link
        assert not place or place in slugs(target), link


def test_readme_lists_the_pages_as_they_are() -> None:
    rows = re.findall(r"^\| \[(.+)\]\(gdbcuda/manual/(.+)\) \| (.+) \|$", PAGES[0].read_text(), re.MULTILINE)
    found = {f"{path.name[:2]}-{page.topic}.md": page for path, page in zip(PAGES[1:], pages().values())}
    assert rows == [(page.title, file, page.answers) for file, page in found.items()]


def subcommands(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    actions = [one for one in parser._actions if isinstance(one, argparse._SubParsersAction)]
    return dict(actions[0].choices) if actions else {}


def all_options(parser: argparse.ArgumentParser) -> set[str]:
    below = (all_options(one) for one in subcommands(parser).values())
    return {*parser._option_string_actions, *(option for found in below for option in found)}

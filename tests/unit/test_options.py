"""What a command takes is declared once: values, mistakes, usage and parser are all made from that."""

from __future__ import annotations

import pytest

from gdbcuda.command_line import argument_types
from gdbcuda.command_line.argument_types import FILE, NUMBER, SIZE, one_of, text
from gdbcuda.command_line.options import (
    ConditionText,
    Options,
    condition,
    flag,
    option,
    optional_word,
    options,
    word,
    words,
)
from gdbcuda.command_line.parsing import OptionParser
from gdbcuda.errors import UserError


class Filtered(Options):
    name: list[str] = words(text("NAME"), "these alone")
    kind: str = option(one_of("good", "bad"), "which", default="good")
    condition: str | None = condition(lambda words, before, token: ())


class Shown(Filtered):
    last: int | None = option(NUMBER, "the last N")
    to: str | None = option(FILE, "where to", "--output")
    env: list[str] = options(text("NAME=VALUE"), "again for another one")
    as_json: bool = flag("for scripts", "--json")


EXAMPLES = ("show", "show x --last 3", "show --json")


def read(*typed: str) -> Shown:
    parser = OptionParser(prog="show")
    Shown.add_to(parser)
    return Shown.read(vars(parser.parse_args(typed)), EXAMPLES)


def test_values_have_their_types(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/me")
    found = read("x", "y", "--last", "0x10", "--output", "~/a", "--env", "A=1", "--env", "B=2", "--json",
                 "--kind", "bad")  # fmt: skip
    assert (found.name, found.last, found.to, found.kind) == (["x", "y"], 16, "/home/me/a", "bad")
    assert found.env == ["A=1", "B=2"] and found.as_json is True and found.condition is None


def test_what_is_not_typed_has_its_default() -> None:
    for found in (read(), Shown()):
        assert (found.name, found.last, found.to, found.kind) == ([], None, None, "good")
        assert found.env == [] and found.as_json is False


@pytest.mark.parametrize(("typed", "says"), [
    (("--last", "x"), "--last is a number, not 'x', for example: show x --last 3"),
    (("--last", "1_000"), "--last is a number, not '1_000'"),
    (("--last=-1",), "--last is a number, not '-1'"),
    (("--last", "٣"), "--last is a number, not '٣'"),
    (("--kind", "ugly"), "--kind is good or bad, not 'ugly', for example: show --kind bad"),
    (("--kind", "goood"), "--kind is good or bad, not 'goood'; did you mean good?"),
])  # fmt: skip
def test_a_mistake_has_an_example_of_the_command(typed: tuple[str, ...], says: str) -> None:
    with pytest.raises(UserError) as problem:
        read(*typed)
    assert str(problem.value).startswith(says)


def test_the_lines_of_a_help_come_as_they_are_declared() -> None:
    parts = Shown.parts()
    assert [part.label for part in parts] == ["NAME", "--kind", "--last", "--output", "--env", "--json", "if COND"]
    assert [part.usage() for part in parts] == [
        "[NAME...]", "[--kind good|bad]", "[--last N]", "[--output FILE]", "[--env NAME=VALUE]", "[--json]",
        "[if COND]"]  # fmt: skip
    assert isinstance(parts[-1], ConditionText)


def test_words_by_how_many_there_are() -> None:
    class One(Options):
        file: str = word(FILE, "one")
        more: list[str] = words(text("MORE"), "at least one", least=1)
        rest: str | None = optional_word(text("REST"), "or none")

    assert [part.usage() for part in One.parts()] == ["FILE", "MORE...", "[REST]"]


@pytest.mark.parametrize(("typed", "size"), [
    ("4096", 4096), ("0x1000", 4096), ("0x1B", 27), ("1K", 1024), ("2kib", 2048), ("3GB", 3 << 30), ("7B", 7),
])  # fmt: skip
def test_sizes(typed: str, size: int) -> None:
    assert SIZE.read(typed) == size


@pytest.mark.parametrize("typed", ["", "G", "1X", "1.5G", "-1", "1 G", "0x1G", "1_0", "٣", "1GiBs"])
def test_what_is_no_size(typed: str) -> None:
    with pytest.raises(ValueError):
        SIZE.read(typed)


def test_one_of_names_that_are_asked_for() -> None:
    view = argument_types.known("view", lambda: ["live", "leaks"])
    assert view.read("live") == "live" and [*view.complete("")] == ["live", "leaks"]
    with pytest.raises(UserError, match="no view 'lives'; there are live, leaks"):
        view.read("lives")

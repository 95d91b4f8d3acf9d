"""A launch.json that somebody wrote, with one configuration more: all else is as it was, byte for byte."""

from __future__ import annotations

import contextlib
import json
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gdbcuda.errors import UserError
from gdbcuda.ide import jsonc, launch_json

ENTRY = {"name": "gdbcuda: x", "type": "cppdbg", "args": [], "setupCommands": [{"text": "source ü"}]}
MINE = """\
{
  // hello
  "version": "0.2.0",
  "configurations": [
    {
      "name": "mine", // keep "this"
      "url": "http://x/*no comment*/",
      "args": ["a", "b",],
    } // the last
    // { "name": "out" },

  ],
  /* end */ "compounds": []
}
"""


def without_ours(text: str) -> str:
    """The lines of our entry taken out again, and the comma that it needed before it."""
    out = re.sub(r'\n *\{\n *"name": "gdbcuda: x".*?"text": "source ü"\n *\}\n *\]\n *\}', "", text, flags=re.DOTALL)
    assert out != text
    return out


def test_as_the_last_behind_the_comments() -> None:
    made = launch_json.merged(MINE, ENTRY)
    assert without_ours(made) == MINE.replace("} // the last", "}, // the last")
    assert [one["name"] for one in jsonc.parse(made).value["configurations"]] == ["mine", "gdbcuda: x"]
    assert '\n    {\n      "name": "gdbcuda: x",' in made, "indented as the others are"


def test_in_the_place_of_the_old_one() -> None:
    first = launch_json.merged(MINE, {**ENTRY, "setupCommands": ["old", {}]})
    first = first.replace('"version"', '/* a */ "version"')
    assert launch_json.merged(first, ENTRY) == launch_json.merged(MINE, ENTRY).replace('"version"', '/* a */ "version"')


def test_what_the_user_has_added_to_ours_stays() -> None:
    """Another hook library, say, by the same command again."""
    old = launch_json.merged(MINE, {**ENTRY, "setupCommands": ["old"], "gone": 1})
    edited = old.replace('"args": []', '"args": ["--epochs", "3"], // three').replace('"gone"', '/* why */ "pipe"')
    edited = edited.replace('3"], // three,', '3"], // three')
    made = launch_json.merged(edited, {**ENTRY, "new": {"a": [1]}, "other": 2})
    entry = jsonc.parse(made).value["configurations"][-1]
    assert entry == {**ENTRY, "args": ["--epochs", "3"], "pipe": 1, "new": {"a": [1]}, "other": 2}
    assert comments(made) == comments(edited) and "// three" in made
    assert '\n      "other": 2\n    }' in made, "indented as the others are"


def test_one_of_another_type_goes() -> None:
    text = json.dumps({"configurations": [{"name": ENTRY["name"], "type": "lldb", "pid": 1}]})
    assert jsonc.parse(launch_json.merged(text, ENTRY)).value == {"configurations": [ENTRY]}


@pytest.mark.parametrize(
    "text",
    [
        "{}",
        "",
        " \n",
        '{"configurations":[]}',
        '{\n\t"version": "1", // c\n}\n',
        '{"configurations": [{"name": "b"}, {"name": "gdbcuda: x"}, {"name": "c"}]}',
        '{\r\n    "configurations": [{\r\n        "name": "a"\r\n    }]\r\n}\r\n',
        '\ufeff{\n    "configurations": [ // c\n    ]\n}',
        '{"configurations": [{"name": "a"},]}',
        '{"configurations": [1, {"name": 2}]} // end',
    ],
)
def test_other_ways_to_write_it(text: str) -> None:
    made = launch_json.merged(text, ENTRY)
    assert ENTRY in jsonc.parse(made).value["configurations"]
    assert launch_json.merged(made, ENTRY) == made
    assert ("\r\n" in text) == ("\r\n" in made) and ("\n" not in made.replace("\r\n", "") or "\r\n" not in text)
    assert made.startswith("\ufeff") == text.startswith("\ufeff")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", 'f:1: "}" is missing for the bracket in line 1'),
        ("[1]", 'f: not a launch.json, which is an object with "configurations"'),
        ('{"configurations": 3}', 'f: "configurations" is not an array'),
        ('{\n"a" 1}', 'f:2: ":" is wanted behind "a"'),
        ('{"a": tru}', "f:1: tru is no JSON value"),
        ('{"a": 1} x', "f:1: something stands behind the end"),
        ('{"a": 1\n"b": 2}', 'f:2: "," or "}" is wanted here'),
        ("/* x", "f:1: a comment without end"),
        ("[1,,2]", "f:1: a value is wanted here"),
        ("{,}", "f:1: a name in double quotes is wanted here"),
        ('{"a": "\\x"}', 'f:1: "\\x" is no JSON value'),
        ("[" * 200, "f:1: deeper than 100 brackets"),
    ],
)
def test_refused_in_one_line(text: str, said: str) -> None:
    with pytest.raises(UserError) as problem:
        launch_json.merged(text, ENTRY, "f")
    assert str(problem.value) == said


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
DOCUMENT = st.dictionaries(st.sampled_from(["version", "compounds", "inputs"]), JSON)
BLANKS = st.sampled_from(["", " ", "\n", '// c ] } "\n', "/* , { */", "\t"])


@settings(max_examples=50)
@given(DOCUMENT, st.lists(JSON, max_size=3), st.data(), st.booleans())
def test_any_document_with_comments_anywhere(document: dict, entries: list, data: st.DataObject, has: bool) -> None:
    value = {**document, "configurations": entries} if has else document
    tokens = re.findall(r'"(?:[^"\\]|\\.)*"|[^\s"{}\[\],:]+|[{}\[\],:]', json.dumps(value))
    text = "".join(token + data.draw(BLANKS) for token in tokens)
    assert jsonc.parse(text).value == value
    made = launch_json.merged(text, ENTRY)
    assert jsonc.parse(made).value == {**value, "configurations": [*(entries if has else []), ENTRY]}
    assert comments(made) == comments(text)
    again = launch_json.merged(made, {**ENTRY, "args": "new", "setupCommands": "new", "more": 1})
    changed = {**ENTRY, "setupCommands": "new", "more": 1}
    assert jsonc.parse(again).value == {**value, "configurations": [*(entries if has else []), changed]}
    assert comments(again) == comments(text)


def comments(text: str) -> list[str]:
    found = re.finditer(r'"(?:[^"\\]|\\.)*"|(?P<comment>//[^\n]*|/\*.*?\*/)', text, re.DOTALL)
    return [match["comment"] for match in found if match["comment"]]


@given(st.text(alphabet='{}[]",:/*\\\n atru1', max_size=30))
def test_nothing_else_than_a_user_error(text: str) -> None:
    with contextlib.suppress(UserError):
        launch_json.merged(text, ENTRY)

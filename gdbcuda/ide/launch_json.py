"""A configuration put into a launch.json: a new one, or beside what somebody else wrote there.

The new text differs from the old by our configuration alone; comments, indentation and line ends stay. In one that is
ours already what somebody has added stays too, and how the program is called.
"""

from __future__ import annotations

import json
from typing import Any

from gdbcuda.errors import UserError
from gdbcuda.ide import jsonc
from gdbcuda.ide.jsonc import JsonNode

INDENT = "    "
OF_THE_USER = ("args", "cwd", "environment", "env")
Configuration = dict[str, Any]


def new(entry: Configuration) -> str:
    return json.dumps({"version": "0.2.0", "configurations": [entry]}, indent=4, ensure_ascii=False) + "\n"


def merged(text: str, entry: Configuration, name: str = "launch.json") -> str:
    """``text`` with the entry in its configurations: in the one of that name and type, or in the place of one of that
    name, or as the last.

    UserError for a text that is not a launch.json."""
    if not text.strip("\ufeff \t\r\n"):
        return new(entry)
    root = jsonc.parse(text, name)
    if not isinstance(root.value, dict):
        raise UserError(f'{name}: not a launch.json, which is an object with "configurations"', page="ide")
    array = root.member("configurations")
    if array is not None and not isinstance(array.value, list):
        raise UserError(f'{name}: "configurations" is not an array')
    changed = with_array(text, root, entry) if array is None else with_entry(text, array, entry)
    assert jsonc.parse(changed).value == expected(root.value, entry), changed
    return changed


def expected(old: Configuration, entry: Configuration) -> Configuration:
    entries = list(old.get("configurations", []))
    place = next((index for index, one in enumerate(entries) if has_name(one, entry["name"])), len(entries))
    known = entries[place] if place < len(entries) and is_ours(entries[place], entry) else {}
    return {**old, "configurations": [*entries[:place], {**known, **ours(entry, known)}, *entries[place + 1 :]]}


def ours(entry: Configuration, old: Configuration) -> Configuration:
    return {key: value for key, value in entry.items() if not (key in OF_THE_USER and key in old)}


def has_name(value: Any, name: str) -> bool:
    return isinstance(value, dict) and value.get("name") == name


def is_ours(value: Any, entry: Configuration) -> bool:
    return has_name(value, entry["name"]) and value.get("type") == entry["type"]


def with_entry(text: str, array: JsonNode, entry: Configuration) -> str:
    outer = indent_of(text, array.start)
    inner = indent_of(text, array.items[-1].start) if array.items else outer
    unit = inner[len(outer) :] or outer or INDENT
    for old in array.items:
        if has_name(old.value, entry["name"]):
            if is_ours(old.value, entry):
                return with_values(text, old, ours(entry, old.value), unit)
            indent = indent_of(text, old.start)
            return text[: old.start] + shown(entry, indent, unit, newline(text)) + text[old.end :]
    inner = inner if inner != outer else outer + unit
    return appended(text, array, array.items[-1:], shown(entry, inner, unit, newline(text)), inner)


def with_values(text: str, old: JsonNode, values: Configuration, unit: str) -> str:
    """Each value in the place of the old one, new ones behind all; from the end, for what is behind a change moves."""
    indent = indent_of(text, old.members[0][1].start)
    new = [f"{json.dumps(key)}: {shown(value, indent, unit, newline(text))}"
           for key, value in values.items() if old.member(key) is None]  # fmt: skip
    if new:
        text = appended(text, old, [old.members[-1][1]], f",{newline(text)}{indent}".join(new), indent)
    for key, node in reversed(old.members):
        if key in values and node is old.member(key) and node.value != values[key]:
            text = text[: node.start] + shown(values[key], indent, unit, newline(text)) + text[node.end :]
    return text


def with_array(text: str, root: JsonNode, entry: Configuration) -> str:
    last = [node for _, node in root.members[-1:]]
    unit = indent_of(text, last[0].start) if last else ""
    unit = unit or INDENT
    line = newline(text) + unit
    array = f'"configurations": [{line}{unit}{shown(entry, unit + unit, unit, newline(text))}{line}]'
    return appended(text, root, last, array, unit)


def appended(text: str, parent: JsonNode, last: list[JsonNode], new: str, indent: str) -> str:
    """``new`` as the last thing in the brackets of ``parent``, behind the comments that are there: they belong to what
    was last, which gets a comma."""
    closing = parent.end - 1
    if last and not parent.comma:
        text, closing = text[: last[0].end] + "," + text[last[0].end :], closing + 1
    start = len(text[:closing].rstrip(" \t"))
    if text[:start].endswith("\n"):
        start -= len(newline(text))
        return f"{text[:start]}{newline(text)}{indent}{new}{text[start:]}"
    return f"{text[:closing]}{newline(text)}{indent}{new}{newline(text)}{indent_of(text, parent.start)}{text[closing:]}"


def shown(entry: Configuration, indent: str, unit: str, newline: str) -> str:
    return json.dumps(entry, indent=unit, ensure_ascii=False).replace("\n", newline + indent)


def indent_of(text: str, at: int) -> str:
    """The blanks at the beginning of the line."""
    line = text[text.rfind("\n", 0, at) + 1 : at].lstrip("\ufeff")
    return line[: len(line) - len(line.lstrip())]


def newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"

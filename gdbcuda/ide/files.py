"""The files of a plan, and how each takes what is new beside what it has."""

from __future__ import annotations

import re
from xml.etree import ElementTree

from gdbcuda.errors import UserError
from gdbcuda.ide import launch_json as json_text
from gdbcuda.ide.ide_plan import ProjectFile
from gdbcuda.ide.launch_json import Configuration

BEGIN, END = "# gdbcuda ide: begin", "# gdbcuda ide: end"


def launch_json(entry: Configuration) -> ProjectFile:
    """``.vscode/launch.json``, with the entry among the others."""
    return ProjectFile(
        ".vscode/launch.json", json_text.new(entry), lambda old, path: json_text.merged(old, entry, path)
    )


def run_configuration(path: str, text: str, name: str) -> ProjectFile:
    """A file of its own. One that is there is replaced if it is a run configuration of that name."""

    def merged(old: str, path: str) -> str:
        if old.strip() and configuration_name(old) != name:
            raise UserError(f'{path}: something else than the run configuration "{name}" is there; move it away')
        return text

    return ProjectFile(path, text, merged)


def configuration_name(text: str) -> str:
    try:
        found = ElementTree.fromstring(text).find("configuration")
    except ElementTree.ParseError:
        return ""
    return "" if found is None else found.get("name", "")


def gdbinit(lines: list[str], name: str) -> ProjectFile:
    """The project's ``.gdbinit``: our lines between two comments, everything around them as it was."""
    if any("\n" in line for line in lines):
        raise UserError("no name may hold the end of a line: gdb's commands end there")
    block = "\n".join([BEGIN, *lines, END, ""])

    def merged(old: str, path: str) -> str:
        found = re.search(rf"^{BEGIN}$.*?^{END}$\n?", old, re.MULTILINE | re.DOTALL)
        if found:
            return old[: found.start()] + block + old[found.end() :]
        if BEGIN in old:
            raise UserError(f'{path}: "{BEGIN}" has no "{END}"; take the lines between them out')
        return old + ("\n" if old and not old.endswith("\n") else "") + block

    return ProjectFile(name, block, merged)

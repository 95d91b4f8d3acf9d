"""What stands in a line of Markdown, without its marks: code, emphasis, links. (CommonMark: "Inlines".)"""

from __future__ import annotations

import re

CODE = re.compile(r"`([^`]+)`")
KEPT = re.compile("\x00(\\d+)\x00")  # a place of code, in which nothing is a mark
STRONG = re.compile(r"\*\*(.+?)\*\*")
EMPHASIS = re.compile(r"(?<![\w*])\*(?![\s*])([^*]+?)(?<!\s)\*(?![\w*])")
PICTURE = re.compile(r"!\[([^\]]+)\]\([^)\s]+\)")
LINK = re.compile(r"\[([^\]]+)\]\(([^)\s]+)\)")
OF_THE_MANUAL = re.compile(r"(?:.*/)?\d+-([\w-]+)\.md(?:#.*)?")


def unmarked(text: str, help_command: str, is_quoting: bool = True) -> str:
    """``text`` as it is read. Code of several words stands in quotes, for its end would not show; a link to a page
    becomes the command that shows it."""
    code: list[str] = []

    def keep(found: re.Match[str]) -> str:
        code.append(quoted(found[1]) if is_quoting else found[1])
        return f"\x00{len(code) - 1}\x00"

    text = CODE.sub(keep, text)
    for marks in (STRONG, EMPHASIS):
        text = marks.sub(r"\1", text)
    text = PICTURE.sub(r"(A picture: \1)", text)
    text = LINK.sub(lambda found: linked(found[1], found[2], help_command), text)
    return KEPT.sub(lambda found: code[int(found[1])], text)


def quoted(code: str) -> str:
    if not re.search(r"\s", code):
        return code
    return f'"{code}"' if "'" in code else f"'{code}'"


def linked(text: str, target: str, help_command: str) -> str:
    page = OF_THE_MANUAL.fullmatch(target)
    if page:
        return f"{text} ({help_command} {page[1]})"
    return f"{text} ({target})" if "://" in target else text

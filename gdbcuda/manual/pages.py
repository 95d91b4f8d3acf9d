"""The pages: files NN-TOPIC.md. Their numbers are the order in which a user meets the subjects."""

from __future__ import annotations

import functools
import re
from pathlib import Path

from gdbcuda.data_classes import dataclass

FOLDER = Path(__file__).parent
NAME = re.compile(r"\d+-(.+)\.md")


@dataclass(frozen=True)
class Page:
    """``answers`` is one sentence: the question that the page answers. ``text`` is all of it, as Markdown."""

    topic: str
    title: str
    answers: str
    text: str


@functools.cache
def pages() -> dict[str, Page]:
    """By topic, in their order."""
    files = [(path, found) for path in sorted(FOLDER.iterdir()) if (found := NAME.fullmatch(path.name))]
    return {found[1]: read(found[1], path.read_text(encoding="utf-8")) for path, found in files}


def topic_of(words: str) -> str:
    """The topic that they name ("first stop", "log"); "" where they name none."""
    name = "-".join(words.lower().split())
    return name if name in pages() else ""


def read(topic: str, text: str) -> Page:
    title, answers, _ = text.split("\n\n", 2)
    return Page(topic, title.lstrip("# "), " ".join(answers.split()), text)

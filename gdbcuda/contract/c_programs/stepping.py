"""What steps through a hook library's instructions, as text for a program that compiles by itself."""

from __future__ import annotations

from pathlib import Path

OWN_INCLUDE = '#include "contract/'
HEADERS = ("stepped_code.h", "stepping.h", "other_threads.h")
FILES = (*HEADERS, "stepped_code.c", "stepping.c", "other_threads.c")
PLACE = "STEPPING"  # of a template
FLAGS = ("-Wl,-z,now",)  # a call of a function is one of that function, not of the loader


def text(contract: Path, *more: str) -> str:
    """``contract`` is the folder of its sources, ``more`` are files behind it."""
    return "\n".join(without_own_includes((contract / name).read_text()) for name in (*FILES, *more))


def without_own_includes(source: str) -> str:
    return "".join(line for line in source.splitlines(keepends=True) if not line.startswith(OWN_INCLUDE))

"""What the recorder has to know of each function (`ring_layout.FUNCTION`), found out where libgdbcuda.so was built.

That takes 0.3 s of the processor for all of them, for which each start of ``--fast`` would wait. The file is as good as
what it was made of: where that has changed since, or there is no file, it is found out again (`ring_functions`).
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterable, Mapping
from functools import lru_cache

from gdbcuda import api
from gdbcuda.files import places
from gdbcuda.rings.ring_layout import FUNCTION

FILE = "recorded-words.json"
MADE_OF = ("rings/ring_functions.py", "rings/ring_layout.py", "machine/abi.py", "gpu/causing.py")
MADE_OF_FOLDER = "api"


def of(function: api.Function) -> tuple[int, ...] | None:
    words = prepared().get(key(function))
    return (*words, *[0] * (FUNCTION["SIZE"] - len(words))) if words is not None else None


def key(function: api.Function) -> str:
    return f"{function.symbol};{function.text}"


@lru_cache(maxsize=1)
def prepared() -> Mapping[str, list[int]]:
    path = places.built(FILE)
    return read(path) if path else {}


def read(path: str) -> Mapping[str, list[int]]:
    """{} of a file that is cut, or has just gone."""
    import json

    try:
        with open(path, encoding="utf-8") as file:
            found = json.load(file)
    except (OSError, ValueError):
        return {}
    words: Mapping[str, list[int]] = found["words"] if found["made_of"] == fingerprint() else {}
    return words


def text(rows: Iterable[tuple[api.Function, tuple[int, ...]]]) -> str:
    """Of the file. A declaration that means something else in another version, by its structs, is left out."""
    import json

    words: dict[str, set[tuple[int, ...]]] = {}
    for function, found in rows:
        words.setdefault(key(function), set()).add(found)
    known = {which: without_zeros(*found) for which, found in sorted(words.items()) if len(found) == 1}
    return json.dumps({"made_of": fingerprint(), "words": known}, separators=(",", ":"))


def without_zeros(words: tuple[int, ...]) -> list[int]:
    return list(words[: max((at + 1 for at, word in enumerate(words) if word), default=0)])


def fingerprint() -> int:
    found = 0
    for path in sources():
        with open(path, "rb") as file:
            found = zlib.crc32(file.read(), found)
    return found


def sources() -> list[str]:
    folder = os.path.join(places.PACKAGE, MADE_OF_FOLDER)
    of_api = [os.path.join(folder, one) for one in sorted(os.listdir(folder)) if one.endswith((".py", ".json", ".txt"))]
    return [*of_api, *(os.path.join(places.PACKAGE, one) for one in MADE_OF)]

"""What is typed in the place of a name and is none: a line of gdb's own break, a list with commas, a layer misspelt."""

from __future__ import annotations

from gdbcuda.errors import UserError
from gdbcuda.live import layers
from gdbcuda.text import cplusplus
from gdbcuda.text.patterns import pattern

LINE = pattern(r"(?:[^:]+:)?[+-]?\d+")


def refuse_what_is_no_name(pattern: str) -> None:
    """gdb would look for a function that is called so, to the end of the program."""
    if LINE.fullmatch(pattern):
        raise UserError(f"{pattern} is a line and no function; gdb's own stops there: break {pattern}")
    several = cplusplus.listed(pattern)
    if len(several) > 1:
        raise UserError(f"functions are written with blanks between them, not commas: {' '.join(several)}".rstrip())


def nearest_layer(word: str) -> str:
    """The layer that a word may be meant for that is none."""
    from difflib import get_close_matches  # slow to import

    near = get_close_matches(word.lower(), layers.LAYERS, 1, 0.75)
    return near[0] if near and word not in layers.LAYERS else ""

"""Byte counts as people write and read them. 1K is 1024: sizes of memory are powers of two here."""

from __future__ import annotations

import re

from gdbcuda.errors import UserError

PREFIXES = "KMGTPE"
_SIZE = re.compile(r"\s*(0[xX][0-9a-fA-F]+|\d+(?:\.\d+)?)\s*([a-zA-Z]*)\s*")


def multiplier(suffix: str) -> int | None:
    """1024 for ``k``, ``K``, ``KB`` or ``KiB`` and so on up to E, 1 for ``B`` or nothing, else None."""
    letters = suffix.upper()
    if letters in ("", "B"):
        return 1
    power = PREFIXES.find(letters[0]) + 1
    return 1 << 10 * power if power and letters[1:] in ("", "B", "IB") else None


def parse_size(text: str) -> int:
    """``4g``, ``1.5GiB``, ``512`` or ``0x1000`` as a number of bytes; `UserError` for anything else."""
    match = _SIZE.fullmatch(text)
    factor = multiplier(match[2]) if match else None
    if match is None or factor is None:
        raise UserError(f'"{text}" is not a size; write for example 512, 4g or 1.5GiB')
    digits = match[1]
    if "." not in digits:
        return int(digits, 0 if digits[:2] in ("0x", "0X") else 10) * factor
    whole, part = digits.split(".")
    scale: int = 10 ** len(part)
    count, rest = divmod(int(whole + part) * factor, scale)
    if rest:
        raise UserError(f'"{text}" is not a whole number of bytes')
    return count


def human(size: int) -> str:
    """``1.00 GiB`` for 1073741825; below 1 KiB the plain count, ``512 B``."""
    if abs(size) < 1024:
        return f"{size} B"
    value, power = size / 1024, 1
    while abs(value) >= 1023.995 and power < len(PREFIXES):  # 1023.996 would print as "1024.00"
        value, power = value / 1024, power + 1
    return f"{value:.2f} {PREFIXES[power - 1]}iB"

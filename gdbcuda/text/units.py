"""Byte counts as people write and read them. 1K is 1024: sizes of memory are powers of two here."""

from __future__ import annotations

PREFIXES = "KMGTPE"


def multiplier(suffix: str) -> int | None:
    """1024 for ``k``, ``K``, ``KB`` or ``KiB`` and so on up to E, 1 for ``B`` or nothing, else None."""
    letters = suffix.upper()
    if letters in ("", "B"):
        return 1
    power = PREFIXES.find(letters[0]) + 1
    return 1 << 10 * power if power and letters[1:] in ("", "B", "IB") else None


def human(size: int) -> str:
    """``1.00 GiB`` for 1073741825; below 1 KiB the plain count, ``512 B``."""
    if abs(size) < 1024:
        return f"{size} B"
    value, power = size / 1024, 1
    while abs(value) >= 1023.995 and power < len(PREFIXES):  # 1023.996 would print as "1024.00"
        value, power = value / 1024, power + 1
    return f"{value:.2f} {PREFIXES[power - 1]}iB"


def told_apart(first: int, second: int) -> tuple[str, str]:
    """Both, byte by byte where they would read alike and are not."""
    texts = human(first), human(second)
    return texts if first == second or texts[0] != texts[1] else (f"{first:,} B", f"{second:,} B")

"""What is another in a run than it has to be."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, order=True)
class Difference:
    kind: str
    text: str
    watch: int = -1  # the one that it is about, where it is about one: gdb alone has it too where it has it of the same

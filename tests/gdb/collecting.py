"""Loaded into gdb: ``looking`` has the files that make calls of records in which Python has looked for cycles."""

from __future__ import annotations

import gc
import os
import sys
from typing import Any

MAKING = {"ring.py", "ring_calls.py"}
looking: set[str] = set()


def look(phase: str, info: dict[str, Any]) -> None:
    frame = sys._getframe()
    while frame is not None:
        looking.update({os.path.basename(frame.f_code.co_filename)} & MAKING)
        frame = frame.f_back  # type: ignore[assignment]


gc.callbacks.append(look)

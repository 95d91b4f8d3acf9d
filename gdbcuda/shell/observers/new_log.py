"""The file that calls are written into."""

from __future__ import annotations

import os
import re
import time

from gdbcuda.errors import UserError


def new_file(wanted: str | None, program: str) -> str:
    """Its path; an existing log is never written over."""
    name = re.sub(r"[^\w.-]", "_", os.path.basename(program)) or "program"
    path = wanted or f"trace-{name}-{time.strftime('%Y%m%d-%H%M%S')}.jsonl"
    if os.path.isfile(path) and os.path.getsize(path):
        raise UserError(f"{path} is there already, and not empty: name another file with -o")
    return path

"""What a process of several is called: by the rank that its launcher has given it."""

from __future__ import annotations

from typing import Callable

GLOBAL = ("RANK", "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID")
LOCAL = ("LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "SLURM_LOCALID")
LONGEST = 6  # digits


def label(variable: Callable[[str], str | None]) -> str:
    """ "rank 3", "local rank 1"; "" of a process whose environment names none."""
    for head, names in (("rank", GLOBAL), ("local rank", LOCAL)):
        for name in names:
            value = variable(name) or ""
            if value.isascii() and value.isdigit() and len(value) <= LONGEST:
                return f"{head} {value}"
    return ""

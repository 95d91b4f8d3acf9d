"""Which functions make work for a GPU, or wait for it: calls of these are what the GPU's records are joined to."""

from __future__ import annotations

import re

from gdbcuda import api

ALWAYS = ("launch", "copy", "set")  # roles
BY_NAME = re.compile(r"GraphLaunch|Synchronize|WaitEvent|WaitValue|Prefetch|BatchMemOp")
IN_STREAMS = re.compile(r"Async|FromPool")  # of what allocates and frees


def makes_work(function: api.Function) -> bool:
    if function.api == "nvml":
        return False
    if function.role in ("alloc", "free"):
        return bool(IN_STREAMS.search(function.symbol))
    return function.role in ALWAYS or bool(BY_NAME.search(function.symbol))


def names_work(name: str) -> bool:
    """The same of a name in a log."""
    function = api.load_all().function(name)
    return function is not None and makes_work(function)

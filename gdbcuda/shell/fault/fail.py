"""``gdbcuda fail``: run a program in which calls fail as you say, without a prompt."""

from __future__ import annotations

import argparse
from typing import Any

from gdbcuda.shell.fault.options import add

_EXAMPLES = (
    "gdbcuda fail cuMemAlloc with CUDA_ERROR_OUT_OF_MEMORY -- ./train",
    'gdbcuda fail --hook ./hook.so cuMemAlloc if "nth == 3" with 2 -- ./train',
)


def add_parser(subparsers: Any) -> argparse.ArgumentParser:
    """Adds ``fail`` to the subcommands of ``gdbcuda``."""
    return add(subparsers, "fail", "run a program in which calls fail as you say", _EXAMPLES)

"""``gdbcuda set``: run a program in which calls return what you say, without a prompt."""

from __future__ import annotations

import argparse
from typing import Any

from gdbcuda.shell.fault.options import add

_EXAMPLES = (
    "gdbcuda set cuMemGetInfo total = 2G on return -- ./train",
)


def add_parser(subparsers: Any) -> argparse.ArgumentParser:
    """Adds ``set`` to the subcommands of ``gdbcuda``."""
    return add(subparsers, "set", "run a program in which calls return what you say", _EXAMPLES)

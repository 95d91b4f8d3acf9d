"""``gdbcuda delay``: run a program in which calls wait, which provokes races, without a prompt."""

from __future__ import annotations

import argparse
from typing import Any

from gdbcuda.shell.fault.options import add

_EXAMPLES = (
    "gdbcuda delay --hook ./libvgpu.so cuMemAlloc 20ms --in driver -- ./train",
)


def add_parser(subparsers: Any) -> argparse.ArgumentParser:
    """Adds ``delay`` to the subcommands of ``gdbcuda``."""
    return add(subparsers, "delay", "run a program in which calls wait, which provokes races", _EXAMPLES)

"""``python -m gdbcuda.check FILE...``: the same as ``gdbcuda check``."""

from __future__ import annotations

import argparse
import sys

from gdbcuda.errors import UserError

from .cli import add_arguments, run


def main() -> int:
    parser = argparse.ArgumentParser(prog="gdbcuda check")
    add_arguments(parser)
    try:
        return run(parser.parse_args())
    except UserError as problem:
        print(f"gdbcuda: {problem}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())

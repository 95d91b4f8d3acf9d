"""``python3 -m gdbcuda`` is ``gdbcuda``: for where pip has put the command into no folder of PATH."""

import sys

from gdbcuda.shell import cli

if __name__ == "__main__":
    sys.exit(cli.main())

"""``python3 -m gdbcuda`` is ``gdbcuda``: for where pip has put the command into no folder of PATH."""

import sys

from gdbcuda.shell import entry

if __name__ == "__main__":
    sys.exit(entry.main())

"""Plays a file of gdb commands as if they were typed, for ``gdbcuda demo``; "#" lines are the narrator's."""

import gdb

from gdbcuda.live.host import gdb_cli


def play(path: str, leave_out: str = "") -> None:
    """Lines that begin with ``leave_out`` are not typed."""
    gdb_cli.execute("set confirm off")
    with open(path) as file:
        lines = file.read().splitlines()
    for line in lines:
        if line.startswith("#"):
            gdb.write(line[1:].strip() + "\n")
        elif not line:
            gdb.write("\n")
        elif not leave_out or not line.startswith(leave_out):
            gdb.write(f"(gdb) {line}\n")
            gdb.flush()
            try:
                gdb_cli.execute_aloud(line)
            except gdb.error as problem:
                gdb.write(f"{problem}\n")

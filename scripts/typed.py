"""Sourced in gdb by scripts/demo: plays a file of gdb commands as if they were typed; "#" lines are the narrator's."""

import os

import gdb


def play(path):
    libraries = os.environ.get("GDBCUDA_DEMO_LIBRARIES")
    with open(path) as file:
        lines = file.read().splitlines()
    for line in lines:
        if line.startswith("#"):
            gdb.write(line[1:].strip() + "\n")
        elif not line or (line.startswith("cuda-env LD_LIBRARY_PATH") and not libraries):
            gdb.write("\n" if not line else "")
        else:
            gdb.write(f"(gdb) {line}\n")
            gdb.flush()
            try:
                gdb.execute(line)
            except gdb.error as problem:
                gdb.write(f"{problem}\n")


gdb.execute("set confirm off")
play(os.environ["GDBCUDA_DEMO_SCRIPT"])

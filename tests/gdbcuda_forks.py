"""The process that ForkingGdbcuda starts: it has imported all of gdbcuda that a shell runs, and forks for each command.

Its children are as `python -m gdbcuda` is: its words, its folder, its environment, its three files and no other.
"""

from __future__ import annotations

import atexit
import gc
import importlib
import json
import os
import pkgutil
import resource
import runpy
import socket
import sys
from contextlib import suppress
from typing import Any

import gdbcuda
from gdbcuda import api

OF_GDB = "gdbcuda.live", "gdbcuda.gdbcuda"


def import_all() -> None:
    for module in pkgutil.walk_packages(gdbcuda.__path__, "gdbcuda.", onerror=lambda name: None):
        if not module.name.startswith(OF_GDB) and not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    api.load()
    gc.collect()
    gc.freeze()  # a collection in a child would copy what it does not use


def serve(ours: socket.socket) -> None:
    """One command after the other: its process, then how that has ended."""
    while True:
        wanted, files, *_ = socket.recv_fds(ours, 1 << 18, 3)
        if not wanted:
            return
        child = os.fork()
        if not child:
            leave(ended(json.loads(wanted), files))
        for file in files:
            os.close(file)
        ours.send(str(child).encode())
        _, status = os.waitpid(child, 0)
        ours.send(str(os.waitstatus_to_exitcode(status)).encode())


def become(wanted: dict[str, Any], files: list[int]) -> None:
    for number, file in enumerate(files):
        os.dup2(file, number)
    for number in map(int, os.listdir("/proc/self/fd")):
        if number >= len(files):
            with suppress(OSError):  # what has listed them
                os.close(number)
    for which, most in wanted["limits"]:
        resource.setrlimit(which, (most, most))
    os.chdir(wanted["folder"])
    os.environ.clear()
    os.environ.update(wanted["environment"])
    sys.stdin = os.fdopen(0, closefd=False)
    sys.stdout = os.fdopen(1, "w", closefd=False)
    sys.stderr = os.fdopen(2, "w", closefd=False, errors="backslashreplace", buffering=1)
    sys.argv[1:] = wanted["words"]
    runpy.run_module("gdbcuda", run_name="__main__", alter_sys=True)


def ended(wanted: dict[str, Any], files: list[int]) -> int:
    try:
        become(wanted, files)
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:  # as Python itself does with whatever ends its program
        sys.excepthook(*sys.exc_info())
        return 1
    return 0


def leave(status: int) -> None:
    """Without freeing 500 modules one by one."""
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    os._exit(status)


if __name__ == "__main__":
    import_all()
    serve(socket.socket(fileno=int(sys.argv[1])))

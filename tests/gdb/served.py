"""Loaded into gdb: starts the program under a gdbserver of its own, behind a socket or, as users do, behind a pipe.

For every byte that comes through a pipe gdb asks the system whether the command behind it has complained. To read the
libraries of one process takes a second of that."""

from __future__ import annotations

import os
import shlex
import socket
import tempfile

import gdb


def connect(server: list[str], piped: bool) -> None:
    """``server`` talks through its standard input and output."""
    gdb.execute("set remotetimeout 60")  # its 2 seconds are short for a machine that does much else
    if piped:
        gdb.execute(f"target remote | {shlex.join(server)}")
    else:
        through_socket(server)
    gdb.execute("continue")


def through_socket(server: list[str]) -> None:
    with tempfile.TemporaryDirectory() as folder, socket.socket(socket.AF_UNIX) as listener:
        listener.bind(f"{folder}/socket")
        listener.listen()
        listener.settimeout(60)
        if not os.fork():
            serve(listener, server)
        gdb.execute(f"target remote {folder}/socket")


def serve(listener: socket.socket, server: list[str]) -> None:
    try:
        end, _ = listener.accept()
        os.dup2(end.fileno(), 0)
        os.dup2(end.fileno(), 1)
        os.execvp(server[0], server)
    finally:
        os._exit(127)

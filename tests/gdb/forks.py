"""Loaded into a gdb with the extension: for each list of commands a copy of this gdb, which plays them.

What the extension imports is in the copy already; that is nearly half of what a scenario takes."""

from __future__ import annotations

import atexit
import contextlib
import gc
import importlib
import json
import os
import pkgutil
import socket
import stat
import sys
from typing import Any

import gdb

import gdbcuda.api
import gdbcuda.check.file
import gdbcuda.live
from gdbcuda.live import events
from gdbcuda.live.host import beginning
from gdbcuda.live.prompt.command import REGISTRY
from gdbcuda.rings.ring_functions import described
from gdbcuda.text import render
from gdbcuda.text.patterns import LazyPattern

USED_BY_MANY = (
    "bz2", "difflib", "gdbcuda.calls.captures", "gdbcuda.ledger.ledger_data", "gdbcuda.ledger.sites",
    "gdbcuda.ledger.views", "gdbcuda.log.views.changes", "gdbcuda.remote.remote_plan",
    "gdbcuda.shell.trace.python_names", "html", "locale", "lzma",
    "shutil", "tempfile",
)
METHODS = ("findall", "finditer", "fullmatch", "match", "search", "split", "sub")  # of a pattern  # fmt: skip


def serve(number: int, places: int, hook: str) -> None:
    """Returns in the copies alone. ``number`` is our end of a socket. Behind this gdb's command line says
    ``test-command-1`` and so on: each is one of the commands, as if it had been said there. ``hook`` is read: most
    copies need it."""
    os.set_inheritable(number, False)
    atexit.register(leave)
    import_all()
    compile_all()
    gdbcuda.check.file.check(hook)
    gc.freeze()  # else each copy, when it ends, writes to all that it shares with this gdb: half of its time
    with socket.socket(fileno=number) as end:
        while True:
            data, output, _, _ = socket.recv_fds(end, 1 << 17, 1)
            if not data:
                os._exit(0)
            child = os.fork()
            if not child:
                break
            os.close(output[0])
            end.send(str(child).encode())
            os.waitpid(child, 0)
            end.send(b"over")
    become(json.loads(data), output[0], places)


def leave() -> None:
    """When gdb has let go of its program. Python would give back, object by object, what a copy shares with this gdb,
    and so write to nearly all of it: two thirds of what a short scenario takes. (Those in full end as users' do.)"""
    gdb.flush(gdb.STDOUT)
    gdb.flush(gdb.STDERR)
    os._exit(0)


def import_all() -> None:
    """But what waits for its first use: handlers of events ask whether that is loaded."""
    beginning.begin()
    heard = {name.rpartition(".")[0] for names in events.HANDLERS.values() for name in names if name.endswith("?")}
    waiting = {f"gdbcuda.live.{name}" for name in heard}
    in_live = [one.name for one in pkgutil.walk_packages(gdbcuda.live.__path__, "gdbcuda.live.")]
    for name in (*USED_BY_MANY, *in_live):
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    for name in [*sys.modules]:
        if name.startswith("gdbcuda.") and name not in waiting:
            sys.modules[name].__doc__  # noqa: B018  (a module of ours runs when it is asked for something)
    render.rows_of_cells([["text"]])  # imports tabulate, which is found for us alone
    for table in (gdbcuda.api.load(), gdbcuda.api.load_all()):
        table.find("cuInit")  # makes what it looks in
    for function in gdbcuda.api.load().functions.values():
        described(function)  # by the recorder, which a fifth of the scenarios start
    for command in REGISTRY.values():
        command.parser  # noqa: B018  (makes it)


def compile_all() -> None:
    """The patterns: a seventh of the Python of a short scenario."""
    for one in gc.get_objects():
        if isinstance(one, LazyPattern):
            for name in METHODS:
                getattr(one, name)


def become(wanted: dict[str, Any], output: int, places: int) -> None:
    sys.stdout.flush()
    for standard in (1, 2):
        os.dup2(output, standard)
    os.close(output)
    open_files_again()
    if os.getcwd() != wanted["folder"]:
        gdb.execute(f"cd {wanted['folder']}", to_string=True)
    for name, value in wanted["environment"].items():
        os.environ[name] = value  # a server's that is started here
        gdb.execute(f"set environment {name} {value}", to_string=True)
    if wanted["program"]:
        gdb.execute(f"file {wanted['program']}", to_string=True)
        gdb.execute(f"set args {wanted['arguments']}")
    commands = [*wanted["commands"], *[""] * (places - len(wanted["commands"]))]
    for place, line in enumerate(commands, 1):
        gdb.execute(f"define test-command-{place}\n{line}\nend")


def open_files_again() -> None:
    """Else a copy that reads on in a file that this gdb has open moves the place where the next copy reads on."""
    for number in map(int, os.listdir("/proc/self/fd")):
        with contextlib.suppress(OSError):  # the folder's own
            if stat.S_ISREG(os.fstat(number).st_mode):
                place = os.lseek(number, 0, os.SEEK_CUR)
                again = os.open(f"/proc/self/fd/{number}", os.O_RDONLY | os.O_CLOEXEC)
                os.lseek(again, place, os.SEEK_SET)
                os.dup2(again, number, inheritable=False)
                os.close(again)

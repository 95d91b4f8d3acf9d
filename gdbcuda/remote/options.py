"""The options of ``gdbcuda remote`` and ``cuda-remote``; gdb loads this file at its start, and no other of remote/."""

from __future__ import annotations

from typing import NamedTuple


class Word(NamedTuple):
    """An option; ``value`` "" for a flag. ``many``: it may be given again."""

    name: str
    value: str
    help: str
    many: bool = False


OPTIONS = (
    Word("--host", "H", "the server, for gdb to connect to (default: localhost)"),
    Word("--port", "P", "TCP port of gdbserver (default: 1234)"),
    Word("--ssh", "HOST", "[USER@]HOST: through ssh, no port"),
    Word("--container", "NAME", "in this container: through docker exec -i, no port"),
    Word("--pod", "NAME", "in this pod, or NAMESPACE/POD: through kubectl exec -i, no port"),
    Word("--attach", "PID", "a process that runs already"),
    Word("--multi", "", "gdb starts the program, as often as you run it (target extended-remote)"),
    Word("--hook", "LIB", "the hook library, the copy here"),
    Word("--hook-there", "PATH", "where it is on the server, if elsewhere"),
    Word("--program", "FILE", "the program: the copy here, or its path there"),
    Word("--program-there", "PATH", "where it is on the server, if elsewhere"),
    Word("--env", "NAME=VALUE", "a variable of the program's environment; again for another one", True),
    Word("--path-map", "A=B", "sources compiled in directory A are in B here; again for others (default: found)", True),
    Word("--gdbserver", "PATH", "gdbserver there, by name or path (default: gdbserver; for cuda-gdb cuda-gdbserver)"),
    Word("--sysroot", "DIR", "copies of the server's libraries (default: gdb fetches them from there)"),
    Word("--json", "", "as one JSON object"),
)  # fmt: skip

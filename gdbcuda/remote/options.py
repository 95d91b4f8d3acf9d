"""The options of ``gdbcuda remote`` and ``cuda-remote``; gdb loads this file at its start, and no other of remote/."""

from __future__ import annotations

from typing import NamedTuple


class Flag(NamedTuple):
    """An option; ``value`` "" for a flag. ``many``: it may be given again."""

    name: str
    value: str
    help: str
    many: bool = False


OPTIONS = (
    Flag("--host", "H", "the server, for gdb to connect to (default: localhost)"),
    Flag("--port", "P", "TCP port of gdbserver (default: 1234)"),
    Flag("--ssh", "HOST", "[USER@]HOST: through ssh, no port"),
    Flag("--container", "NAME", "in this container: through docker exec -i, no port"),
    Flag("--pod", "NAME", "in this pod, or NAMESPACE/POD: through kubectl exec -i, no port"),
    Flag("--attach", "PID", "a process that runs already"),
    Flag("--multi", "", "gdb starts the program, as often as you run it (target extended-remote)"),
    Flag("--hook", "LIB", "the hook library, the copy here"),
    Flag("--hook-there", "PATH", "where it is on the server, if elsewhere"),
    Flag("--program", "FILE", "the program: the copy here, or its path there"),
    Flag("--program-there", "PATH", "where it is on the server, if elsewhere"),
    Flag("--env", "NAME=VALUE", "a variable of the program's environment; again for another one", True),
    Flag("--path-map", "A=B", "sources compiled in directory A are in B here; again for others (default: found)", True),
    Flag("--gdbserver", "PATH", "gdbserver there, by name or path (default: gdbserver; for cuda-gdb cuda-gdbserver)"),
    Flag("--sysroot", "DIR", "copies of the server's libraries (default: gdb fetches them from there)"),
    Flag("--json", "", "as one JSON object"),
)  # fmt: skip

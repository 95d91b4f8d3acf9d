"""The options of ``gdbcuda remote`` and ``cuda-remote``; gdb loads this file at its start, and no other of remote/."""

from __future__ import annotations

from gdbcuda.command_line.argument_types import FILE, ArgumentType, positive, text
from gdbcuda.command_line.options import Options, flag, option, options
from gdbcuda.errors import UserError


def path_map(typed: str) -> tuple[str, str]:
    far, _, here = typed.partition("=")
    if not (far.startswith("/") and here):
        raise UserError(f"--path-map is A=B, for example /libvgpu=$PWD, not {typed!r}")
    return far, here


PORT = ArgumentType("P", positive, "a number from 1 on", "2345")
PROCESS = ArgumentType("PID", positive, "a number from 1 on", "4711")
PATH_MAP = ArgumentType("A=B", path_map)


class RemoteOptions(Options):
    host: str | None = option(text("H"), "the server, for gdb to connect to (default: localhost)")
    port: int | None = option(PORT, "TCP port of gdbserver (default: 1234)")
    ssh: str | None = option(text("HOST"), "[USER@]HOST: through ssh, no port")
    container: str | None = option(text("NAME"), "in this container: through docker exec -i, no port")
    pod: str | None = option(text("NAME"), "in this pod, or NAMESPACE/POD: through kubectl exec -i, no port")
    attach: int | None = option(PROCESS, "a process that runs already")
    multi: bool = flag("gdb starts the program, as often as you run it (target extended-remote)")
    hook: str | None = option(FILE, "the hook library, the copy here")
    hook_there: str | None = option(text("PATH"), "where it is on the server, if elsewhere")
    program: str | None = option(FILE, "the program: the copy here, or its path there")
    program_there: str | None = option(text("PATH"), "where it is on the server, if elsewhere")
    env: list[str] = options(text("NAME=VALUE"), "a variable of the program's environment; again for another one")
    path_map: list[tuple[str, str]] = options(
        PATH_MAP, "sources compiled in directory A are in B here; again for others (default: found)"
    )
    gdbserver: str | None = option(
        text("PATH"), "gdbserver there, by name or path (default: gdbserver; for cuda-gdb cuda-gdbserver)"
    )
    sysroot: str | None = option(FILE, "copies of the server's libraries (default: gdb fetches them from there)")
    json: bool = flag("as one JSON object")

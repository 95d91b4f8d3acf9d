"""``cuda-env``."""

from __future__ import annotations

import re
from typing import NamedTuple

from gdbcuda.command_line.argument_types import ArgumentType
from gdbcuda.command_line.options import Options, word
from gdbcuda.errors import UserError
from gdbcuda.live import process
from gdbcuda.live.host import gdb_cli
from gdbcuda.live.layers import names
from gdbcuda.live.preloading import preload, written_environment
from gdbcuda.live.process import environment_variables
from gdbcuda.live.prompt.command import command
from gdbcuda.text.printable import visible


class Assignment(NamedTuple):
    """``value`` None: the variable is only asked for."""

    name: str
    value: str | None


def assignment(typed: str) -> Assignment:
    name, equals, value = typed.partition("=")
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
        raise UserError(f"{name!r} is not a variable's name; write NAME=VALUE")
    return Assignment(name, value if equals else None)


ASSIGNMENT = ArgumentType("ASSIGNMENT", assignment, complete=lambda token: names.complete_variables(token))


class EnvOptions(Options):
    assignment: Assignment = word(ASSIGNMENT, "NAME=VALUE to set, NAME to show")


@command("cuda-env", EnvOptions, purpose="start", needs="stopped")
def cuda_env(wanted: EnvOptions) -> str:
    """Set an environment variable in the running process and for the next run.

    gdb's 'set environment' does nothing to a process that runs already. This command changes the variable in
    the process by writing memory. No function of the program is called. The program sees the new value at its
    next getenv.

    Examples:
      cuda-env LIBCUDA_LOG_LEVEL=4
      cuda-env CUDA_VISIBLE_DEVICES"""
    name, value = wanted.assignment
    return show(name) if value is None else visible(assign(name, value))


def assign(name: str, value: str) -> str:
    gdb_cli.execute(f"set environment {name}={value}")
    later = next_run(name)
    if not process.is_alive():
        return f"{name}={value} {later}"
    if process.connection() == "core":
        return f"{name}={value} {later} (a core file has no process to set it in)"
    written_environment.put(name, value)
    return f"{name}={value} in the running process, and {later}"


def next_run(name: str) -> str:
    if process.connection() == "remote":
        return f"not for the next one: gdbserver starts it (gdbserver --wrapper env {name}=... -- ...)"
    return "for the next run"


def show(name: str) -> str:
    lines = []
    if process.is_alive():
        found = environment_variables.get(name)
        lines.append(
            f"{name}={found} in the running process" if found is not None else f"{name} is not set in the process"
        )
    later = preload.environment(name)
    lines.append(f"{name}={later} for the next run" if later is not None else f"{name} is not set for the next run")
    return "\n".join(map(visible, lines))

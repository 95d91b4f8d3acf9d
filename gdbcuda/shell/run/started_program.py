"""What gdb can start: of a script the program that its first line names."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Mapping, Sequence

from gdbcuda.data_classes import dataclass
from gdbcuda.errors import UserError, cannot
from gdbcuda.files import places

ELF = b"\x7fELF"
MOST_SCRIPTS = 4  # of scripts whose interpreter is a script, as the kernel has it (execve(2))
LONGEST_LINE = 256  # bytes: BINPRM_BUF_SIZE
PYTHON = re.compile(r"python(?:3(?:\.\d+)?t?)?")
ASKED = "import json, os, sys; print(json.dumps([sys.executable, dict(os.environ)]))"
PATIENCE = 60.0  # seconds
SHELL = "/bin/sh"  # what a shell starts a script with that names nothing


@dataclass(frozen=True)
class Startable:
    """``words`` begin with the path of an ELF file. ``environment`` is what a script in front of it makes of ours."""

    words: list[str]
    environment: Mapping[str, str]


def startable(words: Sequence[str], environment: Mapping[str, str]) -> Startable:
    """The same command; `UserError` where there is none."""
    found = [path_of(words[0]), *words[1:]]
    for _ in range(MOST_SCRIPTS + 1):
        first = first_line(found[0])
        if first.startswith(ELF):
            return Startable(found, environment)
        behind = python_behind(found[0], environment) if PYTHON.fullmatch(os.path.basename(found[0])) else None
        if behind is not None:
            return Startable([*behind.words, *found[1:]], behind.environment)
        found = [*interpreter(first, found[0]), *found]
    raise UserError(f"{words[0]} is a script of a script of a script: name the program that it starts")


def python_behind(script: str, environment: Mapping[str, str]) -> Startable | None:
    """The interpreter that a shim starts, as it says itself: forty processes of shells are in front of pyenv's."""
    try:
        asked = subprocess.run([script, "-S", "-c", ASKED], env=dict(environment), stdin=subprocess.DEVNULL,
                               capture_output=True, timeout=PATIENCE)  # fmt: skip
        path, variables = json.loads(asked.stdout.splitlines()[-1])
        is_program = first_line(path).startswith(ELF)
    except (OSError, ValueError, IndexError, TypeError, subprocess.TimeoutExpired, UserError):
        return None
    return Startable([path], variables) if is_program else None


def path_of(name: str) -> str:
    return os.path.abspath(places.program(name))  # a link as it is named: a virtual environment's python3 is one


def first_line(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read(LONGEST_LINE).split(b"\n")[0]
    except OSError as problem:
        raise cannot(f"read {path}", problem) from None


def interpreter(first: bytes, script: str) -> list[str]:
    """The words in front of the script's name. (execve(2): all behind the interpreter is one word.) What env would look
    for in PATH is found in PATH here, so that nothing runs in front of it."""
    if not first.startswith(b"#!"):
        if b"\0" in first:
            raise UserError(f"{script} is neither a program of this system nor a script")
        return [SHELL]
    name, _, argument = os.fsdecode(first[2:].strip(b" \t\r")).partition(" ")
    argument = argument.strip()
    if os.path.basename(name) == "env" and argument and not argument.startswith("-") and "=" not in argument:
        return [path_of(argument)]
    return [path_of(name), *([argument] if argument else [])]

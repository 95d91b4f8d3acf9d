"""The process or core file: is there one, where, which machine; its registers.
(gdb manual: "Inferiors In Python", "Connections In Python".)
"""

from __future__ import annotations

import os
import re
from typing import cast

import gdb

from gdbcuda.errors import UserError
from gdbcuda.live.host import gdb_cli

REMOTE_PREFIX = "target:"
VALUE = "_cuda_value"


def is_alive() -> bool:
    """There is a process (or a core file) to look at."""
    return gdb.selected_inferior().pid != 0


def connection() -> str:
    """ "" without one, else gdb's name of the target: "native", "remote", "extended-remote", "core"."""
    if hasattr(gdb.selected_inferior(), "connection"):  # gdb 12
        found = gdb.selected_inferior().connection
        return str(found.type).partition(" ")[0] if found is not None else ""  # "remote + cuda" in cuda-gdb
    return connection_by_command() if gdb_cli.is_possible() else connection_in_event()


_told: dict[int, str] = {}  # by inferior number: what gdb's command has said last


def connection_by_command() -> str:
    row = re.search(r"^\* .*", gdb_cli.execute("info inferiors"), re.MULTILINE)
    named = re.search(r" \d+ \(([a-z-]+)", row.group()) if row else None  # gdb 10: "1 (extended-remote HOST:PORT)"
    _told[gdb.selected_inferior().num] = named.group(1) if named else ""
    return _told[gdb.selected_inferior().num]


def connection_in_event() -> str:
    """gdb itself traces a native process (proc(5): /proc/PID/status, TracerPid)."""
    inferior = gdb.selected_inferior()
    try:
        with open(f"/proc/{inferior.pid}/status") as file:
            is_traced = re.search(r"^TracerPid:\s*(\d+)$", file.read(), re.MULTILINE)
    except OSError:
        is_traced = None
    if is_traced and int(is_traced[1]) == os.getpid():
        return "native"
    return _told.get(inferior.num) or ("remote" if inferior.pid else "")


def is_remote() -> bool:
    return "remote" in connection()


def machine() -> str:
    """ "x86-64" or "aarch64", as gdbcuda.machine.abi names them; UserError for anything else. Without a program:
    gdb's own, for an IDE's commands may come before its program (gdb itself then assumes an i386)."""
    own = os.uname().machine.replace("x86_64", "i386:x86-64")
    name = architecture().name() if program() or is_alive() else own
    if name.startswith("i386:x86-64"):
        return "x86-64"
    if name.startswith("aarch64"):
        return "aarch64"
    raise UserError(f"arguments are known on x86-64 and aarch64, this program is {name}", page="limits")


def architecture() -> gdb.Architecture:
    """Of the process, not of a frame: for one gdb unwinds, and reads the stack for that."""
    inferior = gdb.selected_inferior()
    return inferior.architecture()


def program_space() -> gdb.Progspace:
    """Of the selected inferior. gdb has one at all times, whatever its types say."""
    return cast("gdb.Progspace", gdb.current_progspace())


def program() -> str:
    """File name of the program, "" if there is none."""
    return program_space().filename or ""


def strip_prefix(name: str) -> str:
    return name[len(REMOTE_PREFIX) :] if name.startswith(REMOTE_PREFIX) else name


def register(name: str) -> int:
    """An integer register of the selected thread's innermost frame, or the low 64 bits of a vector one."""
    value = gdb.parse_and_eval(f"${name}")
    if value.type.code in (gdb.TYPE_CODE_UNION, gdb.TYPE_CODE_STRUCT):
        value = value["v2_int64" if name.startswith("xmm") else "d"]
        value = value["u"] if name.startswith("v") else value[0]
    return int(value) & (1 << 64) - 1


def set_register(name: str, value: int) -> None:
    """Of the selected thread, in whatever language the user types. (0x5 is no number in each, nor is an address.)"""
    gdb.set_convenience_variable(VALUE, gdb.Value(value))
    gdb.parse_and_eval(f"${name} {assignment()} ${VALUE}")


def assignment() -> str:
    """In Ada, Pascal and Modula-2 = compares."""
    try:
        gdb.parse_and_eval("1 = 1")
    except gdb.error:
        return "="
    return ":="


def signal_number() -> int:
    """Of the signal that the selected thread is about to receive; gdb.error where there is none."""
    return int(gdb.parse_and_eval("$_siginfo")["si_signo"])

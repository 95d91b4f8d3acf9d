"""The process or core file: is there one, where, does it run, which machine; its registers and auxiliary vector.
(gdb manual: "Inferiors In Python", "Connections In Python", "Threads In Python", "OS Information".)
"""

from __future__ import annotations

import os
import re

import gdb

from gdbcuda.errors import Unreadable, UserError
from gdbcuda.live.target.caching import until_objects_change
from gdbcuda.live.target.memory import InferiorMemory

REMOTE_PREFIX = "target:"


def is_alive() -> bool:
    """There is a process (or a core file) to look at."""
    return gdb.selected_inferior().pid != 0


def connection() -> str:
    """ "" without one, else gdb's name of the target: "native", "remote", "extended-remote", "core"."""
    found = getattr(gdb.selected_inferior(), "connection", None)  # gdb 12
    if found is not None:
        return str(found.type).partition(" ")[0]  # "remote + cuda" in cuda-gdb
    row = re.search(r"^\* .*", gdb.execute("info inferiors", to_string=True), re.MULTILINE)
    named = re.search(r" \d+ \(([a-z-]+)", row.group()) if row else None  # gdb 10: "1 (extended-remote HOST:PORT)"
    return named.group(1) if named else ""


def is_remote() -> bool:
    return "remote" in connection()


def is_running() -> bool:
    """Some thread runs. A remote target that runs does not even tell its threads, and asking for them is a packet: in
    all-stop mode they run and stop together."""
    thread = gdb.selected_thread()
    if thread is not None and thread.is_valid() and not gdb.parameter("non-stop"):
        return bool(thread.is_running())
    try:
        return any(thread.is_running() for thread in gdb.selected_inferior().threads())
    except gdb.error:
        return True


def pause() -> str:
    """What to say of a command that needs a stopped thread; in non-stop mode another one may be stopped."""
    how = "interrupt -a; or thread N, one that is stopped" if gdb.parameter("non-stop") else "interrupt, or Ctrl-C"
    return f"the program is running: pause it first ({how})"


def is_thread_running() -> bool:
    """The selected thread runs: it has no registers and no frame to look at."""
    thread = gdb.selected_thread() if is_alive() else None
    return thread is not None and thread.is_valid() and thread.is_running()


def require_stopped() -> None:
    """UserError while gdb cannot look: a remote target that runs answers nothing, and before gdb 11 no program that
    runs. For commands, not for events."""
    if is_thread_running() and (is_remote() or not has_readable_stack()):
        raise UserError(pause())


def has_readable_stack() -> bool:
    """Whether the process's memory can really be read now: for code and constants gdb may answer from the files."""
    try:
        InferiorMemory().read(auxiliary()["AT_RANDOM"], 1)
    except (Unreadable, KeyError):
        return False
    return True


def machine() -> str:
    """ "x86-64" or "aarch64", as gdbcuda.abi names them; UserError for anything else. Without a program: gdb's own,
    for an IDE's commands may come before its program (gdb itself then assumes an i386)."""
    name = architecture().name() if program() or is_alive() else os.uname().machine.replace("x86_64", "i386:x86-64")
    if name.startswith("i386:x86-64"):
        return "x86-64"
    if name.startswith("aarch64"):
        return "aarch64"
    raise UserError(f"arguments are known on x86-64 and aarch64, this program is {name}")


def architecture() -> gdb.Architecture:
    try:
        return gdb.selected_frame().architecture()
    except gdb.error:
        inferior = gdb.selected_inferior()
        return inferior.architecture()


def program() -> str:
    """File name of the program, "" if there is none."""
    return gdb.current_progspace().filename or ""


def strip_prefix(name: str) -> str:
    return name[len(REMOTE_PREFIX) :] if name.startswith(REMOTE_PREFIX) else name


@until_objects_change
def auxiliary() -> dict[str, int]:
    """AT_... entries of the auxiliary vector; {} where the target has none. (getauxval(3))"""
    try:
        shown = gdb.execute("info auxv", to_string=True)
    except gdb.error:
        return {}
    rows = re.findall(r'(AT_\w+).*?\s(0x[0-9a-f]+|\d+)(?: ".*")?$', shown, re.MULTILINE)
    return {name: int(value, 0) for name, value in rows}


def register(name: str) -> int:
    """An integer register of the selected thread's innermost frame, or the low 64 bits of a vector one."""
    value = gdb.parse_and_eval(f"${name}")
    if value.type.code in (gdb.TYPE_CODE_UNION, gdb.TYPE_CODE_STRUCT):
        value = value["v2_int64" if name.startswith("xmm") else "d"]
        value = value["u"] if name.startswith("v") else value[0]
    return int(value) & (1 << 64) - 1

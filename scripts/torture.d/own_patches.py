"""A program that patches its own function, over a breakpoint of gdb's: what comes of that is gdb's, alone as often."""

from __future__ import annotations

import re
from typing import Any

from playing import Outcome

JUMP = re.compile(r"\w\w b8(?: \w\w){8} ff e0")  # that patches.c writes, whatever its first byte has become
JUMPS_FIRST = "48"
TRAPPED = re.compile(r"received signal SIGTRAP, .*\n(?:\[Switching .*\n)?0x([0-9a-f]+) in ")
PATCHED, PUT_BACK = "# patched ", "# put back "  # patches.c says where, and which bytes it has put back


def copied(run: Outcome) -> str:
    """The program has copied gdb's breakpoint with the bytes that it overwrites, and puts it back when gdb has taken
    its own away: the manual's limits."""
    own = {int(line.split()[2], 16) + 1 for line in run.out if line.startswith(PATCHED)}
    found = [at for at in TRAPPED.findall(run.text) if int(at, 16) in own]
    return f"the program has written back a breakpoint that it had copied, at {found[0]}" if found else ""


def torn(run: Outcome) -> str:
    """The program has written over gdb's breakpoint, and gdb has put back the one byte that was below it: the rest of
    what the program has written, a jump or its own code again, is whole."""
    for note in run.noted("signal"):
        for line in run.out:
            at = is_torn_jump(line, note) or is_torn_code(line, note)
            if at:
                return f"the program has written over a breakpoint, at {at}"
    return ""


def is_torn_jump(line: str, note: dict[str, Any]) -> str:
    at = line.split()[2] if line.startswith(PATCHED) else ""
    code = bytes_at(note["there"], at)
    return at if JUMP.match(code) and not code.startswith(JUMPS_FIRST) else ""


def is_torn_code(line: str, note: dict[str, Any]) -> str:
    """Of what gdb shows: whose first byte has gdb's breakpoint over it now."""
    at, _, code = line.removeprefix(PUT_BACK).partition(": ") if line.startswith(PUT_BACK) else ("", "", "")
    have = bytes_at(note["shown"], at)[: len(code)]
    return at if have[:2] == JUMPS_FIRST != code[:2] and have[2:] == code[2:] and code else ""


def bytes_at(told: str, at: str) -> str:
    """From that address on, of what the driver tells of a place; "" where it could not look there."""
    first, _, found = told.partition(": ")
    distance = int(at, 16) - int(first, 16) if found and at else -1
    return found[len("00 ") * distance :] if distance >= 0 else ""

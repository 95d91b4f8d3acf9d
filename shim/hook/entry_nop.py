"""Turn the five one-byte nops that gcc puts at a function's entry into one five-byte nop.

Usage: entry_nop.py FILE.s [--optimised]   (x86-64 assembly of gcc -fpatchable-function-entry=5; changed in place)

One instruction instead of five, inside an aligned eight bytes: no thread can stand in the middle of what a debugger or
a uprobe replaces, and it can be replaced by one write. gcc has -mnop-mcount for it, but not together with -fPIC.

Without optimisation the function's first line is made to begin one byte before its entry: gdb does not know a prologue
that begins with a nop, and would stop at the nop, where the arguments are not stored yet; but from the middle of a line
it goes on to the next one, which is the body. (The price: `list FUNCTION` finds no line; `break`, `step`, `list` at a
stop and backtraces are right.) Optimised code has its arguments described at the entry and keeps its lines.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

ENTRY = re.compile(
    r"(?P<label>^[\w.]+:\n(?:\.LVL\d+:\n)?\.LFB\d+:\n)"
    r"(?P<line>(?:\t\.file .*\n)?\t\.loc .*\n)"
    r"(?P<between>(?:.*\n){1,8}?)"
    r"(?:\tnop\n){5}",
    re.MULTILINE,
)
ONE_NOP = "\t{disp8} nopl 0(%rax,%rax,1)\n"
ALIGN = "\t.p2align 4\n"


def with_line_before(match: re.Match[str]) -> str:
    return f"{match['line']}\tnop\n{ALIGN}{match['label']}{match['between']}{ONE_NOP}"


def with_line_kept(match: re.Match[str]) -> str:
    return f"{ALIGN}{match['label']}{match['line']}{match['between']}{ONE_NOP}"


path = Path(sys.argv[1])
replacement = with_line_kept if "--optimised" in sys.argv else with_line_before
path.write_text(ENTRY.sub(replacement, path.read_text()))

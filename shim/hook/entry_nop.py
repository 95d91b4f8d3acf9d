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

# From a function's label to its first instruction: labels, directives and the nops, in an order that depends on gcc.
HEAD = re.compile(r"(?<=, @function\n)[\w.]+:\n(?:\.L\w+:\n|\t\.\w.*\n|\tnop\n)*", re.MULTILINE)
LINE = re.compile(r"(?:\t\.file .*\n)?\t\.loc .*\n")
FIVE_NOPS = "\tnop\n" * 5
ONE_NOP = "\t{disp8} nopl 0(%rax,%rax,1)\n"
ALIGN = "\t.p2align 4\n"


def with_line_before(match: re.Match[str]) -> str:
    head = match[0].replace(FIVE_NOPS, ONE_NOP)
    line = LINE.search(head)
    if line is None:
        return ALIGN + head
    return f"{line[0]}\tnop\n{ALIGN}{head.replace(line[0], '', 1)}"


def with_line_kept(match: re.Match[str]) -> str:
    return ALIGN + match[0].replace(FIVE_NOPS, ONE_NOP)


path = Path(sys.argv[1])
replacement = with_line_kept if "--optimised" in sys.argv else with_line_before
path.write_text(HEAD.sub(replacement, path.read_text()))

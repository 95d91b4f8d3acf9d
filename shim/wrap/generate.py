"""Write the wrapper of each API function into a file of its own: of an archive the linker takes those that are called.

Usage: generate.py FOLDER
"""

from __future__ import annotations

import sys
from pathlib import Path

from gdbcuda import api

WRAPPER = """\
    .text
    .globl __wrap_{name}
    .type __wrap_{name}, @function
__wrap_{name}:
    .cfi_startproc
    jmp *place(%rip)
    .cfi_endproc
    .size __wrap_{name}, . - __wrap_{name}
    .data
    .balign 8
place:
    .quad __real_{name}
    .section .rodata.str1.1, "aMS", @progbits, 1
name:
    .string "{name}"
    .section gdbcuda_wrapped, "aw", @progbits
    .balign 8
    .quad name, place
    .section .note.gdbcuda, "", @progbits
    .quad gdbcuda_wrapping
    .section .note.GNU-stack, "", @progbits
"""


def main() -> None:
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name in api.load_all().functions:
        (folder / f"{name}.s").write_text(WRAPPER.format(name=name))


if __name__ == "__main__":
    main()

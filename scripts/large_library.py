#!/usr/bin/env python3
"""Makes a large hook library, to measure `gdbcuda check`: scripts/large_library.py FOLDER [MEGABYTES [SYMBOLS]]

Half of it is debug info of 2,000 compilation units, half constants; the API functions of the table are among
its symbols. Prints the path. Needs gcc.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from gdbcuda import api

UNITS = 2000

# One abbreviation table for all units: a compile unit with DW_AT_name, DW_AT_comp_dir and DW_AT_producer, all
# as strings in place. The rest of each unit is padding, which a reader of first entries has to jump over.
ASSEMBLY = """
    .section .note.GNU-stack,"",@progbits
    .section .rodata
    .zero {constants}
    .section .debug_abbrev,"",@progbits
.Labbrev:
    .uleb128 1, 0x11
    .byte 0
    .uleb128 0x03, 0x08, 0x1b, 0x08, 0x25, 0x08, 0, 0
    .uleb128 0
    .section .debug_info,"",@progbits
    .rept {units}
    .4byte {length}
    .2byte 4
    .4byte .Labbrev
    .byte 8
    .uleb128 1
    .asciz "{source}"
    .asciz "{folder}"
    .asciz "GNU C17 12.2.0 -g -O0"
    .zero {padding}
    .endr
"""


def make_large_library(folder: Path, megabytes: int = 100, symbols: int = 2000) -> Path:
    """A hook library of about that size with that many exported functions."""
    folder.mkdir(parents=True, exist_ok=True)
    names = list(api.load().functions)[:symbols]
    names += [f"function_{number}" for number in range(symbols - len(names))]
    source = folder / "large.c"
    source.write_text("".join(f"int {name}(void) {{ return 0; }}\n" for name in names))
    half = megabytes * 1_000_000 // 2
    texts = {"source": source.name, "folder": str(folder)}
    entry = 8 + sum(len(text) + 1 for text in (*texts.values(), "GNU C17 12.2.0 -g -O0"))
    padding = half // UNITS
    assembly = folder / "padding.s"
    assembly.write_text(
        ASSEMBLY.format(constants=half, units=UNITS, length=entry + padding, padding=padding, **texts)
    )
    library = folder / "liblarge.so"
    flags = ["-shared", "-fPIC", "-g", "-O0", "-fno-builtin", "-w"]
    subprocess.run(["gcc", *flags, "-o", library, source, assembly], check=True)
    return library


def main() -> None:
    folder, *numbers = sys.argv[1:]
    print(make_large_library(Path(folder), *map(int, numbers)))


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Writes what is the same for every function of a stand-in library: exported wrappers, stubs, tables.

Usage: python3 generate.py {driver,runtime,nvml} CUDA NVML DIRECTORY SOURCE...

The SOURCEs are the hand-written bodies, found by their markers (common/standin.h). Into DIRECTORY go
    standin_LIBRARY.h           prototypes of the bodies
    standin_LIBRARY.c           every exported function of the table: a wrapper of its body, or a stub
    standin_LIBRARY_tables.h    names of errors; the version map of cuGetProcAddress (driver)
    standin_driver_functions.h  the driver functions that the runtime calls (runtime)
    standin_driver_requests.h   and how it asks for them (runtime)
    runtime.map                 the linker's version script (runtime)
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path

import tables
import wrappers
from library import Library

from gdbcuda import api


def write(path: Path, lines: Iterable[str]) -> None:
    """A file that would not change keeps its date, so that make does not compile all that includes it."""
    text = "\n".join(lines) + "\n"
    if not path.exists() or path.read_text() != text:
        path.write_text(text)


def main() -> None:
    name, cuda, nvml, directory, *sources = sys.argv[1:]
    library = Library(name, api.load(cuda=cuda, nvml=nvml), map(Path, sources))
    out = Path(directory)
    library.check()
    write(out / f"standin_{name}.h", wrappers.prototypes(library))
    write(out / f"standin_{name}.c", wrappers.wrappers(library))
    write(out / f"standin_{name}_tables.h", tables.tables(library))
    if name == "runtime":
        write(out / "standin_driver_functions.h", tables.driver_functions(library))
        write(out / "standin_driver_requests.h", tables.driver_requests(library))
        write(out / "runtime.map", tables.version_script(library))


if __name__ == "__main__":
    main()

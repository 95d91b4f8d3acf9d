"""Hook libraries that break the contract on purpose, one promise each, and `gdbcuda conform` over them."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

from forking_gdbcuda import run_gdbcuda
from shim_support import clean_environment

from gdbcuda.compare.findings import Allowed
from gdbcuda.shell.conform import cases as conform_cases
from gdbcuda.shell.conform.options import ConformOptions

SAID = re.compile(r"^   conform: (.+?)(?: \*/)?$", re.MULTILINE)  # in the comment of a library of shim/sample/wrong
MADE_SMALL = "books/oldest_first"  # that takes longest: tests/unit/test_conform_books.py plays it once for all
BEGIN = """\
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "gdbcuda_api.h"
#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))
"""


class ConformFiles:
    """``shim`` is the build folder."""

    def __init__(self, folder: Path, shim: Path) -> None:
        self.folder, self.shim = folder, shim

    def hook(self, name: str, text: str) -> Path:
        source, library = self.folder / f"{name}.c", self.folder / f"lib{name}.so"
        source.write_text(BEGIN + text)
        flags = ["-g", "-w", "-shared", "-fPIC", "-D_GNU_SOURCE", f"-I{self.shim}"]
        subprocess.run(["gcc", *flags, "-o", library, source, "-ldl"], check=True)
        return library

    def command(self, *words: str | Path) -> list[str]:
        return [sys.executable, "-m", "gdbcuda", "conform", *map(str, words)]

    def run(self, *words: str | Path, **environment: str) -> subprocess.CompletedProcess[str]:
        return run_gdbcuda("conform", *words, env={**clean_environment(), **environment}, timeout=1200)

    def data(self, *words: str | Path) -> Any:
        done = self.run(*words, "--json")
        assert done.returncode in (0, 1), done.stderr
        return json.loads(done.stdout)

    def broken(self, *words: str | Path) -> list[str]:
        """ "CASE: what is broken" of each, in order."""
        return sorted(f"{one['case']}: {one['broken']}" for one in self.data(*words)["broken"])


def found_in(hook: Path, cases: list[str], environment: list[str], limit: int, shared: Path) -> list[str]:
    """As `broken`, without a Python of its own; C programs are built once in a run of the tests, in ``shared``."""
    wanted = ConformOptions()
    wanted.lib, wanted.only, wanted.env, wanted.limit = str(hook), cases, environment, limit
    wanted.seconds, wanted.seed, wanted.real = 600, 1, False
    return [one.line for one in conform_cases.run(wanted, Allowed.of_file(None), shared).found]

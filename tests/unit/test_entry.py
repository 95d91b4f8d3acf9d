"""Ctrl-C before the command has begun."""

from __future__ import annotations

import signal
import subprocess
import sys

WHILE_LOADING = """
import os, signal, sys
class Interrupts:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name == "gdbcuda.shell.cli":
            signal.raise_signal(signal.SIGINT)
sys.meta_path.insert(0, Interrupts)
signal.signal(signal.SIGINT, {handler})
from gdbcuda.shell import entry
sys.argv = ["gdbcuda", "--version"]
sys.exit(entry.main())
"""


def ended(handler: str) -> tuple[int, str, str]:
    code = WHILE_LOADING.format(handler=handler)
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    return found.returncode, found.stdout, found.stderr


def test_it_ends_the_command_without_a_traceback() -> None:
    assert ended("signal.default_int_handler") == (-signal.SIGINT, "", "")


def test_where_it_is_ignored_it_stays_ignored() -> None:
    status, out, _ = ended("signal.SIG_IGN")
    assert status == 0 and out.startswith("gdbcuda ")

"""``set cuda-…`` and ``show cuda-…``. (gdb manual: "Parameters In Python".)

The names keep their hyphen: cuda-gdb owns the prefixes ``cuda``, ``set cuda`` and ``info cuda``.
"""

from __future__ import annotations

import os
import sys
from typing import Any, Callable

import gdb

from gdbcuda.command_line import help_page
from gdbcuda.live import process
from gdbcuda.live.host import beginning, console, gdb_cli
from gdbcuda.live.prompt import safely

SETTINGS: dict[str, Setting] = {}
ON_CHANGE: dict[str, Callable[[], None]] = {}


class Setting(gdb.Parameter):
    """One ``set cuda-NAME``. ``what`` it is stands behind "Set" and "Show", ``values`` says what each value means.
    ``kind`` is a gdb.PARAM_ constant, ``choices`` for enumerations."""

    def __init__(
        self, name: str, what: str, values: str, kind: int, initial: Any, choices: list[str] | None = None
    ) -> None:
        shown = {True: "on", False: "off"}[initial] if isinstance(initial, bool) else initial
        self.set_doc, self.show_doc = f"Set {what}.", f"Show {what}."
        self.__doc__ = help_page.each_line(f"{values}\nDefault: {shown}.")
        self.name = name
        super().__init__(name, gdb.COMMAND_SUPPORT, kind, *([choices] if choices else []))
        self.value = self.initial = initial
        if gdb.parameter(name) != initial:  # Debian's cuda-gdb 11.8 takes ``value`` for an attribute like any other
            gdb_cli.execute_aloud(f"set {name} {shown}")
        SETTINGS[name] = self

    def get_set_string(self) -> str:
        try:
            beginning.begin()
            process.forget()
            ON_CHANGE.get(self.name, process.forget)()
        except safely.ANYTHING as problem:
            raise safely.error(f"set {self.name}: ", problem) from None
        return ""

    def get_show_string(self, value: str) -> str:
        return f"{self.name} is {value}."


def register() -> None:
    from gdbcuda.api import versions

    enum, flag = gdb.PARAM_ENUM, gdb.PARAM_BOOLEAN
    Setting("cuda-answer-by", "how cuda-dlsym answer exchanges an answer",
            "registers: gdb writes them\nmemory: it writes code instead, on x86-64 only\nauto: registers where gdb can",
            enum, "auto", ["auto", "registers", "memory"])  # fmt: skip
    Setting("cuda-backtrace", "whether bt names the layer of each frame",
            "on: #0  [hook libvgpu.so] cuMemAlloc_v2 (...)\noff: as gdb writes it", flag, True)  # fmt: skip
    Setting("cuda-debug", "whether an error of ours comes with its traceback",
            "on: in front of its line; for a bug report\noff: one line", flag, False)  # fmt: skip
    Setting("cuda-guard", "whether cuda-break's conditions are compiled into the process",
            "auto, on: where that is safe; then a call that does not match costs no stop (see cuda-guards)\n"
            "off: gdbserver or gdb looks at each call", enum, "auto", ["auto", "on", "off"])  # fmt: skip
    Setting("cuda-guard-stacks", "whether stacks that are taken inside a guard lead to the caller",
            "on: cuda-load preloads libgdbcuda.so too, the last of all; guards are in it, and unwinders know it\n"
            "off: it does not, and backtrace(), profilers, core files lose the caller there", flag, True)  # fmt: skip
    Setting("cuda-log-limit", "how many of the last calls cuda-log keeps in memory",
            "A number, or unlimited. cuda-log start --to FILE keeps all in a file.", gdb.PARAM_UINTEGER,
            100_000)  # fmt: skip
    Setting("cuda-memory-stop", "whether a bad free or copy stops the program there",
            "on: while cuda-log records\noff: it is recorded only (cuda-memory problems)", flag, False)  # fmt: skip
    Setting("cuda-notice", "whether a hook library that nobody named is told of when it is loaded",
            "on: in one line, once; any object but the vendor's that defines API functions or dlsym\n"
            "off: not at all; it is the hook layer all the same", flag, True)  # fmt: skip
    Setting("cuda-recursion-limit", "how deep a hook function may be nested in itself before the program stops",
            "A number; 0: nothing is counted, and costs nothing.", gdb.PARAM_ZUINTEGER, 0)  # fmt: skip
    Setting("cuda-stop-info", "whether a stop in an API function shows the decoded call",
            "on: in two lines, behind what gdb says\noff: only cuda-call does", flag, True)  # fmt: skip
    Setting("cuda-style", "whether the output of cuda- commands has colour",
            "auto: on a terminal, but for 'set style enabled off' and NO_COLOR in gdb's environment\n"
            "on, off: whatever those say", enum, "auto", ["auto", "on", "off"])  # fmt: skip
    Setting("cuda-version", "the CUDA version whose functions and types decode calls",
            "auto: that of the libraries that are loaded\n12.9 and so on: that one", enum, "auto",
            ["auto", *versions.stored_versions("cuda")])  # fmt: skip


def value(name: str) -> Any:
    return gdb.parameter(name)


def colour() -> bool:
    """Colour only for a person: a terminal, no machine interface, style enabled, no NO_COLOR."""
    chosen = value("cuda-style")
    if chosen != "auto":
        return bool(chosen == "on")
    return (
        bool(gdb.parameter("style enabled"))
        and not os.environ.get("NO_COLOR")
        and sys.__stdout__ is not None
        and os.isatty(1)
        and not console.is_machine_interface()
    )

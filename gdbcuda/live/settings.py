"""``set cuda-…`` and ``show cuda-…``. (gdb manual: "Parameters In Python".)

The names keep their hyphen: cuda-gdb owns the prefixes ``cuda``, ``set cuda`` and ``info cuda``.
"""

from __future__ import annotations

import os
import re
import sys
from typing import Any, Callable

import gdb

from gdbcuda.live import target

SETTINGS: dict[str, Setting] = {}
ON_CHANGE: dict[str, Callable[[], None]] = {}


class Setting(gdb.Parameter):
    """One ``set cuda-NAME``. ``kind`` is a gdb.PARAM_ constant, ``choices`` for enumerations."""

    def __init__(self, name: str, doc: str, kind: int, initial: Any, choices: list[str] | None = None) -> None:
        self.__doc__, self.set_doc, self.show_doc = (
            doc,
            f"Set {doc[0].lower()}{doc[1:]}",
            f"Show {doc[0].lower()}{doc[1:]}",
        )
        self.name = name
        super().__init__(name, gdb.COMMAND_SUPPORT, kind, *([choices] if choices else []))
        self.value = self.initial = initial
        if gdb.parameter(name) != initial:  # Debian's cuda-gdb 11.8 takes ``value`` for an attribute like any other
            gdb.execute(f"set {name} {({True: 'on', False: 'off'}).get(initial, initial)}")
        SETTINGS[name] = self

    def get_set_string(self) -> str:
        target.forget()
        ON_CHANGE.get(self.name, target.forget)()
        return ""

    def get_show_string(self, value: str) -> str:
        return f"{self.name} is {value}."


def register() -> None:
    from gdbcuda import api

    Setting(
        "cuda-version",
        "The CUDA version whose API table decodes calls: auto takes what is loaded.",
        gdb.PARAM_ENUM,
        "auto",
        ["auto", *api.CUDA_VERSIONS],
    )
    Setting(
        "cuda-style",
        "Colour in the output of cuda- commands: auto is for a terminal with 'style enabled'.",
        gdb.PARAM_ENUM,
        "auto",
        ["auto", "on", "off"],
    )
    Setting(
        "cuda-guard",
        "Whether cuda-break's filters are compiled into the process, where that is safe, so that they cost no stop.",
        gdb.PARAM_ENUM,
        "auto",
        ["auto", "on", "off"],
    )
    Setting(
        "cuda-answer-by",
        "How cuda-dlsym answer exchanges an answer: auto writes registers where gdb can, else memory alone.",
        gdb.PARAM_ENUM,
        "auto",
        ["auto", "registers", "memory"],
    )
    Setting("cuda-backtrace", "Whether bt names the layer of each frame.", gdb.PARAM_BOOLEAN, True)
    Setting("cuda-log-limit", "How many of the last calls cuda-log keeps in memory.", gdb.PARAM_UINTEGER, 100_000)
    Setting("cuda-memory-stop", "Whether a bad free or copy stops the program there, while cuda-log records.",
            gdb.PARAM_BOOLEAN, False)  # fmt: skip
    Setting("cuda-notice", "Whether a hook library that cuda-load did not name is told of when it is loaded.",
            gdb.PARAM_BOOLEAN, True)  # fmt: skip
    Setting(
        "cuda-recursion-limit",
        "How deep a hook function may be nested in itself before the program stops; 0: not counted, no cost.",
        gdb.PARAM_ZUINTEGER,
        0,
    )
    Setting("cuda-stop-info", "Whether a stop in an API function shows the decoded call.", gdb.PARAM_BOOLEAN, True)


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
        and not is_machine_interface()
    )


def is_machine_interface() -> bool:
    """gdb's own command line (this is the debugger's process, always local) asks for MI or DAP."""
    try:
        with open("/proc/self/cmdline", "rb") as file:
            words = file.read().split(b"\0")
    except OSError:
        return False
    return any(re.match(rb"--?i(nterp\w*)?(=|$)", word) for word in words)

"""Written programs, compiled against the stand-in and run, with the hook library and without."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import re
import signal
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from gdbcuda.api.table import Table
from gdbcuda.contract.c_programs.declaring import by_dlsym, declarations
from gdbcuda.contract.c_programs.showing_program import PRELOAD, ShowingProgram, compiled
from gdbcuda.contract.endings import signal_name
from gdbcuda.contract.patience import USUAL, Patience
from gdbcuda.data_classes import dataclass, field

PLACE = re.compile(r"^([ \t]*)/\* ([A-Z]+) \*/\n", re.MULTILINE)
DECLARATIONS = "DECLARATIONS"
UNWANTED = ("LD_", "GDBCUDA_", "CUDA_")
MOST_OUTPUT = 1 << 20
LATE = -1000  # the exit status of a program that was ended because its time was over

NOT_ENDING = "does not end"


class Ran(NamedTuple):
    """``status`` as subprocess has it: a signal is negative, `LATE` for a program that did not end in time."""

    status: int
    output: str
    errors: str

    @property
    def is_late(self) -> bool:
        return self.status == LATE

    @property
    def ending(self) -> str:
        if self.is_late:
            return NOT_ENDING
        if self.status < 0:
            return f"ends with {signal_name(-self.status)}"
        return f"ends with status {self.status}"


def written(table: Table, template: str, places: Mapping[str, str], is_by_dlsym: bool = False) -> str:
    """The template with its places filled: a line ``/* NAME */`` each, and what it uses of the API declared.
    ``is_by_dlsym``: the program asks for each function by name, as one does that loads libcuda by itself."""
    text = PLACE.sub(lambda found: indented(places.get(found[2], found[0]), found[1], found[2]), template)
    declared = declarations(table, text) + (by_dlsym(table, text) if is_by_dlsym else "")
    return text.replace(f"/* {DECLARATIONS} */", declared)


def indented(text: str, spaces: str, place: str) -> str:
    if place == DECLARATIONS:
        return f"/* {DECLARATIONS} */\n"
    return "".join(f"{spaces}{line}\n" if line else "\n" for line in text.splitlines())


@dataclass
class Workshop:
    """Where programs are built and run. ``hook`` is the library, which ``variable`` names, ``settings`` its
    environment, ``libraries`` the LD_LIBRARY_PATH of what runs; ``shared``: where others find programs, too."""

    folder: Path
    standin: Path
    hook: str
    libraries: str
    settings: Mapping[str, str] = field(default_factory=dict)
    patience: Patience = field(default_factory=Patience)
    variable: str = PRELOAD
    shared: Path | None = None

    def built(self, text: str) -> str:
        return self.compiled(ShowingProgram(text, ""))

    def compiled(self, shown: ShowingProgram) -> str:
        """The program; one that was built before is not built again."""
        key = "\0".join([shown.program, *shown.flags, str(shown.has_library), str(self.standin)])
        folder = self.folder if shown.soname or not self.shared else self.shared  # beside the SONAME that it asks for
        program = folder.resolve() / hashlib.sha1(key.encode()).hexdigest()[:16]
        with open(program.with_suffix(".lock"), "w") as lock:  # another process may be at it (--jobs)
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not program.is_file():
                program.with_suffix(".c").write_text(shown.program)
                compiled(shown, program, str(self.standin))
        return str(program)

    def environment(self, with_hook: bool, more: Mapping[str, str]) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith(UNWANTED)}
        kept["LD_LIBRARY_PATH"] = self.libraries
        if with_hook:
            kept.update({self.variable: self.hook, **self.settings})
        return {**kept, **more}

    def run(
        self, words: Sequence[str], with_hook: bool = True, more: Mapping[str, str] | None = None,
        patience: float = USUAL,
    ) -> Ran:  # fmt: skip
        """Its whole process group is ended with it. ``more`` of the environment."""
        child = subprocess.Popen(words, env=self.environment(with_hook, more or {}), stdin=subprocess.DEVNULL,
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)  # fmt: skip
        try:
            output, errors = child.communicate(timeout=self.patience.seconds(patience))
            status = child.returncode
        except subprocess.TimeoutExpired:
            end_group(child.pid)
            output, errors = child.communicate()
            status = LATE
            self.patience.hung += 1
        finally:
            end_group(child.pid)
        return Ran(status, decoded(output), decoded(errors))

    def showing(
        self, text: str, symbol: str, arguments: Sequence[str] = (), more: Mapping[str, str] | None = None
    ) -> ShowingProgram:
        """For a finding about the hook library, which is named to them."""
        return ShowingProgram(text, symbol, tuple(arguments), self.variables(more or {}), (self.hook,))

    def variables(self, more: Mapping[str, str]) -> tuple[str, ...]:
        return tuple(f"{name}={value}" for name, value in {**self.settings, **more}.items())

    def killed(self, words: Sequence[str], ready: str, seconds: float) -> None:
        """Started, and killed so long after it has said the ``ready`` word."""
        child = subprocess.Popen(words, env=self.environment(True, {}), stdin=subprocess.DEVNULL,
                                 stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True)  # fmt: skip
        with child:
            alarm = threading.Timer(self.patience.seconds(), end_group, [child.pid])
            alarm.start()
            for line in child.stdout or ():
                if line.decode(errors="replace").strip() == ready:
                    time.sleep(seconds)
                    break
            alarm.cancel()
            end_group(child.pid)


def end_group(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)


def decoded(output: bytes) -> str:
    return output[:MOST_OUTPUT].decode(errors="replace")

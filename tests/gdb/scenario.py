"""A real gdb as a subprocess: a scenario is a list of commands, a test reads what a user would see."""

from __future__ import annotations

import functools
import os
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest
from forking_gdb import ForkingGdb, is_played_as_typed

from gdbcuda.files.places import server_of

ROOT = Path(__file__).resolve().parents[2]
GDB = os.environ.get("GDBCUDA_GDB", "gdb")
GDBSERVER = server_of(GDB)
SERVED = str(Path(__file__).parent / "served.py")
KEPT_SYMBOLS = str(Path(__file__).parent / "kept_symbols.py")
NO_DEBUG_FILES = ["-iex", "set debug-file-directory"]
EXTENSION = ["-x", str(ROOT / "gdbcuda.py")]
ONE_THREAD = ["-iex", "maint set worker-threads 0"]  # others are not in the copy that a fork makes
OF_PROGRAM = ("GDBCUDA_MEMORY_LIMIT", "LD_BIND_NOW", "LD_LIBRARY_PATH", "REGION_")  # of the environment, gdb reads none
SECONDS = 120


@functools.cache
def skip_if_stacks_are_unreadable(text: str) -> None:
    """Of a session in which all was right, but for the guards that were expected."""
    if "a thread's stack cannot be read" in text and "unknown type [0x13] section `.relr.dyn'" in text:
        pytest.skip("nothing was wrong, but without guards: this gdb is too old to read stacks in this machine's libc")


def skip_if_places_are_asked() -> None:
    """Of a session without a prompt in which all was right, but for the guards that were expected: gdb before 13 tells
    where breakpoints are by a command alone, which no event may execute."""
    if is_before_13():
        pytest.skip("nothing was wrong, but before gdb 13 a guard that has to wait waits for a prompt")


def skip_if_syscall_is_not_watched() -> None:
    if is_cuda_gdb():
        pytest.skip("cuda-gdb hangs where the driver starts with a breakpoint on libc's syscall: not watched there")


@functools.cache
def is_before_13() -> bool:
    asked = [GDB, "-nx", "-batch", "-ex", "python print('lists', hasattr(gdb, 'BreakpointLocation'))"]
    return "lists False" in subprocess.run(asked, capture_output=True, text=True, check=True).stdout


@functools.cache
def version() -> str:
    return subprocess.run([GDB, "--version"], capture_output=True, text=True, check=True).stdout


def is_cuda_gdb() -> bool:
    return "cuda-gdb" in version() or "CUDA Debugger" in version()


def is_cuda_gdb_11_8() -> bool:
    return "\n11.8 release" in version()


@dataclass
class Scenario:
    """Runs gdb with the extension; ``place`` is "local" or "gdbserver" (the hook preloaded by its wrapper, and
    what is ``beside`` it). ``variables``, as "NAME=VALUE", are the program's alone.

    ``in_full``: with what users have and most tests need not wait for: a gdbserver behind a pipe, the debug info of
    this machine's C library, where it is installed, and the check of the hook library, and in a gdb of its own. They
    take most of a scenario's time. ``checks``: with that check alone."""

    shim: Path
    place: str = "local"
    in_full: bool = False
    checks: bool = False
    beside: str = ""
    variables: tuple[str, ...] = ()

    @property
    def hook(self) -> Path:
        return self.shim / "libgdbcuda-hook.so"

    def sample(self, name: str) -> Path:
        return self.shim / "sample" / name

    def run(
        self,
        program: str | Path | None,
        *commands: str,
        hook: str | Path | None = "default",
        environment: dict[str, str] | None = None,
        arguments: tuple[str, ...] = (),
    ) -> str:
        """All that gdb and the program printed. The word RUN among the commands starts the program, here or there."""
        hook = self.hook if hook == "default" else hook
        path = self.sample(program) if isinstance(program, str) else program
        words = [self.load(hook)] if hook else []
        if self.variables:  # a server gets them by its own wrapper
            words.append(f"set exec-wrapper env {' '.join(self.variables)}")
        words += [self.start(path, hook, arguments) if c == "RUN" else c for c in commands]
        more = environment or {}
        is_copied = not self.in_full and all(name.startswith(OF_PROGRAM) for name in more)
        forking = forking_gdb(self.shim) if is_copied else None
        if forking and forking.environment == self.environment() and is_played_as_typed(words):
            return checked(forking.play(words, path, arguments, more))
        line = [GDB, "-nx", "-q", "-batch", *([] if self.in_full else NO_DEBUG_FILES), *EXTENSION]
        for word in words:
            line += ["-ex", word]
        line += ["--args", str(path), *arguments] if path else []
        return execute(line, self.environment() | more)

    def load(self, hook: str | Path) -> str:
        return f"cuda-load {hook}{'' if self.in_full or self.checks else ' --unchecked'}"

    def start(self, program: Path | None, hook: str | Path | None, arguments: tuple[str, ...]) -> str:
        if self.place == "local":
            return "run"
        preloaded = ":".join(str(one) for one in (hook, self.beside) if one)
        variables = [*([f"LD_PRELOAD={preloaded}"] if preloaded else []), *self.variables]
        wrapper = ["--wrapper", "env", *variables, "--"] if variables else []
        server = [GDBSERVER, "--once", *wrapper, "-", str(program), *arguments]
        return f"python __import__('runpy').run_path({SERVED!r})['connect']({server}, {self.in_full})"

    def environment(self) -> dict[str, str]:
        return environment(self.shim)


def environment(shim: Path) -> dict[str, str]:
    changing = ("LD_", "GDBCUDA_", "PYTHON", "PYTEST_", "DEBUGINFOD_")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(changing)}
    return kept | {"LD_LIBRARY_PATH": str(shim / "standin"), "LC_ALL": "C.UTF-8", "COLUMNS": "200"}


@functools.cache
def forking_gdb(shim: Path) -> ForkingGdb | None:
    """None in cuda-gdb, which has threads of its own."""
    keep = f"python __import__('runpy').run_path({KEPT_SYMBOLS!r})['keep']({read_by_many(shim)})"
    line = [GDB, "-nx", "-q", "-batch", *NO_DEBUG_FILES, *ONE_THREAD, "-ex", keep, *EXTENSION]
    return None if is_cuda_gdb() else ForkingGdb(line, environment(shim), SECONDS, Scenario(shim).hook)


def read_by_many(shim: Path) -> list[str]:
    """Files whose symbols gdb reads in many scenarios, as the loader calls them, which is how gdb knows them. Not libc
    before gdb 13, which says of it wherever it reads it that it does not know all of it: tests look for that."""
    programs = [str(shim / "sample" / name) for name in ("test_alloc", "runtime_alloc", "nvml_info")]
    told = subprocess.run(["ldd", *programs], env=environment(shim), capture_output=True, text=True, check=True).stdout
    loaded = sorted({*re.findall(r"^\t(?:\S+ => )?(/.+) \(0x", told, re.MULTILINE)})
    return [programs[0], str(shim / "libgdbcuda-hook.so"),
            *(one for one in loaded if Path(one).is_relative_to(shim) or not is_before_13())]  # fmt: skip


def execute(line: list[str], environment: dict[str, str]) -> str:
    done = subprocess.run(
        line,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=SECONDS,
        check=False,
    )
    return checked(done.stdout.decode(errors="replace"))


def checked(text: str) -> str:
    """What gdb has printed, in which no fault of ours is to be seen."""
    assert "Traceback (most recent call last)" not in text, text
    assert "Python Exception" not in text, text
    assert "fault of gdbcuda" not in text, text
    assert not re.search(r"^gdbcuda: \S+ failed: ", text, re.MULTILINE), text
    return text

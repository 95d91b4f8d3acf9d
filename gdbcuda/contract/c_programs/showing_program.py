"""A C program that shows what is broken: how it is compiled and run, and stopped in gdb."""

from __future__ import annotations

import os
import shlex
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Callable, NamedTuple

from gdbcuda.errors import UserError
from gdbcuda.text.printable import visible

FLAGS = ("-std=gnu11", "-Wall", "-Wextra", "-D_GNU_SOURCE", "-g", "-O0")
LIBRARIES = ("-lcuda", "-lnvidia-ml", "-ldl", "-lpthread")
NEEDED = ("-Wl,--no-as-needed",)  # what no symbol asks for
LIBRARY, COPY = "-library.so", "copy-of-"
PRELOAD = "LD_PRELOAD"
CASE = "case"  # what the user is told to call it
NEXT = "next"  # what a program is told that comes after one that was killed
MOMENTS = "03 05 08 12 17 23 30"  # at which it is killed: hundredths of a second
UNSTEPPED = "-"  # in the place of the library's path: gdb takes the program's traps for its own
OF_CHILDREN = ("set detach-on-fork off", "set schedule-multiple on")


class HookSurroundings(NamedTuple):
    """Of a hook library under test: ``standin`` is the folder that programs are linked against, ``libraries`` the
    LD_LIBRARY_PATH that they run with, "" for none; ``settings`` of the environment, NAME=VALUE each; ``is_real``: over
    the driver of this machine; ``variable`` names the hook library to who loads it."""

    hook: str
    standin: str
    libraries: str
    settings: tuple[str, ...] = ()
    is_real: bool = False
    variable: str = PRELOAD

    @property
    def path(self) -> str:
        """As it is typed."""
        return f"LD_LIBRARY_PATH={shlex.quote(self.libraries)}" if self.libraries else ""


Shown = Callable[[str, HookSurroundings], str]  # as `ShowingProgram.shown`


class ShowingProgram(NamedTuple):
    """``program`` is C, ``flags`` what gcc is given beside the usual. ``preload`` are the libraries that are preloaded,
    or named in another variable; none where the program or its arguments see to that. ``symbol`` is the API function in
    which a breakpoint stops. ``has_library``: the same text with -DLIBRARY is a library that the program is linked
    against. ``soname`` is of the hook library, where the program is linked against that: the loader finds it by that
    name beside the program. ``following`` are the arguments with which the program shows what one leaves behind that
    is killed. ``is_in_children``: processes that it forks make the calls. ``is_bound``: ``symbol`` is not called, the
    loader binds it. ``stops`` are commands of gdb in the place of a breakpoint in ``symbol``. ``in_gdb`` are
    other arguments, where the program steps through the library."""

    program: str
    symbol: str
    arguments: tuple[str, ...] = ()
    environment: tuple[str, ...] = ()
    preload: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()
    has_library: bool = False
    soname: str = ""
    following: tuple[str, ...] = ()
    is_in_children: bool = False
    is_bound: bool = False
    stops: tuple[str, ...] = ()
    in_gdb: tuple[str, ...] = ()

    def shown(self, title: str, around: HookSurroundings) -> str:
        """With the lines in front that a person types."""
        lines = [title, "", *(f"    {line}" for line in self.typed(around)), "",
                 "A session of gdb that stops in it:", "", f"    {self.session(around)}",
                 *self.where_it_hangs()]  # fmt: skip
        return "/* " + "\n".join(f"   {line}".rstrip() for line in lines).lstrip() + " */\n" + self.program

    def where_it_hangs(self) -> Iterator[str]:
        """Of one that shows by itself, and not in gdb, what is broken."""
        if self.in_gdb:
            yield from ("", "While it hangs, who has the lock, and where they all are:", "",
                        f"    gdbcuda gdb -p $(pgrep -n -x {CASE}) -ex cuda-locks -ex 'thread apply all backtrace'")

    def typed(self, around: HookSurroundings) -> Iterator[str]:
        """To make it, and to run it."""
        for path in self.preload:
            if os.path.basename(path).startswith(COPY):
                yield f"cp {self.preload[-1]} {os.path.basename(path)}"
        if self.soname:
            yield shlex.join(["ln", "-sf", around.hook, self.soname])
        yield from (shlex.join(words) for words, _ in gcc_lines(self, Path(CASE), around.standin))
        preload = f"{around.variable}={shlex.quote(' '.join(map(nearby, self.preload)))}" if self.preload else ""
        settings = [around.path, *map(quoted, self.environment), preload]
        yield from self.played(" ".join(filter(None, [*settings, f"./{CASE}", *self.arguments])))

    def played(self, line: str) -> Iterator[str]:
        if not self.following:
            yield line
            return
        yield f"for i in {MOMENTS}; do timeout -s KILL 0.$i env {line}"
        yield f"timeout -s KILL 5 env {line} {' '.join(self.following)} || break; done"  # it may have blocked SIGTERM

    def session(self, around: HookSurroundings) -> str:
        loads = [f"cuda-load {nearby(path)}" for path in self.preload]
        if around.variable != PRELOAD:
            loads += [f"cuda-env {around.variable}={path}" for path in self.preload]
        if self.is_bound:
            stops = ["break main", "run", f"cuda-route {self.symbol}"]
        else:
            here = self.stops or (f"cuda-break {self.symbol}",)
            stops = [*(OF_CHILDREN if self.is_in_children else ()), *here, "run"]
        commands = [*loads, *stops]
        given = " ".join(f"-ex {shlex.quote(command)}" for command in commands)
        settings = [around.path, *map(quoted, self.environment)]
        words = [f"gdbcuda gdb {given} --args ./{CASE}", *(self.in_gdb or self.arguments), *self.following]
        return " ".join(filter(None, [*settings, *words]))


def nearby(path: str) -> str:
    """The second file of a hook library is made where the program is."""
    name = os.path.basename(path)
    return f"./{name}" if name.startswith(COPY) else path


def quoted(setting: str) -> str:
    name, _, value = setting.partition("=")
    return f"{name}={shlex.quote(value)}"


def gcc_lines(shown: ShowingProgram, program: Path, standin: str) -> Iterator[tuple[list[str], str]]:
    """What is typed for each file that is made, and the file; the program last."""
    library = f"{program}{LIBRARY}"
    if shown.has_library:
        yield gcc(program, library, standin, ("-shared", "-fPIC", "-DLIBRARY")), library
    path = f"-Wl,-rpath,{program.parent.resolve()}" if program.is_absolute() else "-Wl,-rpath,$ORIGIN"
    path += ",--enable-new-dtags"  # RUNPATH, which counts for what the program itself opens
    flags = shown.flags
    if shown.has_library:
        flags = (*NEEDED, str(Path(library)) if program.is_absolute() else f"./{library}")
    is_beside = shown.has_library or bool(shown.soname)
    yield gcc(program, str(program), standin, (*flags, *([path] if is_beside else []))), str(program)


def gcc(program: Path, made: str, standin: str, flags: Sequence[str]) -> list[str]:
    return ["gcc", *FLAGS, "-o", made, f"{program}.c", f"-L{standin}", *flags, *LIBRARIES]


class NoCompiler(UserError):
    """None of the programs of a group can be made."""


def compiled(shown: ShowingProgram, program: Path, standin: str) -> None:
    """Beside its source; `UserError` where gcc fails."""
    for words, _ in gcc_lines(shown, program, standin):
        try:
            done = subprocess.run(words, capture_output=True, text=True, errors="replace", check=False)
        except FileNotFoundError:
            raise NoCompiler(f"no {words[0]} on this machine (Debian: apt-get install gcc libc6-dev)") from None
        if done.returncode:
            raise UserError(f"gcc has failed: {visible(complaint(done.stderr))} ({program}.c)")


def complaint(errors: str) -> str:
    """What it fails of: the linker warns first of all that it does not find, and collect2 comes last."""
    lines = errors.strip().splitlines() or ["it says nothing"]
    grave = [line for line in lines if "warning: " not in line]
    return (grave or lines)[0]

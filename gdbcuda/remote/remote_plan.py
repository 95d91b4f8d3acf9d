"""What is asked for, and the answer: a line for the server, commands for gdb, notes for the person."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator
from typing import Any, NamedTuple

from gdbcuda.data_classes import dataclass, field
from gdbcuda.errors import UserError
from gdbcuda.files.preloadable import require_preloadable
from gdbcuda.files.source_places import common
from gdbcuda.remote import substitute_path
from gdbcuda.remote.way import Way
from gdbcuda.text.printable import visible

NO_PRELOAD = (
    "the process runs already, so nothing can be preloaded into it: the hook is there only if LD_PRELOAD named it at "
    "its start (cuda-check tells)"
)


@dataclass(frozen=True)
class RemoteRequest:
    """``hook`` and ``program`` are files here (the program may be there alone); ``…_there`` their names on the other
    machine, by default the same, or what the source maps make of them. ``multi``: gdb starts the program itself."""

    way: Way = field(default_factory=Way)
    hook: str = ""
    program: str = ""
    arguments: tuple[str, ...] = ()
    hook_there: str = ""
    program_there: str = ""
    attach: int = 0
    multi: bool = False
    sysroot: str = ""
    gdbserver: str = "gdbserver"  # its name or path there
    environment: tuple[str, ...] = ()  # NAME=VALUE, for the program alone
    maps: tuple[substitute_path.Map, ...] = ()


class RemotePlan(NamedTuple):
    """``server`` is "" where gdb's own ``target`` command starts it; then ``probe`` tells in a shell whether it can.
    ``guesses`` are those of the notes that say where a file is taken to be there."""

    place: str
    server: str
    commands: list[str]
    notes: list[str]
    probe: str = ""
    guesses: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        return {key: value for key, value in self._asdict().items() if key != "guesses"}

    def text(self, start: str = "") -> str:
        """``start``: what starts gdb, where it is not there yet."""
        first = [f"On {self.place}:", f"  {self.server}", ""] if self.server else []
        title = f"Here, in gdb ({start}):" if start else "Here, in gdb:"
        notes = [f"Note: {note}" for note in self.notes]
        return "\n".join(map(visible, [*first, title, *(f"  {one}" for one in self.commands), *notes]))


def plan(request: RemoteRequest) -> RemotePlan:
    """UserError for what cannot be: no program, a path that LD_PRELOAD cannot name."""
    require_meaning(request)
    found = substitute_path.of_files(filter(os.path.isfile, [request.hook, request.program]), request.maps)
    hook = request.hook_there or substitute_path.there(request.hook, found.maps)
    program = request.program_there or substitute_path.there(request.program, found.maps)
    if hook:
        require_preloadable(hook)
    words = server_words(request, hook, program)
    line = request.way.line(words)
    piped = request.way.is_piped
    commands = [*before(request, found.maps), *connecting(request, line, program), *behind(request, hook)]
    if any("\n" in one for one in commands):
        raise UserError("no name and no argument may hold the end of a line: gdb's commands end there")
    probe = request.way.line([request.gdbserver, "--version"]) if piped else ""
    guesses = () if request.attach else tuple(guessed(request, hook, program))
    said = [*notes(request, found), *guesses]
    return RemotePlan(request.way.place, "" if piped else line, commands, said, probe, guesses)


def require_meaning(request: RemoteRequest) -> None:
    if request.attach and (request.arguments or request.multi):
        raise UserError("--attach takes a process that runs: no arguments for it, and no --multi")
    if not (request.program or request.program_there or request.attach):
        raise UserError("no program: name one with --program, or a process with --attach PID")
    for one in request.environment:
        if not re.match(r"[A-Za-z_]\w*=", one):
            raise UserError(f"--env is NAME=VALUE, not {one!r}")


def server_words(request: RemoteRequest, hook: str, program: str) -> list[str]:
    """gdbserver's command line. (gdb manual, "Using the gdbserver Program".)

    It puts the wrapper's words into a shell's line as they are, so these are quoted here; the program's it quotes."""
    comm = request.way.listens
    if request.multi:
        return [request.gdbserver, "--multi", comm]
    if request.attach:
        return [request.gdbserver, "--once", "--attach", comm, str(request.attach)]
    preloaded = ":".join([*sanitizers(request.hook), hook])
    variables = [*request.environment, *([f"LD_PRELOAD={preloaded}"] if hook else [])]
    wrapper = ["--wrapper", "env", *map(shlex.quote, variables), "--"] if variables else []
    return [request.gdbserver, "--once", *wrapper, comm, program, *request.arguments]


def sanitizers(hook: str) -> list[str]:
    """Runtimes of -fsanitize that a file here is built with: they want to be preloaded in front of it."""
    from gdbcuda import elf  # --help does not wait for them
    from gdbcuda.api.vendor import is_sanitizer

    try:
        return list(filter(is_sanitizer, elf.open(hook).needed)) if hook else []
    except UserError:
        return []


def before(request: RemoteRequest, maps: list[substitute_path.Map]) -> list[str]:
    """What gdb must know before it connects: with the connection it reads the objects."""
    local = [f"file {shlex.quote(request.program)}"] if os.path.isfile(request.program) else []
    rules = [f"set substitute-path {shlex.quote(far)} {shlex.quote(near)}" for far, near in maps]
    load = [f"cuda-load {shlex.quote(request.hook)}"] if request.hook and not request.multi else []
    return [*local, f"set sysroot {request.sysroot or 'target:'}", *rules, *load]


def connecting(request: RemoteRequest, line: str, program: str) -> list[str]:
    kind = "extended-remote" if request.multi else "remote"
    found = [f"target {kind} {f'| {line}' if request.way.is_piped else request.way.address}"]
    return [*found, f"set remote exec-file {program}"] if request.multi else found


def behind(request: RemoteRequest, hook: str) -> list[str]:
    """On to main, for before it nothing is loaded. With ``--multi`` cuda-load only once gdb is connected: then it
    knows who starts the program."""
    main = ["tbreak main"] if has_main(request.program) else []
    if request.attach:
        return ["cuda-check"]
    if not request.multi:
        return [*main, *(["continue", "cuda-check"] if main else [])]
    there = f" --there {shlex.quote(hook)}" if hook != request.hook else ""
    load = [f"cuda-load {shlex.quote(request.hook)}{there}"] if request.hook else []
    arguments = [f"set args {shlex.join(request.arguments)}"] if request.arguments else []
    variables = [f"set environment {one}" for one in request.environment]
    return [*load, *variables, *arguments, *main, *(["run", "cuda-check"] if main else [])]


def has_main(path: str) -> bool:
    """Does gdb find it by the file here?"""
    from gdbcuda import elf  # what names no file here does not wait for it

    try:
        return any(symbol.name == "main" for symbol in elf.open(path).symtab)
    except UserError:
        return False


def notes(request: RemoteRequest, found: substitute_path.Sources) -> list[str]:
    said = [NO_PRELOAD] if request.attach else []
    said += [missing(found.missing)] if found.missing else []
    if request.hook and not os.path.isfile(request.hook):
        said.append(f"{request.hook} is not here: cuda-load wants a copy of it")
    return said


def missing(paths: list[str]) -> str:
    more = f" and {len(paths) - 1} more sources" if paths[1:] else ""
    return f"not here: {paths[0]}{more}; say where:  --path-map {common(paths)}=DIR"


def guessed(request: RemoteRequest, hook: str, program: str) -> Iterator[str]:
    """Where the files there are taken to be, by the source maps alone."""
    for option, local, far, said in (
        ("--hook-there", request.hook, hook, request.hook_there),
        ("--program-there", request.program, program, request.program_there),
    ):
        if local and local != far and not said:
            yield f"{os.path.basename(local)} is taken to be {far} there: {option} says else"

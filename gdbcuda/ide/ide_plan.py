"""What is asked for, and the answer: files with their text, and steps for the person."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from typing import Callable, NamedTuple

from gdbcuda.data_classes import dataclass
from gdbcuda.errors import UserError
from gdbcuda.files import places
from gdbcuda.packages import load_all
from gdbcuda.remote import remote_plan as servers
from gdbcuda.remote.way import Way

NEXT = "\n   "  # the next line of a step


@dataclass(frozen=True)
class IdeRequest:
    """Paths are absolute and of this machine, but for ``…_there``: "" where they follow from the maps. ``remote`` is
    "HOST:PORT" of a gdbserver, "" to start the program here. ``maps`` are (directory as compiled, directory here)."""

    program: str
    hook: str
    folder: str
    source: str
    gdb: str = "gdb"
    wrapper: str = "gdbcuda-gdb"
    remote: str = ""
    gdbserver: str = "gdbserver"
    hook_there: str = ""
    program_there: str = ""
    maps: tuple[tuple[str, str], ...] = ()

    @property
    def name(self) -> str:
        return self.name_for("")

    def name_for(self, debugger: str) -> str:
        """Configurations of several extensions stand in one launch.json, each by its name."""
        words = ["gdbcuda:", os.path.basename(self.program), *([f"on {self.host}"] if self.remote else [])]
        return " ".join([*words, *([f"({debugger})"] if debugger else [])])

    @property
    def host(self) -> str:
        return self.remote.rpartition(":")[0]

    @property
    def port(self) -> str:
        return self.remote.rpartition(":")[2]

    @property
    def init_file(self) -> str:
        """The debugger's own in the project's folder."""
        return f".{places.init_name(self.gdb)}"

    def allowing(self) -> str:
        """What lets gdb read it; the person's own file is the person's."""
        line = f"add-auto-load-safe-path {os.path.join(self.folder, self.init_file)}"
        home = places.gdbinit(places.init_name(self.gdb))
        return f"once, so that gdb reads the project's {self.init_file}, in {home}:  {line}"

    def within(self, path: str, variable: str) -> str:
        """``path`` by the IDE's own name for the project's folder, so that the file can be shared."""
        inside = os.path.relpath(path, self.folder)
        return path if inside.startswith("..") else f"{variable}/{inside}"

    def commands(self, variable: str = "") -> list[str]:
        """What gdb is to be told, in this order, before the program runs."""
        hook = self.within(self.hook, variable) if variable else self.hook
        maps = [f"set substitute-path {quoted(far)} {quoted(here)}" for far, here in self.maps]
        return [f"source {self.source}", *maps, f"cuda-load {quoted(hook, self.hook)}"]

    def server_steps(self) -> list[str]:
        """What starts the program on the other machine, the library preloaded into it alone."""
        if not self.remote:
            return []
        made = servers.plan(servers.RemoteRequest(
            way=Way(host=self.host, port=int(self.port)), hook=self.hook, program=self.program,
            hook_there=self.hook_there, program_there=self.program_there, gdbserver=self.gdbserver, maps=self.maps,
        ))  # fmt: skip
        return [NEXT.join([f"on {made.place}:  {made.server}", *(f"({guess})" for guess in made.guesses)])]


def quoted(shown: str, path: str = "") -> str:
    """A word of a gdb command; ``path`` is what the IDE will make of ``shown``."""
    path = path or shown
    if re.fullmatch(r"[\w@%+=:,./-]+", path):
        return shown
    if "'" not in path:
        return f"'{shown}'"
    return f'"{shown}"' if not re.search(r'["\\]', path) else re.sub(r"([^\w@%+=:,./-])", r"\\\1", path)


class ProjectFile(NamedTuple):
    """``path`` is relative to the project's folder; ``text`` is what is new, alone; ``merged(OLD, PATH)`` the whole
    file with it, OLD being "" where there is none yet. UserError for an OLD that cannot take it."""

    path: str
    text: str
    merged: Callable[[str, str], str]


class IdePlan(NamedTuple):
    files: tuple[ProjectFile, ...]
    steps: tuple[str, ...]


Maker = Callable[[IdeRequest], IdePlan]


class Ide(NamedTuple):
    title: str
    plan: Maker


IDES: dict[str, Ide] = {}


def ide(name: str, title: str) -> Callable[[Maker], Maker]:
    def register(maker: Maker) -> Maker:
        IDES[name] = Ide(title, maker)
        return maker

    return register


def names() -> Iterator[str]:
    """Of every IDE that has a file in ``ides/``."""
    from gdbcuda.ide import ides

    load_all(ides)
    return iter(sorted(IDES))


def plan_for(name: str, request: IdeRequest) -> IdePlan:
    known = list(names())
    if name not in known:
        raise UserError(f"no IDE {name!r}; there are {', '.join(known)}")
    return IDES[name].plan(request)

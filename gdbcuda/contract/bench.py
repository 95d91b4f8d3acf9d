"""What a case works with: programs with the hook library in them, the API table, its own dice."""

from __future__ import annotations

import math
import os
import random
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cached_property
from pathlib import Path

from gdbcuda import api, elf
from gdbcuda.contract import named_files
from gdbcuda.contract.books.memory_functions import MemoryFunctions
from gdbcuda.contract.c_programs.building import Workshop
from gdbcuda.contract.c_programs.showing_program import PRELOAD, HookSurroundings, Shown
from gdbcuda.contract.endings import Ended, Hung
from gdbcuda.contract.named_files import NamedFiles
from gdbcuda.contract.patience import USUAL, Patience
from gdbcuda.contract.program import LoadedPlace, Program, Start
from gdbcuda.contract.targets import DLSYM, LIBRARY_OF, LINKED, HookTarget, by_name, code, hooked, patched, places
from gdbcuda.data_classes import dataclass, field

LIBRARY_PATH = "LD_LIBRARY_PATH"


@dataclass
class Bench:
    """``build`` is where the stand-in and the programs are; ``settings`` of the hook library's environment; ``limit``
    of memory that it holds with them, in bytes, 0 for none; ``remarks``: what could not be tried, and why. Programs
    are kept for the next case, which gets a copy of one; to tell what fails from what only a copy fails in, which has
    one thread alone, ``is_apart`` gives it a program of its own. ``shared``: where several benches have C programs."""

    hook: str
    build: str
    folder: str
    settings: tuple[tuple[str, str], ...] = ()
    seed: int = 1
    limit: int = 0
    remarks: list[str] = field(default_factory=list)
    programs: dict[Start, Program] = field(default_factory=dict)
    last: Shown | None = None  # the call that was made last
    ended: int = 0  # programs that did not end by themselves
    is_apart: bool = False
    is_real: bool = False  # over the driver of this machine
    variable: str = PRELOAD  # of the environment, which names the hook library to who loads it
    library_path: str = ""  # beside the user's own
    shared: Path | None = None
    patience: Patience = field(default_factory=Patience)
    so_far: str = ""  # of how many cases, for who waits
    until: float = math.inf  # of the monotonic clock: a case that is long ends then

    def __post_init__(self) -> None:
        self.files = NamedFiles([value for _, value in self.settings])

    @cached_property
    def table(self) -> api.Table:
        return api.load(*self.program(self.bare).versions.split())

    @property
    def usual(self) -> Start:
        """The hook library in a program that is linked against the driver."""
        return Start(self.hook, settings=self.settings, variable=self.variable)

    @property
    def bare(self) -> Start:
        """Without the hook library: what the driver says."""
        return Start(None)

    @cached_property
    def targets(self) -> list[HookTarget]:
        """All functions of the hook library that a program comes to."""
        wanted = [one for function in self.table.functions.values() for one in by_name(function.symbol, function.api)]
        found = self.found(wanted)
        return hooked(found, self.hook, self.patched(found))

    def patched(self, found: Mapping[HookTarget, LoadedPlace]) -> set[HookTarget]:
        """Functions of the driver's whose code is another one with the hook library."""
        bare = self.program(self.bare)
        own = {target: place for target, place in found.items() if place.path != self.hook}
        return patched(code(bare, places(bare, own)), code(self.program(self.usual), own)) if own else set()

    @cached_property
    def first_targets(self) -> dict[str, HookTarget]:
        """By symbol."""
        return {one.symbol: one for one in reversed(self.targets)}

    def found(self, targets: list[HookTarget]) -> dict[HookTarget, LoadedPlace]:
        """Without those that end a program which asks for them; `Ended` where it does not even begin."""
        self.program(self.usual)
        try:
            with self.copy() as program:
                return places(program, targets)
        except Ended:
            middle = len(targets) // 2
            return {**self.found(targets[:middle]), **self.found(targets[middle:])} if middle else {}

    def note(self, remark: str) -> None:
        """That something is not tried."""
        if remark not in self.remarks:
            self.remarks.append(remark)

    @cached_property
    def exported(self) -> frozenset[str]:
        """By the hook library."""
        return frozenset(elf.open(self.hook).exported)

    @cached_property
    def memory_functions(self) -> MemoryFunctions:
        """In the way in which most programs come to them."""
        by_way = {way: frozenset(one.symbol for one in self.targets if one.way == way) for way in (LINKED, DLSYM)}
        return MemoryFunctions(self.table, by_way[LINKED] or by_way[DLSYM], not by_way[LINKED] and bool(by_way[DLSYM]))

    @cached_property
    def workshop(self) -> Workshop:
        return Workshop(Path(self.folder), self.standin, self.hook, self.libraries, dict(self.settings),
                        self.patience, self.variable, self.shared)  # fmt: skip

    @property
    def standin(self) -> Path:
        return Path(self.build) / "standin"

    @cached_property
    def libraries(self) -> str:
        """Where the loader looks. The program of the cases is linked against libcudart, which a machine with a driver
        need not have: the stand-in's is there then, and nobody calls it."""
        if not self.is_real:
            return self.surroundings.libraries
        runtime = os.path.join(self.folder, LIBRARY_OF["runtime"])
        os.symlink(self.standin / LIBRARY_OF["runtime"], runtime)
        return ":".join(filter(None, [self.surroundings.libraries, self.folder]))

    @cached_property
    def surroundings(self) -> HookSurroundings:
        """The stand-in comes first, then what the user has, where libraries may be that the hook library needs."""
        paths = ["" if self.is_real else str(self.standin), os.environ.get(LIBRARY_PATH, ""), self.library_path]
        settings = tuple(f"{name}={value}" for name, value in self.settings)
        return HookSurroundings(self.hook, str(self.standin), ":".join(filter(None, paths)), settings, self.is_real,
                                self.variable)  # fmt: skip

    @property
    def templates(self) -> Path:
        """The C programs of the groups that compile some."""
        return Path(self.build).parent / "contract"

    def called(self, target: HookTarget) -> str:
        """What a case about it is called: with the way where the first one leads elsewhere."""
        return target.symbol if self.first_targets[target.symbol] == target else f"{target.symbol} by {target.way}"

    def address(self, program: Program, target: HookTarget) -> int:
        """The same in each copy of a program."""
        if target not in program.kept:
            program.kept[target] = program.find(target.command)[0].address
        return program.kept[target]

    def driver_place(self, symbol: str) -> LoadedPlace:
        """Of the function in the driver, as it is in a program without the hook library."""
        return self.program(self.bare).find(by_name(symbol, self.table.functions[symbol].api)[1].command)[0]

    def dice(self, name: str) -> random.Random:
        """The same ones for a case of that name in each run with this seed."""
        return random.Random(f"{self.seed} {name}")

    def renew(self) -> None:
        """For the next case: a file that the environment names is as it was, and programs that have it begin again."""
        if not self.files.is_changed:
            return
        self.close()
        self.files.restore()
        with suppress(Ended):  # then the case says so
            self.program(self.usual)
        self.files.begins()

    def be_worker(self, number: int) -> None:
        """In a forked process: the programs of the first are not its own, and a region is not to be shared."""
        self.programs = {}
        self.settings = tuple((name, named_files.own(value, number)) for name, value in self.settings)
        self.workshop.settings = dict(self.settings)
        self.files = NamedFiles([value for _, value in self.settings])

    def begin(self) -> None:
        """`Ended` where a program does not begin with the hook library; how long it takes without one is known then."""
        self.program(self.bare)
        self.program(self.usual)

    def program(self, start: Start) -> Program:
        """`Ended` where it does not even begin."""
        known = self.programs.get(start)
        if known is None or known.process.poll() is not None:
            known = self.programs[start] = self.begun(start)
        return known

    def begun(self, start: Start) -> Program:
        began = time.monotonic()
        program = Program(start, self.build, tempfile.mkdtemp(dir=self.folder), self.libraries)
        if start.is_ready:
            program.prepare()
        if start.hook is None:
            self.patience.alone = time.monotonic() - began
        return program

    @contextmanager
    def copy(self, patience: float = USUAL) -> Iterator[Program]:
        """Of a program that has called nothing yet, or what makes it ready, for one case; ``patience`` in seconds."""
        try:
            with self.alone(self.usual) if self.is_apart else self.program(self.usual).forked() as one:
                one.patience = self.patience.seconds(patience)
                yield one
        except Ended as how:
            self.ended += 1
            self.patience.hung += isinstance(how, Hung)
            raise

    @contextmanager
    def alone(self, start: Start) -> Iterator[Program]:
        program = self.begun(start)
        try:
            program.tell("watch")
            program.seen()
            yield program
        finally:
            program.stop()

    def close(self) -> None:
        for program in self.programs.values():
            program.stop()
        self.programs.clear()

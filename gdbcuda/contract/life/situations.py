"""The situations: a program each, run with the hook library and without; both have to say and do the same."""

from __future__ import annotations

import os
import re
import shutil
import signal
import time
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from gdbcuda import elf
from gdbcuda.contract.books.concurrent.asking_programs import last
from gdbcuda.contract.books.concurrent.at_once import slowest
from gdbcuda.contract.books.memory_functions import MemoryFunctions
from gdbcuda.contract.c_programs import stepping
from gdbcuda.contract.c_programs.building import NOT_ENDING, Ran, Workshop, written
from gdbcuda.contract.c_programs.showing_program import COPY, NEEDED, NEXT, PRELOAD, UNSTEPPED, ShowingProgram
from gdbcuda.contract.life import work
from gdbcuda.contract.program import SEEN
from gdbcuda.contract.registry import Broken
from gdbcuda.data_classes import dataclass

PRELOADED, OPENED, LINKED, TWICE = "preloaded", "opened", "linked", "preloaded twice"
STATES, FEW_STATES = 4, 2  # that a stepped program is in, over a real driver before it has a context
NOT_OPENED, AT_REFUSAL = 3, ("break not_opened",)  # the status of a program that could not open it; where it says why
FIRST_PLACE, BLOCKS_SIGNALS = "0", "it blocks all signals, past the C library"
AFTER_KILL, LATE = "after kill -9 of a process the next one", "late"
LONGEST = 60.0  # seconds, of a program without the hook library
SHORTEST, TIMES_ALONE = 4.0, 5.0  # seconds, and how many times as long it may take with it
FIRST, WORKS = "cuInit", ("work()", "refused()")  # what each program calls, and functions of `work` in it
DLSYM, ASKS_FOR_NEXT, OF_ANY = "dlsym", "dlsym(RTLD_NEXT", "dlsym --from any"  # which a hook library is, too
API_NAME = re.compile(r"\b(?:cu|nvml)[A-Z]\w*")
DRIVER = "libcuda.so.1"  # opened instead of the hook library where that is left out
LAZY, NOW, GLOBAL, DEEPBIND, NODELETE = (  # of dlopen
    os.RTLD_LAZY, os.RTLD_NOW, os.RTLD_GLOBAL, getattr(os, "RTLD_DEEPBIND", 8), os.RTLD_NODELETE)  # fmt: skip


class Situation(NamedTuple):
    """``template`` is the program, ``when`` how a sentence about it goes on. ``loaded`` says how the hook library comes
    into the process; ``arguments`` follow its path where it is opened; ``environment``: variables beside the hook
    library's; ``is_stepped``: through the hook library's instructions."""

    name: str
    template: str
    when: str
    loaded: str = PRELOADED
    arguments: tuple[str, ...] = ()
    has_library: bool = False
    environment: tuple[str, ...] = ()
    is_stepped: bool = False


def opened() -> Iterator[Situation]:
    for name, flags in (("lazy", LAZY), ("now", NOW), ("global", NOW | GLOBAL), ("nodelete", NOW | NODELETE),
                        ("deepbind", NOW | DEEPBIND), ("global-deepbind", LAZY | GLOBAL | DEEPBIND)):  # fmt: skip
        when = f"that opens it with dlopen ({name.replace('-', ', ')})"
        yield Situation(f"dlopen-{name}", "opened.c", when, OPENED, (str(flags),))


PLAIN = Situation("preload", "plain.c", "that it is preloaded into")
SITUATIONS = (
    PLAIN,
    Situation("linked", "plain.c", "that is linked against it", LINKED),
    Situation("loaded-twice", "plain.c", "that it is preloaded into twice, from two files", TWICE),
    *opened(),
    Situation("opened-again", "opened.c", "that opens it with dlopen, closes it and opens it again", OPENED,
              (str(NOW), "2")),
    Situation("closed", "closed.c", "that calls the driver after dlclose of it", OPENED),
    Situation("before-init", "before_init.c", "that makes calls before cuInit"),
    Situation("constructor", "constructor.c", "whose library makes calls in a constructor", has_library=True),
    Situation("destructor", "destructor.c", "whose library makes calls in a destructor", has_library=True),
    Situation("stacked", "stacked.c", "whose library behind it wraps the same functions", has_library=True),
    Situation("opens-own", "opens_own.c", "that opens libraries of its own", has_library=True),
    Situation("first-calls", "first_calls.c", "whose threads make its first calls at the same instant",
              is_stepped=True),
    Situation("pairs", "pairs.c", "that begins NVML and a context twice and ends them twice"),
    Situation("left-alone", "left_alone.c", "that looks at its signals, descriptors, locale and folder"),
    Situation("signal", "signal.c", "whose signal handler asks how much memory is free", is_stepped=True),
    Situation("waits", "waits.c", "whose other thread waits in the driver", environment=(f"{SEEN}={os.devnull}",)),
    Situation("called-back", "called_back.c", "whose functions are called by the driver"),
    Situation("waited-signal", "waited_signal.c", "that waits for signals which it has blocked"),
    Situation("captured", "captured.c", "that captures a stream and launches the graph"),
    Situation("fork", "fork.c", "whose child makes calls after fork", is_stepped=True),
    Situation("fork-exec", "fork_exec.c", "whose child makes calls after fork and exec"),
    Situation("fork-exit", "fork_exit.c", "whose child ends with exit"),
    Situation("thread-ends", "thread_ends.c", "whose threads end or are cancelled in calls", is_stepped=True),
    Situation("small-stack", "small_stack.c", "whose thread has a small stack"),
)  # fmt: skip


@dataclass
class Stage:
    """Where situations are played; ``templates`` has the C programs, ``note`` takes what could not be tried."""

    workshop: Workshop
    functions: MemoryFunctions
    templates: Path
    note: Callable[[str], None]
    is_real: bool = False  # over the driver of this machine

    def text(self, template: str) -> str:
        found = (self.templates / template).read_text()
        return written(self.functions.table, found, self.places, self.functions.is_by_dlsym)

    @cached_property
    def places(self) -> dict[str, str]:
        return {"WORK": work.text(self.functions), stepping.PLACE: stepping.text(self.templates.parent)}

    def broken(self, situation: Situation) -> Iterator[Broken]:
        """Nothing where the program does the same with the hook library as without."""
        began = time.monotonic()
        without = self.run(self.plan(situation, False), LONGEST)
        if without.status:
            self.note(f"life/{situation.name} is not tried: its program {without.ending} without the hook library too")
            return
        patience = SHORTEST + TIMES_ALONE * (time.monotonic() - began)
        plan = self.plan(situation, True)
        ran = self.run(plan, patience)
        if situation.is_stepped and ran.status == -signal.SIGTRAP:
            self.note(f"life/{situation.name} at each instruction is not tried: {BLOCKS_SIGNALS}")
            plan = plan._replace(arguments=(UNSTEPPED, *plan.arguments[1:]))
            ran = self.run(plan, patience)
        if situation.loaded == OPENED and ran.status == NOT_OPENED:
            plan = plan._replace(stops=AT_REFUSAL)
        found = [*differences(ran, without)]
        own = [one for one in found if situation is PLAIN or one not in self.of_plain]
        for one in (own or found)[:1]:
            program = f"a program {self.when(situation)}" if own else f"as in {PLAIN.name}, a program"
            yield Broken(f"{program} {one.what}", one.example, plan.shown)

    def when(self, situation: Situation) -> str:
        variable = self.workshop.variable
        return f"to which {variable} names it" if situation is PLAIN and variable != PRELOAD else situation.when

    @cached_property
    def of_plain(self) -> frozenset[Different]:
        """What is different whatever the situation. It would hide what comes of the situation itself."""
        with_it, without = (self.run(self.plan(PLAIN, is_with), LONGEST) for is_with in (True, False))
        return frozenset(differences(with_it, without))

    def plan(self, situation: Situation, with_hook: bool) -> ShowingProgram:
        hook, arguments = self.workshop.hook, situation.arguments
        if situation.loaded == OPENED:
            arguments = (hook if with_hook else DRIVER, *arguments)
        preload = {PRELOADED: (hook,), TWICE: (self.copy(), hook)}.get(situation.loaded, ()) if with_hook else ()
        is_linked = situation.loaded == LINKED and with_hook
        flags, soname = (self.linking, self.named()) if is_linked else ((), "")
        own = self.workshop.variables({}) if with_hook else ()
        if situation.is_stepped:
            flags, arguments = (*flags, *stepping.FLAGS), (hook, str(FEW_STATES if self.is_real else STATES))
        return ShowingProgram(
            self.text(situation.template), self.stops_in(situation.template), arguments,
            (*own, *situation.environment), preload, flags, situation.has_library, soname,
            in_gdb=(UNSTEPPED, *arguments[1:], FIRST_PLACE) if situation.is_stepped else (),
        )  # fmt: skip

    def stops_in(self, template: str) -> str:
        """A function that the program calls: one that its template names and the hook library has, else its work."""
        text = (self.templates / template).read_text()
        if ASKS_FOR_NEXT in text and DLSYM in elf.open(self.workshop.hook).exported:
            return OF_ANY
        named = [one for one in API_NAME.findall(text) if one in self.functions.hooked]
        works = any(one in text for one in WORKS)
        return next(iter(named), work.used(self.functions)[0][0].symbol if works else FIRST)

    @property
    def linking(self) -> tuple[str, ...]:
        """The linker looks where the loader will, and leaves to the loader what nobody defines."""
        return (*NEEDED, f"-Wl,-rpath-link,{self.workshop.libraries}", "-Wl,--allow-shlib-undefined",
                self.workshop.hook)  # fmt: skip

    def run(self, plan: ShowingProgram, patience: float) -> Ran:
        more = dict(one.split("=", 1) for one in plan.environment)
        if plan.preload:
            more[self.workshop.variable] = " ".join(plan.preload)
        return self.workshop.run([self.workshop.compiled(plan), *plan.arguments], with_hook=False, more=more,
                                 patience=patience)  # fmt: skip

    def copy(self) -> str:
        """Another file with the same in it."""
        copied = self.workshop.folder / f"{COPY}{os.path.basename(self.workshop.hook)}"
        if not copied.exists():
            shutil.copy(self.workshop.hook, copied)
        return str(copied)

    def named(self) -> str:
        """Its SONAME, which its file may well not be called by: there a program that is linked against it finds it."""
        soname = elf.open(self.workshop.hook).soname
        if soname and os.path.basename(soname) == soname and not (link := self.workshop.folder / soname).is_symlink():
            link.symlink_to(os.path.abspath(self.workshop.hook))
        return soname

    def killed(self, moments: Iterable[float]) -> Iterator[Broken]:
        """kill -9 at each instruction that others can see, then at those moments, in seconds after the start; the next
        process has a second."""
        text = self.text("killed.c")
        path = self.workshop.built(text)
        began = time.monotonic()
        self.workshop.run([path, NEXT], with_hook=False)
        patience = max(slowest(), TIMES_ALONE * (time.monotonic() - began))  # a real driver needs a while by itself
        if found := list(self.killed_in_calls(max(patience, SHORTEST))):
            yield from found
            return
        for moment in list(moments):
            self.workshop.killed([path], "works", moment)
            ran = self.workshop.run([path, NEXT], patience=patience)
            if ran.status:
                showing = self.workshop.showing(text, "cuInit")._replace(following=(NEXT,))
                yield Broken(f"{AFTER_KILL} {ran.ending}", last(ran), showing.shown)
                return

    def killed_in_calls(self, patience: float) -> Iterator[Broken]:
        words = (self.workshop.hook, f"{patience:g}")
        plan = self.workshop.showing(self.text("killed_at.c"), "cuInit", words)
        plan = plan._replace(flags=stepping.FLAGS, in_gdb=(UNSTEPPED, *words[1:], FIRST_PLACE))
        ran = self.workshop.run([self.workshop.compiled(plan), *words], patience=LONGEST)
        if ran.status == -signal.SIGTRAP:
            self.note(f"life/killed at each instruction is not tried: {BLOCKS_SIGNALS}")
        elif ran.status:
            ending = NOT_ENDING if LATE in ran.output else ran.ending
            yield Broken(f"{AFTER_KILL} {ending}", last(ran), plan.shown)


class Different(NamedTuple):
    """What a person would say of it, and an example."""

    what: str
    example: str


def differences(with_it: Ran, without: Ran) -> Iterator[Different]:
    """The end of the program alone, else each line that it says otherwise."""
    if with_it.status and with_it != without:
        said = with_it.output.splitlines()[-1:]
        example = " ".join(filter(None, [f"after {said[0]}" if said else "", last(with_it)]))
        yield Different(with_it.ending, example)
        return
    lines = list(zip(with_it.output.splitlines(), without.output.splitlines()))
    others = [(ours, theirs) for ours, theirs in lines if ours != theirs]
    if not others and len(with_it.output) != len(without.output):
        others = [(f"{len(with_it.output)} bytes", f"{len(without.output)} bytes")]
    for ours, theirs in others:
        is_same_name = ours.split()[:1] == theirs.split()[:1]
        what = f"gets another result from {ours.split()[0]}" if is_same_name else "has another line in its output"
        yield Different(what, f"{ours or 'an empty line'}, without the hook library {theirs}")

"""A session, chosen by the dice: how gdb meets the program, what it watches, what is done at stops, how it ends."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

import watches
from building import Build
from kinds import Registry, turn
from watches import Watch

starts, deeds, ends = Registry("start"), Registry("deed"), Registry("end")
PER_BUILD = 4
TRACED = "traced", "traced_later"
STOPS = 60, 60, 60, 400  # then every breakpoint is deleted: a stop costs milliseconds


@dataclass
class Session:
    start: str
    end: str
    deed: str
    watches: list[Watch] = field(default_factory=list)
    before: bool = True  # watches are made before the program runs
    aslr: bool = False
    in_place: bool = False  # gdb steps over breakpoints where they are, the other threads standing still
    local_files: bool = False  # gdb reads what is here, not what the server sends
    stops: int = STOPS[0]
    last: int = 0  # the stop at which it ends, if not by itself
    at: dict[str, list[dict[str, list[str]]]] = field(default_factory=dict)  # what is done at which stop
    pokes: list[float] = field(default_factory=list)  # seconds from the start on, at which gdb is made to stop
    kill_after: float = 0

    @property
    def exact(self) -> bool:
        """Every call that matches must be seen."""
        return self.end in ("exits", "reruns") and self.deed != "toggles"

    @property
    def stays_in_library(self) -> bool:
        """Behind gdb there is code of ours in our own library: calls may be on their way through it for as long as they
        like. (`cuda-fail --after-call` returns into it, and what waits for calls that fail calls the function.)"""
        words = ("--after-call", "--on error")
        return self.is_in_process or any(word in one.cuda for one in self.watches for word in words)

    @property
    def is_in_process(self) -> bool:
        """The recorder's library has to be there from the start on."""
        return any(one.kind == "ring" for one in self.watches)

    @property
    def is_stepped(self) -> bool:
        return self.deed == "steps" or self.start == "terminal"

    def kinds(self) -> set[str]:
        return {self.start, self.end, self.deed, *(one.kind for one in self.watches)}

    def __str__(self) -> str:
        way = ", in place" if self.in_place else ""
        return f"{self.start}, {' '.join(one.kind for one in self.watches)}, {self.deed}, {self.end}{way}"


def choose(build: Build, number: int) -> Session:
    """The ``number``-th session of a build; kinds take turns over all cases."""
    case = build.number * PER_BUILD + number
    if build.children:
        return under_matches(build)
    dice = random.Random(f"session {build.seed} {case}")
    pick = [turn(registry.kinds, build.seed, case, 1)[0] for registry in (starts, deeds, ends)]
    session = Session(pick[0].name, pick[2].name, pick[1].name)
    session.before, session.aslr, session.stops = dice.random() < 0.5, dice.random() < 0.5, dice.choice(STOPS)
    session.local_files = dice.random() < 0.7
    session.in_place = steps_in_place(build, case)
    wanted = turn(watches.watches.kinds, build.seed, case, 2)
    wanted += dice.choices(watches.watches.kinds, k=dice.choice([0, 0, 1, 3]))
    for kind in wanted:
        watch = watches.make(kind, build, dice)
        if watch is not None and not (watch.on == "log" and any(one.on == "log" for one in session.watches)):
            session.watches.append(watch)
    if not session.watches:
        session.watches.append(watches.make(next(iter(watches.watches.kinds)), build, dice))
    session.before = session.before or session.is_in_process
    for kind in pick:
        if kind.name in (session.start, session.deed, session.end):  # at a terminal programs end by themselves
            kind.make(session, build, dice)
    if session.start in TRACED:
        session.end, session.deed, session.at, session.watches = "exits", "nothing", {}, []
        session.last, session.pokes, session.kill_after = 0, [], 0
    if session.start == "terminal":
        stopping = [one for one in session.watches if one.on == "enter" and not one.auto]
        session.watches = (stopping or session.watches)[:2]
    return session


def steps_in_place(build: Build, case: int) -> bool:
    """Always where a child shares the memory: gdb puts back in the child what its copies of instructions have
    overwritten, and so under a thread of the parent that is in one. (infrun.c: displaced_step_restore_all_in_ptid.)"""
    shares = any(part.name == "clones" for part in build.parts)
    return shares or random.Random(f"in place {build.seed} {case}").random() < 0.25


def under_matches(build: Build) -> Session:
    """The program's own threads match at two functions until the last child has ended."""
    found = [watches.sized(watches.Terms(name), watches.SECOND, exact=False) for name in build.names[:2]]
    special = watches.SPECIALS[2]
    found.append(Watch("", f"cuda-break {special} if hStream == 1", f"break {special} if $rdi == 1", [special],
                       never=True))  # fmt: skip
    start = "local" if build.number % 2 == 0 else "server"
    return Session(start, "exits", "nothing", found, stops=1 << 30)


def do(session: Session, stop: int, cuda: list[str], plain: list[str] | None = None) -> None:
    session.at.setdefault(str(stop), []).append({"cuda": cuda, "plain": cuda if plain is None else plain})


# ---- how it starts ----


@starts("local", "gdb runs the program")
def local(session: Session, build: Build, dice: random.Random) -> None:
    pass


@starts("server", "a gdbserver over a pipe runs it")
def server(session: Session, build: Build, dice: random.Random) -> None:
    pass


@starts("multi", "extended-remote: gdb runs it on the server")
def multi(session: Session, build: Build, dice: random.Random) -> None:
    pass


@starts("attach", "gdb attaches to it while its threads call")
def attach(session: Session, build: Build, dice: random.Random) -> None:
    session.before = False
    attached(session, build)


@starts("attach_server", "a gdbserver attaches to it")
def attach_server(session: Session, build: Build, dice: random.Random) -> None:
    session.before = False
    attached(session, build)


def attached(session: Session, build: Build) -> None:
    """The recorder comes with a thread that calls. Until all is watched only workers do."""
    if not build.workers:
        always = next(kind for kind in watches.watches.kinds if kind.name == "always")
        watched = [one for one in session.watches if one.kind != "ring"]
        session.watches = watched or [watches.make(always, build, random.Random(build.seed))]
    for watch in session.watches:
        watch.exact = watch.exact and not build.workers and watch.thread is None


@starts("terminal", "at a terminal, typed, with commands that continue")
def terminal(session: Session, build: Build, dice: random.Random) -> None:
    session.end, session.deed, session.at = "exits", "nothing", {}


@starts("traced", "gdbcuda trace runs it, without a debugger")
@starts("traced_later", "gdbcuda trace -p records it for a moment, twice")
def without_debugger(session: Session, build: Build, dice: random.Random) -> None:
    """What asks for arguments that CUDA's function has not is called with CUDA's."""
    if any("stack" in shape.words for _, shape in build.functions):
        session.start = "local"


# ---- what is done at stops ----


@deeds("nothing", "only continue")
def nothing(session: Session, build: Build, dice: random.Random) -> None:
    pass


@deeds("steps", "step, next, stepi, finish, until at stops")
def steps(session: Session, build: Build, dice: random.Random) -> None:
    for stop in dice.sample(range(1, 20), 6):
        do(session, stop, dice.choices(["stepi", "nexti", "step", "next", "finish", "stepi 9", "until", "step 3"], k=2))


@deeds("looks", "every view of ours and of gdb's")
def looks(session: Session, build: Build, dice: random.Random) -> None:
    ours = ["cuda-call", "cuda-guards", "cuda-log", "cuda-check", "cuda-route", "cuda-dlsym", "cuda-memory",
            "cuda-load", "cuda-call --json"]  # fmt: skip
    gdbs = ["bt", "info breakpoints", "info threads", "thread apply all bt 3", "x/8i $pc", "info registers rip rsp",
            "info sharedlibrary", "up", "info symbol $pc", "disassemble"]  # fmt: skip
    for stop in dice.sample(range(1, 16), 5):
        plain = dice.choices(gdbs, k=2)
        do(session, stop, dice.choices(ours, k=2) + plain, plain)


@deeds("toggles", "breakpoints are disabled, enabled, deleted, changed and made; guards switched off and on")
def toggles(session: Session, build: Build, dice: random.Random) -> None:
    for stop in range(2, 40, 3):
        which = dice.randrange(len(session.watches))
        name, this = build.names[which], f"{{{which}}}"  # the driver puts the number there
        cuda, plain = dice.choice([
            *((word, word) for word in (f"disable {this}", f"delete {this}", f"condition {this}", f"ignore {this} 2")),
            ("enable", "enable"), ("disable", "disable"), ("set cuda-guard off", ""), ("set cuda-guard auto", ""),
            (f"cuda-break {name} --once", f"tbreak {name}"),
            (f"cuda-break {name} --from any if {watches.symbols()[name]} >= 2T", f"break {name} if $rsi >= {2 << 40}"),
        ])  # fmt: skip
        do(session, stop, [cuda], [plain] if plain else [])
    do(session, 41, ["enable"])


@deeds("logs", "the log is started and stopped again and again")
def logs(session: Session, build: Build, dice: random.Random) -> None:
    on, session.watches = False, [one for one in session.watches if one.on != "log"] or session.watches
    for stop in sorted(dice.sample(range(1, 40), 10)):
        names = dice.sample(build.names, 2)
        if on:
            do(session, stop, ["cuda-log stop"], [watches.UNSEEN_NO_MORE])
        else:
            do(session, stop, [f"cuda-log start {' '.join(names)}"], [watches.unseen(build, names)])
        on = not on


@deeds("pokes", "gdb is stopped at random times, in whatever the threads do")
def pokes(session: Session, build: Build, dice: random.Random) -> None:
    poke(session, dice, 12)


def poke(session: Session, dice: random.Random, times: int) -> None:
    session.pokes = sorted(dice.uniform(0, 0.6) for _ in range(times))


# ---- how it ends ----


@ends("exits", "the program ends by itself")
def exits(session: Session, build: Build, dice: random.Random) -> None:
    pass


@ends("quits", "gdb is left at a random stop: what it attached to goes on, what it has started ends")
@ends("kills", "kill at a random stop")
@ends("deletes", "every breakpoint is deleted and the log stopped at a random stop; then it goes on")
@ends("detaches", "gdb detaches at a random stop; the program goes on, and no byte of its code is another")
def at_any_stop(session: Session, build: Build, dice: random.Random) -> None:
    any_stop(session, dice)


@ends("reruns", "run, again, at a random stop")
def reruns(session: Session, build: Build, dice: random.Random) -> None:
    any_stop(session, dice)
    if session.start not in ("local", "multi"):
        session.start = dice.choice(["local", "multi"])


@ends("leaves", "cuda-log detach at a random stop: gdb goes, the recorder in the process stays")
def leaves(session: Session, build: Build, dice: random.Random) -> None:
    if {"seccomp_filter", "seccomp_strict"} & build.kinds():  # whom a recorder without gdb may end: manual, page 8
        session.end = "exits"
        return
    any_stop(session, dice)
    chosen = sorted(name for name in build.names[:4] if "stack" not in build.shape_words(name))
    session.watches = [one for one in session.watches if one.on != "log"] + [watches.kept(chosen)]
    session.before, session.deed = True, "nothing" if session.deed == "logs" else session.deed
    session.at = session.at if session.deed != "nothing" else {}
    if session.start not in ("local", "multi", "server"):
        session.start = dice.choice(["local", "multi", "server"])


@ends("killed", "somebody else kills the program, at a random time")
def killed(session: Session, build: Build, dice: random.Random) -> None:
    session.kill_after = dice.uniform(0.01, 0.8)


def any_stop(session: Session, dice: random.Random) -> None:
    session.last = dice.choice([1, 2, 3, 5, 8, 13, 30])
    poke(session, dice, session.last)

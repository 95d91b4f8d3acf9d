"""What is watched in a session: breakpoints with conditions of every sort, and the log. Each knows what it must see."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from building import SPECIALS, Build, symbols
from kinds import Registry

CALLERS = ("alpha", "beta", "delta")
RARE, SECOND, FAILS, OFTEN = 1, 2, 3, 4  # classes of sizes: torture.h counts the calls of each
TERA = 1 << 40
FOLDER = "{folder}"  # in a command: the run's own
watches = Registry("watch")


@dataclass
class Watch:
    """``cuda`` are our commands, ``plain`` gdb's own for the same. The rest says which of the counted calls it must
    see; ``exact`` is False where their number is not known."""

    kind: str
    cuda: str
    plain: str
    functions: list[str]
    size_class: int = 0
    callers: tuple[str, ...] = ()
    thread: int | None = None
    counting: tuple[str, int] | None = None
    never: bool = False
    exact: bool = True
    on: str = "enter"
    auto: bool = False  # with commands that go on
    also: list[str] = field(default_factory=list)  # more of gdb's commands

    def plan(self, folder: Path) -> dict[str, Any]:
        return asdict(self) | {"cuda": self.cuda.replace(FOLDER, str(folder))}


@dataclass
class Terms:
    """A condition in our words and in gdb's, on the size of the call."""

    function: str
    ours: list[str] = field(default_factory=list)
    gdbs: list[str] = field(default_factory=list)

    def size(self, size_class: int) -> Terms:
        ours, gdbs = size_expressions(self.function)
        if size_class == OFTEN:
            return self.add(f"({ours} & 63) == 5", f"({gdbs} & 63) == 5")
        if size_class:
            low, high = size_class * TERA, (size_class + 1) * TERA
            self.add(f"{ours} >= {size_class}T && {ours} < {size_class + 1}T", f"{gdbs} >= {low} && {gdbs} < {high}")
        return self

    def add(self, ours: str, gdbs: str) -> Terms:
        self.ours.append(ours)
        self.gdbs.append(gdbs)
        return self

    def cuda(self, options: str = "") -> str:
        return f"cuda-break {self.function}{options}" + (" if " + " && ".join(self.ours) if self.ours else "")

    def plain(self) -> str:
        terms = [f"({one})" for one in self.gdbs]
        return f"break {self.function}" + (" if " + " && ".join(terms) if terms else "")


def size_expressions(function: str) -> tuple[str, str]:
    if function == SPECIALS[1]:
        return "pCopy->WidthInBytes", "*(unsigned long*)($rdi+112)"
    if function == SPECIALS[0]:
        return "flags", "(unsigned long)$rcx"
    return symbols()[function], "(unsigned long)$rsi"


def values(build: Build) -> dict[str, tuple[str, str]]:
    """For each function the size of the call at hand, as our user and as gdb's would ask."""
    found = {name: (f'$_cuda_arg("{symbols()[name]}")', "(unsigned long)$rsi") for name in build.names}
    found[SPECIALS[0]] = '$_cuda_arg("flags")', "(unsigned long)$rcx"
    found[SPECIALS[1]] = ("*(unsigned long*)($rdi+112)",) * 2
    found[SPECIALS[2]] = ("(unsigned long)$rdx",) * 2
    return found


def make(kind: Any, build: Build, dice: random.Random) -> Watch | None:
    """None where this program has nothing to watch so."""
    function = dice.choice(build.names)
    watch: Watch | None = kind.make(build, dice, function)
    if watch is not None:
        watch.kind = kind.name
        watch.exact = watch.exact and not any("loops" in build.shape_words(name) for name in watch.functions)
    return watch


def sized(terms: Terms, size_class: int, **more: Any) -> Watch:
    terms.size(size_class)
    return Watch("", terms.cuda(), terms.plain(), [terms.function], size_class, **more)


@watches("always", "every call")
def always(build: Build, dice: random.Random, function: str) -> Watch:
    return sized(Terms(function), 0)


@watches("never", "a condition that no call meets")
def never(build: Build, dice: random.Random, function: str) -> Watch:
    ours, gdbs = size_expressions(function)
    terms = Terms(function).add(f"{ours} >= 100T && {ours} < 101T", f"{gdbs} >= {100 * TERA} && {gdbs} < {101 * TERA}")
    return Watch("", terms.cuda(), terms.plain(), [function], never=True)


@watches("delay", "cuda-delay: calls that wait, which nobody sees")
def delay(build: Build, dice: random.Random, function: str) -> Watch:
    words = f"cuda-delay {function} {dice.choice(['1us', '200us', '3ms'])} --from any"
    terms = Terms(function).size(dice.choice([RARE, SECOND]))
    return faulty(function, f"{words} if {' && '.join(terms.ours)}")


@watches("fail", "cuda-fail: calls that fail, if a call met the condition")
def fail(build: Build, dice: random.Random, function: str) -> Watch:
    size = size_expressions(function)[0]
    words = f"cuda-fail {function} --from any with 2 {dice.choice(['', '--times 1', '--after-call'])}"
    return faulty(function, f"{words} if {size} >= 100T && {size} < 101T")


def faulty(function: str, cuda: str) -> Watch:
    """It stops for no call; the control has a breakpoint that does not either."""
    gdbs = size_expressions(function)[1]
    plain = f"break {function} if {gdbs} >= {100 * TERA} && {gdbs} < {101 * TERA}"
    return Watch("", cuda, plain, [function], never=True)


@watches("rarely", "a condition that few calls meet")
def rarely(build: Build, dice: random.Random, function: str) -> Watch:
    return sized(Terms(function), dice.choice([RARE, SECOND]))


@watches("often", "a condition that one of 64 calls meets")
def often(build: Build, dice: random.Random, function: str) -> Watch:
    return sized(Terms(function), OFTEN)


@watches("nth", "the n-th call that matches")
def nth(build: Build, dice: random.Random, function: str) -> Watch:
    return counted(build, dice, function, "nth", dice.randint(1, 6))


@watches("every", "each n-th call that matches")
def every(build: Build, dice: random.Random, function: str) -> Watch:
    return counted(build, dice, function, "every", dice.randint(2, 5))


@watches("after", "calls that match, after the n-th")
def after(build: Build, dice: random.Random, function: str) -> Watch:
    return counted(build, dice, function, "after", dice.randint(1, 8))


def counted(build: Build, dice: random.Random, function: str, word: str, number: int) -> Watch:
    """The control counts in a convenience variable of gdb's."""
    size_class, variable = dice.choice([RARE, SECOND, OFTEN]), f"$torture{dice.randint(1, 1 << 30)}"
    test = {"nth": f"++{variable} == {number}", "every": f"(++{variable} % {number}) == 0",
            "after": f"++{variable} > {number}"}[word]  # fmt: skip
    terms = Terms(function).size(size_class).add(f"{word} == {number}" if word == "nth" else f"{word} {number}", test)
    plain = f"python gdb.execute('set {variable} = 0'); gdb.execute({terms.plain()!r})"
    return Watch("", terms.cuda(), plain, [function], size_class, counting=(word, number),
                 exact="executes" not in build.words)  # fmt: skip


@watches("caller", "calls of one function of the program")
def caller(build: Build, dice: random.Random, function: str) -> Watch:
    who, size_class = dice.choice(CALLERS), dice.choice([RARE, SECOND, OFTEN])
    terms = Terms(function).size(size_class).add(f"caller in {who}", f'$_caller_is("{who}")')
    return Watch("", terms.cuda(), terms.plain(), [function], size_class, callers=(who,))


@watches("thread", "calls of one thread")
def thread(build: Build, dice: random.Random, function: str) -> Watch:
    number = dice.randint(1, build.workers + 1)
    terms = Terms(function).size(dice.choice([RARE, OFTEN])).add(f"thread == {number}", f"$_thread == {number}")
    size_class = OFTEN if "& 63" in terms.ours[0] else RARE
    return Watch("", terms.cuda(), terms.plain(), [function], size_class, thread=number,
                 exact="executes" not in build.words)  # gdb counts threads on, the program begins anew  # fmt: skip


@watches("return", "returns of calls that match")
def returns(build: Build, dice: random.Random, function: str) -> Watch:
    size_class = dice.choice([RARE, SECOND])
    terms = Terms(function).size(size_class)
    return Watch("", terms.cuda(" --on return"), terms.plain(), [function], size_class, on="return")


@watches("error", "calls that return an error, of all or of those that match")
def errors(build: Build, dice: random.Random, function: str) -> Watch | None:
    """(The function is called with the arguments of CUDA's.)"""
    terms = Terms(function)
    ours = terms.size(FAILS).cuda(" --on error") if dice.random() < 0.5 else f"cuda-break {function} --on error"
    if "stack" in build.shape_words(function):
        return None
    return Watch("", ours, Terms(function).size(FAILS).plain(), [function], FAILS, on="error")


@watches("count", "all calls are counted, those that match stop")
def count(build: Build, dice: random.Random, function: str) -> Watch:
    terms, size_class = Terms(function), dice.choice([RARE, SECOND])
    terms.size(size_class)
    return Watch("", terms.cuda(" --count"), terms.plain(), [function], size_class)


@watches("string", "a string behind a pointer")
def string(build: Build, dice: random.Random, function: str) -> Watch | None:
    if build.way == "late" or not {"strings", "seccomp_strict", "seccomp_filter"} & build.kinds():
        return None
    terms = Terms(SPECIALS[0])
    if dice.random() < 0.5:
        terms.add('symbol == "cuInit"', '$_streq((char*)$rdi, "cuInit")')
        return Watch("", terms.cuda(), terms.plain(), [SPECIALS[0]], 1)
    terms.add('symbol == "cuMem*"', '$_regex((char*)$rdi, "^cuMem")')
    return Watch("", terms.cuda(), terms.plain(), [SPECIALS[0]], 2)


@watches("pointer", "a member of a structure behind a pointer")
def pointer(build: Build, dice: random.Random, function: str) -> Watch | None:
    if build.way == "late" or not {"strings", "seccomp_strict", "seccomp_filter"} & build.kinds():
        return None
    return sized(Terms(SPECIALS[1]), dice.choice([RARE, SECOND]))


@watches("glob", "many functions at once")
def glob(build: Build, dice: random.Random, function: str) -> Watch:
    matching = [name for name in build.names if fnmatch(name, "cuMemAlloc*") and symbols()[name] == "bytesize"]
    terms = Terms("'cuMemAlloc*'")
    terms.add("bytesize >= 1T && bytesize < 2T", "")
    commands = [Terms(name).size(RARE).plain() for name in matching]
    plain = "python " + "; ".join(f"gdb.execute({one!r})" for one in commands)
    return Watch("", terms.cuda(), plain, matching, RARE)


@watches("callbacks", "the function that calls the program back")
def callbacks(build: Build, dice: random.Random, function: str) -> Watch | None:
    if not {"exceptions", "jumps", "coroutines"} & build.kinds():
        return None
    on = dice.choice(["", " --on return"])
    return Watch("", f"cuda-break {SPECIALS[2]}{on}", f"break {SPECIALS[2]}", [SPECIALS[2]],
                 on="return" if on else "enter", exact=not on)  # fmt: skip


@watches("go_on", "a breakpoint whose commands continue")
def go_on(build: Build, dice: random.Random, function: str) -> Watch:
    return sized(Terms(function), RARE, auto=True)


@watches("plain", "gdb's own breakpoint beside ours, on the same function")
def plain(build: Build, dice: random.Random, function: str) -> Watch:
    watch = sized(Terms(function), RARE)
    watch.also = [Terms(function).size(SECOND).plain(), f"tbreak {function}"]
    return watch


@watches("log", "the calls of some functions are recorded", "log")
def log(build: Build, dice: random.Random, function: str) -> Watch:
    chosen = sorted({function, *dice.sample(build.names, 2)})
    return Watch("", f"cuda-log start {' '.join(chosen)}", unseen(build, chosen), chosen, on="log")


@watches("ring", "the calls of some functions are recorded in the process", "log")
def ring(build: Build, dice: random.Random, function: str) -> Watch | None:
    """(gdb alone has nothing in the process.)"""
    chosen = sorted(name for name in {function, *dice.sample(build.names, 2)} if "stack" not in build.shape_words(name))
    return Watch("", f"cuda-log start --fast {' '.join(chosen)}", "", chosen, on="log") if chosen else None


def kept(functions: Sequence[str]) -> Watch:
    """A recorder that can stay where gdb goes; it keeps its calls in a folder of the run's."""
    return Watch("ring", f"cuda-log start --fast --keep {FOLDER} {' '.join(functions)}", "", list(functions), on="log")


def unseen(build: Build, functions: Sequence[str]) -> str:
    """gdb's own breakpoints where the log has some: like those they are in no list, and no command switches them.
    (gdb's Python makes none in an indirect function: "Breakpoint -1 is invalid".)"""
    names = [name for name in functions if "indirect" not in build.shape_words(name)]
    made = "; ".join(f"unseen.append(gdb.Breakpoint({name!r}, internal=True))" for name in names)
    return f"python unseen = []; {made}; [setattr(one, 'condition', '0') for one in unseen]" if names else ""


UNSEEN_NO_MORE = "python [one.delete() for one in globals().pop('unseen', [])]"

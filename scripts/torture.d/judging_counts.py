"""Hits, arguments and recorded calls, against the counts that the program itself has printed."""

from __future__ import annotations

import json
import re
from collections.abc import Collection
from dataclasses import replace
from functools import partial

import watches
from building import Build, symbols
from difference import Difference
from lines import AGAIN, REMOTE
from playing import Outcome
from sessions import Session
from watches import Watch

SIBLING, TERA = 1 << 50, 1 << 40
UNKNOWN = "is not known here"  # said where optimised code has moved a value: that is honest
NOT_RECORDED = re.compile(r"^Not recorded: .*: (.*)\.$", re.MULTILINE)
MISSING = re.compile(r"^Calls (?:are|may be) missing of functions .*: (.*)\.$", re.MULTILINE)
OF_VFORKS = 6 * 12  # calls of children that use the program's memory, and so its rings; the program does not count them
LOST = re.compile(r"^(\d+) calls? (?:was|were) (?:overwritten|made) ", re.MULTILINE)
OF_SANITIZER = -1  # as a watched thread's number: it makes no call
TIMERS = {"signals", "backtraces"}  # parts whose signals come at any instruction
BANNER = re.compile(r"^Breakpoint (\d+(?:, \d+)*)  \S", re.MULTILINE)
OF_ANOTHER = re.compile(r"^Breakpoint (\d+), of (\d+): ", re.MULTILINE)  # it stops for that one
INDIRECT = "indirect function (IFUNC)"  # that cuda-break cannot follow, and says so
TOO_OLD = "--fast needs a gdb that tells where breakpoints are"
BROUGHT_LATE = re.compile(  # at a breakpoint, or by a signal; before its library is loaded
    "the program has stopped before .*: nothing is recorded|nothing to record: no library that is loaded"
)


def counts(run: Outcome) -> dict[tuple[int, str, str, int], tuple[int, int]]:
    """(thread, function, caller, class) -> calls and the sum of their sizes, as the program has printed them."""
    found: dict[tuple[int, str, str, int], tuple[int, int]] = {}
    for line in run.out:
        if line.startswith("# count "):
            words = line.split()
            key = int(words[2]), words[3], words[4], int(words[5])
            before = found.get(key, (0, 0))
            found[key] = before[0] + int(words[6]), before[1] + int(words[7])
    return found


def wanted(watch: Watch, run: Outcome) -> tuple[int, int]:
    """How often it must be hit, and the sum of the sizes of the calls that match."""
    chosen = [
        value for (thread, function, caller, size_class), value in counts(run).items()
        if function in watch.functions and size_class == watch.size_class and not watch.never
        and (not watch.callers or caller in watch.callers)
        and (watch.thread is None or thread == watch.thread - 1)
    ]  # fmt: skip
    calls, total = sum(one[0] for one in chosen), sum(one[1] for one in chosen)
    if watch.counting:
        word, number = watch.counting
        calls = {"nth": int(calls >= number), "every": calls // number, "after": max(0, calls - number)}[word]
    return calls, total


def of_hits(build: Build, session: Session, run: Outcome, control: bool) -> list[Difference]:
    if not any(line == "# holding" for line in run.out):
        return []  # the program never said how many there were
    lines = {note["line"] for note in run.noted("deed")}
    run = last_run(run) if session.end == "reruns" else run
    numbers = {note["index"]: note["numbers"] for note in run.noted("watch")}
    whole = session.exact and not run.noted("enough") and not loses_breakpoints(build)
    lost = without_stop(build, run)
    found = []
    watched = map(partial(as_numbered, build), map(partial(without_indirect, build, run), session.watches))
    for index, watch in enumerate(watched):
        if watch.on == "log" or not numbers.get(index) or not build_counts(build, watch):
            continue
        later = made_later(run, numbers[index])
        if lines & {f"condition {number}" for number in numbers[index]} or (watch.auto and later):
            continue  # the user has taken its condition away; what is silent is counted by its number alone
        if watch.thread is not None and not is_numbered_as_made(run):
            continue
        values = [note["value"] for note in run.noted("size") if note["watch"] == index]
        hits = sum(note["watches"].count(index) for note in run.noted("stop"))
        if control:  # gdb's own breakpoints do not ask who calls
            hits -= sum(bool(value & SIBLING) for value in values)
        elif watch.on != "enter":
            hits = told(run, numbers[index])
        else:
            hits += told(run, later)
        more = told_again(build, session, run, index)
        judged = judge(watch, hits, values, wanted(watch, run), whole, control, lost, more)
        unread = [note["text"] for note in run.noted("unread") if note["watch"] == index and not control
                  and UNKNOWN not in note["text"]]  # fmt: skip
        judged += [Difference("arguments", f"{watch.cuda}: {text}") for text in unread[:1]]
        found += [replace(one, watch=index) for one in judged]
    return found


def told(run: Outcome, numbers: Collection[int]) -> int:
    return sum(int(number) in numbers for found in BANNER.findall(run.text) for number in found.split(", "))


def made_later(run: Outcome, numbers: Collection[int]) -> set[int]:
    """Those that stop for one of these, and that the command had not made: as the program runs, or runs again."""
    pairs = [(int(one), int(owner)) for one, owner in OF_ANOTHER.findall(run.text)]
    return {one for one, owner in pairs if owner in numbers and one not in numbers}


def without_indirect(build: Build, run: Outcome, watch: Watch) -> Watch:
    """Without those of a glob's functions that cuda-break has said it cannot follow."""
    said = "".join(line for line in run.text.splitlines() if line.startswith("  (not at ") and INDIRECT in line)
    left = [one for one in watch.functions if "indirect" in build.shape_words(one) and one in said]
    is_glob = len(watch.functions) > 1
    return replace(watch, functions=[one for one in watch.functions if one not in left]) if is_glob and left else watch


def as_numbered(build: Build, watch: Watch) -> Watch:
    """The thread sanitizer makes one of its own, in front of the program's."""
    if watch.thread is None or watch.thread == 1 or "thread" not in build.options:
        return watch
    return replace(watch, thread=watch.thread - 1 if watch.thread > 2 else OF_SANITIZER)


def is_numbered_as_made(run: Outcome) -> bool:
    """gdb's number of a thread is the program's and one more; a gdbserver tells of several new ones in any order."""
    return all(note["kernel"] == sorted(note["kernel"]) for note in run.noted("threads"))


def loses_breakpoints(build: Build) -> bool:
    """gdb takes its own and its user's out of the memory that a child shares, up to its next stop (manual: limits).
    How many calls come before that is a matter of how long each stop takes."""
    return any(part.name == "clones" for part in build.parts)


def without_stop(build: Build, run: Outcome) -> int:
    """Hits that gdb has counted, without a stop: gdb 13.1 does so alone, now and then, where another thread forks."""
    if not any(part.name == "forks" for part in build.parts):
        return 0
    return sum(note.get("without_stop", 0) for note in run.noted("hits"))


def told_again(build: Build, session: Session, run: Outcome, index: int) -> int:
    """Stops at a call that has stopped already: where a signal comes as gdb steps off its first instruction, and the
    handler stops too, gdb alone stops there once more as the handler is over (each time, 10.1 to 16.3). Through a
    gdbserver it makes some without that: in 13.1 `break` stops 603 times at 400 calls."""
    if not TIMERS & build.kinds():
        return 0
    which = "again" if session.start in REMOTE else "behind"
    return sum(note.get(which, []).count(index) for note in run.noted("stop"))


def last_run(run: Outcome) -> Outcome:
    """Where the program was run again, what came after that; its breakpoints were made before."""
    again = next((number for number, note in enumerate(run.notes) if note["what"] == "rerun"), -1)
    notes = run.noted("watch") + [note for note in run.notes[again + 1 :] if note["what"] != "watch"]
    return replace(run, notes=notes, text=run.text.rpartition(AGAIN)[2]) if again >= 0 else run


def build_counts(build: Build, watch: Watch) -> bool:
    return watch.thread is None or watch.thread <= build.workers + 1


def judge(
    watch: Watch, hits: int, values: list[int], want: tuple[int, int], whole: bool, control: bool, lost: int = 0,
    again: int = 0,
) -> list[Difference]:  # fmt: skip
    found = []
    said = watch.plain if control else watch.cuda
    calls, total = want
    if watch.exact and (hits - again > calls or (whole and hits < calls - lost)):
        found.append(Difference("hits", f"{said}: {hits} hits of {calls} calls"))
    bad = [value for value in values if not matches(watch, value) and not (control and value & SIBLING)]
    if bad:
        found.append(Difference("arguments", f"{said}: stopped with {bad[0]:#x}"))
    elif (
        watch.exact
        and whole
        and len(values) == hits == calls
        and not watch.counting
        and not found
        and not control
        and sum(values) != total
    ):
        found.append(Difference("arguments", f"{said}: sizes sum up to {sum(values)}, not {total}"))
    return found


def matches(watch: Watch, value: int) -> bool:
    """The size of a call at which it has stopped."""
    if watch.functions[0] in (watches.SPECIALS[0], watches.SPECIALS[2]):
        return True
    if watch.size_class == watches.OFTEN:
        return value & 63 == 5 and not value & SIBLING
    if watch.size_class:
        return value // TERA == watch.size_class
    return not value & SIBLING


def of_log(build: Build, session: Session, run: Outcome) -> list[Difference]:
    """The log has every call of its functions once, with its size; those that a hook makes itself are marked."""
    watch = next(watch for watch in session.watches if watch.on == "log")
    said = "\n".join([run.text, *(note["text"] for note in run.noted("error"))])
    has_begun = TOO_OLD not in said and not BROUGHT_LATE.search(said)
    if loses_breakpoints(build):
        return []
    is_whole = has_begun and session.exact and session.end == "exits" and watch.exact and not run.noted("enough")
    if not is_whole:
        return []
    have: dict[str, list[int]] = {name: [] for name in watch.functions}
    for line in run.log:
        call = json.loads(line)
        if call.get("phase") == "B" and call["name"] in have and call.get("layer") == "hook":
            value = call["details"].get(symbols()[call["name"]])
            have[call["name"]].append(value if isinstance(value, int) else -1)
    left_out = named(NOT_RECORDED.findall(run.text))
    missing = named(MISSING.findall(run.text))  # of more than a few functions not all are named
    have = {name: values for name, values in have.items() if name not in left_out}
    if any(part.name == "patches" for part in build.parts):
        have.pop(build.names[0], None)  # whose entry the program overwrites itself: not all of its calls come there
    lost = max(map(int, LOST.findall(run.text)), default=0)
    is_shared = watch.kind == "ring" and any(part.name == "spawns" for part in build.parts)
    uncounted = OF_VFORKS if is_shared else 0
    found = []
    for name, values in have.items():
        values = [value for value in values if not value & SIBLING]
        calls, total = wanted(Watch("", "", "", [name]), run)
        if missing & {name, "more"} and len(values) <= calls:
            continue
        if not calls - lost <= len(values) <= calls + uncounted:
            found.append(Difference("log", f"{len(values)} calls of {name} recorded, not {calls}"))
        elif sum(values) != total and not lost and len(values) == calls:
            found.append(Difference("log", f"sizes of {name} sum up to {sum(values)}, not {total}"))
    return found


def named(told: list[str]) -> set[str]:
    return {name for names in told for name in re.findall(r"\w+", names)}

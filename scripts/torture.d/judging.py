"""What differs between a run and what it has to be: the plain run's lines, the counts that it printed itself."""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import dataclass, replace

import watches
from building import Build, symbols
from lines import AGAIN, REMOTE
from playing import Outcome
from sessions import Session
from watches import Watch

SIBLING, TERA = 1 << 50, 1 << 40
WORDS = {  # what a line of the program's that differs tells of
    "wrong": "result", "damaged": "registers", "fork": "child", "spawn": "child", "vfork": "child", "clone": "child",
    "raw": "child", "system": "child", "backtraces": "unwinding", "exceptions": "unwinding", "jumps": "unwinding",
    "reloads": "memory", "strict": "seccomp", "filter": "seccomp", "patches": "patches",
}  # fmt: skip
FAULTS = {
    "Traceback (most recent call last)": "python", "Python Exception": "python", "internal-error": "gdb died",
    "A problem internal to GDB": "gdb died", "Fatal signal": "gdb died",
    "Cannot insert breakpoint": "error", "Cannot access memory at address": "error",
}  # fmt: skip
GDBS_OWN = "<error reading variable"  # in a frame of libc's, say
UNKNOWN = "is not known here"  # said where optimised code has moved a value: that is honest
GONE = re.compile(  # what gdb and we say of a process that somebody has killed meanwhile
    "No such process|without a live selected thread|not being run|PC not available|annot read|"
    "Cannot access memory|Cannot insert breakpoint|Command aborted|connection closed|user-level thread|"
    "is running: pause it first|the program has ended|Target disconnected"
)
NOT_RECORDED = re.compile(r"^Not recorded: .*: (.*)\.$", re.MULTILINE)
MISSING = re.compile(r"^Calls (?:are|may be) missing of functions .*: (.*)\.$", re.MULTILINE)
OF_VFORKS = 6 * 12  # calls of children that use the program's memory, and so its rings; the program does not count them
LOST = re.compile(r"^(\d+) calls? (?:was|were) (?:overwritten|made) ", re.MULTILINE)
TOO_OLD = "--fast needs a gdb that tells where breakpoints are"
BROUGHT_LATE = re.compile(  # at a breakpoint, or by a signal; before its library is loaded
    "the program has stopped before .*: nothing is recorded|nothing to record: no library that is loaded"
)
INDIRECT = "indirect function (IFUNC)"  # that cuda-break cannot follow, and says so
SERVERS_OWN = "internal to GDBserver"  # where somebody kills the process that it traces: without us as often
SERVERS = "gdbserver"  # the kind of what it does without us as often: tests/decisions/links.md has both by hand
GDBS = "gdb's own"  # the kind of what gdb does without us as often: tests/decisions/processes.md
NOBODY_RUNS = "No unwaited-for children left."  # said where the one thread that gdb was stepping is gone
LOADERS = "loader"  # the kind of what the loader does to any LD_AUDIT library: manual, page 19
SLOW = "slow"  # the kind of a run that the machine had no time for
KNOWN = (SERVERS, GDBS, LOADERS, SLOW)  # shown and not counted
TIMERS = {"signals", "backtraces"}  # parts whose signals come at any instruction
STATIC_TLS = "cannot allocate memory in static TLS block"
FORKS_FAULT = re.compile(r"pending_parent: Assertion|LWP -?\d+ suspended=-?\d+")  # of a thread that it has freed
# A child that shares the program's memory and that nobody traces runs into breakpoints: without us as often. gdb takes
# its breakpoints out of that memory, and gdbserver then strikes them off the parent's list. At the next vfork gdb stops
# at the first that gdbserver does not know, and leaves the others in. (many_forks has no such child before its vforks.)
SHARED = "= clone, vm "
SHARING = re.compile(r"^(= clone, vm(?: and vfork)? \d+: )signal 5$")
BEHIND_SHARING = re.compile(r"^(= vfork \d+: )signal 5$")
TERMINATED = re.compile(r"^Program terminated with signal (\w+)", re.MULTILINE)
TRAPPED = re.compile(r"received signal SIGTRAP, .*\n(?:\[Switching .*\n)?0x([0-9a-f]+) in ")
BANNER = re.compile(r"^Breakpoint (\d+)  \S", re.MULTILINE)


def what(line: str) -> str:
    return WORDS.get(line.split()[1].strip(":,"), "output")


@dataclass(frozen=True, order=True)
class Difference:
    kind: str
    text: str
    watch: int = -1  # the one that it is about, where it is about one: gdb alone has it too where it has it of the same


COUNTS = frozenset(("hits", "arguments", "log"))  # kinds that are looked at where nothing else differs


def says_nothing(kind: str, found: set[str]) -> bool:
    """Of a run in which that was found, about that kind: it was worse off, and its calls were not counted. Nor can a
    program that has died be stuck later."""
    return (kind in COUNTS and bool(found - COUNTS)) or (kind == "stuck" and "died" in found and kind not in found)


def differences(build: Build, session: Session, plain: Outcome, run: Outcome, control: bool) -> list[Difference]:
    if fault := of_server(session, run) or of_waiting(session, run) or of_copied(run):
        return [fault]
    if run.slow:
        return [Difference(SLOW, run.stuck)]
    if run.stuck:
        # gdb alone may not get over it that the program has died
        died = of_lines(session, plain, run) if control and TERMINATED.search(run.text) else []
        return [Difference("stuck", run.stuck), *(one for one in died if one.kind == "died")]
    found = [*of_gdb(run), *of_lines(session, plain, run), *of_code(session, plain, run)]
    if any(one.kind == "died" for one in found):  # and how is told: its status is no other fault
        found = [one for one in found if one.kind != "status"]
    found += [Difference("left over", text) for text in run.left]
    if not found and session.start != "terminal":
        found += of_hits(build, session, run, control)
        if not control and any(watch.on == "log" for watch in session.watches):
            found += of_log(build, session, run)
    return sorted(set(found))


def of_server(session: Session, run: Outcome) -> Difference | None:
    """Nothing else is to be concluded from such a run."""
    if session.start not in REMOTE:
        return None
    if match := FORKS_FAULT.search(run.text):
        return Difference(SERVERS, f"it has died: {match[0]}")
    if run.killed and re.search(r"program (gone|.* Z \()", run.stuck):
        return Difference(SERVERS, f"it does not tell that the program was killed: {run.stuck}")
    return None


def of_waiting(session: Session, run: Outcome) -> Difference | None:
    is_gdbs = session.in_place and run.killed and run.stuck and NOBODY_RUNS in run.text
    return Difference(GDBS, f"it waits for a program that was killed: {run.stuck}") if is_gdbs else None


def of_copied(run: Outcome) -> Difference | None:
    """The program has copied gdb's breakpoint with the bytes that it overwrites, and puts it back when gdb has taken
    its own away. With gdb alone as often: manual, page 19."""
    own = {int(line.split()[2], 16) + 1 for line in run.out if line.startswith("# patched ")}
    for at in TRAPPED.findall(run.text):
        if int(at, 16) in own:
            return Difference(GDBS, f"the program has written back a breakpoint that it had copied, at {at}")
    return None


def of_gdb(run: Outcome) -> list[Difference]:
    found = [Difference(kind, line.strip()) for words, kind in FAULTS.items() for line in run.text.splitlines()
             if words in line and GDBS_OWN not in line][:3]  # fmt: skip
    if "\x1b" in run.text and not run.terminal:
        found.append(Difference("escape", next(repr(line) for line in run.text.splitlines() if "\x1b" in line)))
    if run.killed:
        found = [one for one in found if one.kind != "error" or not GONE.search(one.text)]
        found = [one for one in found if SERVERS_OWN not in one.text]
    found += [Difference("error", f"{note['command']}: {shortened(note['text'])}") for note in run.noted("error")
              if not (run.killed and GONE.search(note["text"])) and not is_honest(note["text"])]  # fmt: skip
    if run.gdb_status is not None and run.gdb_status < 0:
        found.append(Difference("gdb died", f"of signal {-run.gdb_status}"))
    found += [Difference("not started", "the program did not come to main") for _ in run.noted("not started")]
    return found


def is_honest(text: str) -> bool:
    """It says what cannot be done here, and why."""
    return INDIRECT in text or TOO_OLD in text or BROUGHT_LATE.search(text) is not None


def shortened(text: str) -> str:
    """A traceback's first and last line."""
    lines = text.strip().splitlines()
    return text if len(lines) < 2 else f"{lines[0]} {lines[-1]}"


def went_to_its_end(session: Session, run: Outcome) -> bool:
    """Whatever gdb did, the program was let go on."""
    if session.end in ("kills", "killed"):
        return not run.noted("end") and session.end != "killed"
    return session.end != "quits" or not run.noted("end") or session.start in ("attach", "attach_server")


def without_servers_own(session: Session, lines: list[str]) -> list[str]:
    lines = [SHARING.sub(r"\1exit 40", line) for line in lines]
    is_behind = session.start in REMOTE and any(line.startswith(SHARED) for line in lines)
    return [BEHIND_SHARING.sub(r"\1exit 40", line) for line in lines] if is_behind else lines


def of_lines(session: Session, plain: Outcome, run: Outcome) -> list[Difference]:
    want, have = Counter(plain.same), Counter(without_servers_own(session, run.same))
    new, missing = sorted((have - want).elements()), sorted((want - have).elements())
    if not went_to_its_end(session, run):
        missing = []
    died = [f"{note['signal']} in thread {note['thread']}" for note in run.noted("signal")]
    if died or (missing and "= end" in missing):
        ended = TERMINATED.findall(run.text)
        why = (died or ended or [f"it did not come to its end, wait status {run.status}"])[0]
        return [Difference("died", why + "".join(f"; {line[2:]}" for line in new[:2]))]
    kinds: dict[str, list[str]] = {}
    for line in [*new, *missing]:
        kinds.setdefault(what(line), []).append(line[2:])
    return [Difference(kind, paired(new, missing, kind)) for kind in kinds]


def paired(new: list[str], missing: list[str], kind: str) -> str:
    """The first few lines of that kind, and what they should have been."""
    mine = [[line[2:] for line in lines if what(line) == kind] for lines in (new, missing)]
    return "; ".join(mine[0][:3]) + (", not " + "; ".join(mine[1][:3]) if mine[1] else "")


def of_code(session: Session, plain: Outcome, run: Outcome) -> list[Difference]:
    found = [Difference("code" if text.startswith("code") else "filling", text) for text in run.memory]
    found += [Difference("code at a stop", note["text"]) for note in run.noted("bytes")]
    return found + (of_status(plain, run) if went_to_its_end(session, run) and not found else [])


def of_status(plain: Outcome, run: Outcome) -> list[Difference]:
    codes = [note["code"] for note in run.noted("exited")]
    status = codes[-1] if codes and codes[-1] is not None else run.status
    is_other = status is not None and status != plain.status
    return [Difference("status", f"exit status {status}, not {plain.status}")] if is_other else []


# ---- counts ----


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
    for index, watch in enumerate(session.watches):
        if watch.on == "log" or not numbers.get(index) or not build_counts(build, watch):
            continue
        if lines & {f"condition {number}" for number in numbers[index]}:
            continue  # the user has taken its condition away
        if watch.thread is not None and not is_numbered_as_made(run):
            continue
        values = [note["value"] for note in run.noted("size") if note["watch"] == index]
        hits = sum(note["watches"].count(index) for note in run.noted("stop"))
        if control:  # gdb's own breakpoints do not ask who calls
            hits -= sum(bool(value & SIBLING) for value in values)
        elif watch.on != "enter":
            hits = sum(int(number) in numbers[index] for number in BANNER.findall(run.text))
        more = told_again(build, session, run, index)
        judged = judge(watch, hits, values, wanted(watch, run), whole, control, lost, more)
        unread = [note["text"] for note in run.noted("unread") if note["watch"] == index and not control
                  and UNKNOWN not in note["text"]]  # fmt: skip
        judged += [Difference("arguments", f"{watch.cuda}: {text}") for text in unread[:1]]
        found += [replace(one, watch=index) for one in judged]
    return found


def is_numbered_as_made(run: Outcome) -> bool:
    """gdb's number of a thread is the program's and one more; a gdbserver tells of several new ones in any order."""
    return all(note["kernel"] == sorted(note["kernel"]) for note in run.noted("threads"))


def loses_breakpoints(build: Build) -> bool:
    """gdb takes its own and its user's out of the memory that a child shares, up to its next stop: manual, page 19. How
    many calls come before that is a matter of how long each stop takes."""
    return any(part.name == "clones" for part in build.parts)


def without_stop(build: Build, run: Outcome) -> int:
    """Hits that gdb has counted, without a stop: gdb 13.1 does so alone, now and then, where another thread forks."""
    if not any(part.name == "forks" for part in build.parts):
        return 0
    return sum(note.get("without_stop", 0) for note in run.noted("hits"))


def told_again(build: Build, session: Session, run: Outcome, index: int) -> int:
    """Stops at a call that has stopped already. Through a gdbserver gdb alone makes some, where a signal interrupts
    the call: in 13.1 `break` stops 603 times at 400 calls."""
    if session.start not in REMOTE or not TIMERS & build.kinds():
        return 0
    return sum(note.get("again", []).count(index) for note in run.noted("stop"))


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

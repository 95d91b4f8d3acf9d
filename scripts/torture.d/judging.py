"""What differs between a run and what it has to be: the plain run's lines, its status, its code."""

from __future__ import annotations

import re
from collections import Counter

import own_patches
import traps
from building import Build
from difference import Difference
from judging_counts import BROUGHT_LATE, INDIRECT, TOO_OLD, of_hits, of_log
from lines import REMOTE
from playing import Outcome
from sessions import Session

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
GDBS_OWN = re.compile("<error reading variable|<error: Cannot access memory")  # in a frame of libc's, or in a prologue
GONE = re.compile(  # what gdb and we say of a process that somebody has killed meanwhile
    "No such process|ould not read registers|without a live selected thread|not being run|PC not available|annot read|"
    "Cannot access memory|Cannot insert breakpoint|Command aborted|connection closed|user-level thread|"
    "is running: pause it first|the program has ended|Target disconnected"
)
SERVERS_OWN = "internal to GDBserver"  # where somebody kills the process that it traces: without us as often
SERVERS = "gdbserver"  # the kind of what it does without us as often: tests/decisions/links.md has both by hand
GDBS = "gdb's own"  # the kind of what gdb does without us as often: tests/decisions/processes.md
NOBODY_RUNS = "No unwaited-for children left."  # said where the one thread that gdb was stepping is gone
# Of a thread that has ended gdb 14 and newer goes on, or has it deleted a second time.
ENDED_THREAD = re.compile(r"get_thread_regcache: Assertion `thread->state != THREAD_EXITED'|unlink_element: Assertion")
LOADERS = "loader"  # the kind of what the loader does to any LD_AUDIT library: the manual's limits
SLOW = "slow"  # the kind of a run that the machine had no time for
KNOWN = (SERVERS, GDBS, LOADERS, SLOW)  # shown and not counted
STATIC_TLS = "cannot allocate memory in static TLS block"
FORKS_FAULT = re.compile(r"pending_parent: Assertion|LWP -?\d+ suspended=-?\d+")  # of a thread that it has freed
# A child that shares the program's memory and that nobody traces runs into breakpoints: without us as often. gdb takes
# its breakpoints out of that memory, and gdbserver then strikes them off the parent's list. At the next vfork gdb stops
# at the first that gdbserver does not know, and leaves the others in. (many_forks has no such child before its vforks.)
SHARED = "= clone, vm "
SHARING = re.compile(r"^(= clone, vm(?: and vfork)? \d+: )signal 5$")
BEHIND_SHARING = re.compile(r"^(= vfork \d+: )signal 5$")
# What a thread has got as gdbserver detaches may be lost, and so the timer that its handler sets anew: all 15 kept runs
# were such, four of them without us.
UNTIMED = re.compile(r"^(= backtraces: \d+ of )few lost$")
TERMINATED = re.compile(r"^Program terminated with signal (\w+)", re.MULTILINE)


def what(line: str) -> str:
    return WORDS.get(line.split()[1].strip(":,"), "output")


COUNTS = frozenset(("hits", "arguments", "log"))  # kinds that are looked at where nothing else differs


def says_nothing(kind: str, found: set[str]) -> bool:
    """Of a run in which that was found, about that kind: it was worse off, and its calls were not counted. Nor can a
    program that has died be stuck later; and where gdbserver or gdb has, nothing is to be concluded from it."""
    if kind not in KNOWN and found & {SERVERS, GDBS}:
        return True
    return (kind in COUNTS and bool(found - COUNTS)) or (kind == "stuck" and "died" in found and kind not in found)


def differences(build: Build, session: Session, plain: Outcome, run: Outcome, control: bool) -> list[Difference]:
    known = (of_server(session, run), of_waiting(session, run), of_killed(run), of_own_patches(run))
    if fault := next(filter(None, known), None):
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


def of_killed(run: Outcome) -> Difference | None:
    """gdb alone crashes, or waits, or runs for ever, where somebody kills the program that it traces: four times of
    ten, gdb 13.1. Each of them is the same fault, for no two times it is the same of them."""
    died = [one.text for one in of_gdb(run) if one.kind == "gdb died"]
    is_stuck = re.search(r"program (gone|.* Z \()|^gdb has written", run.stuck)
    if not run.killed or not (is_stuck or (died and not run.stuck)):
        return None
    if told := ENDED_THREAD.search(run.text):
        return Difference(GDBS, f"it uses a thread that has ended with the program: {told[0]}")
    return Difference("killed", f"gdb does not get over it: {run.stuck or died[0]}")


def of_own_patches(run: Outcome) -> Difference | None:
    text = own_patches.copied(run) or own_patches.torn(run)
    return Difference(GDBS, text) if text else None


def of_gdb(run: Outcome) -> list[Difference]:
    found = [Difference(kind, line.strip()) for words, kind in FAULTS.items() for line in run.text.splitlines()
             if words in line and not GDBS_OWN.search(line)][:3]  # fmt: skip
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
    if session.start in REMOTE and session.end in ("detaches", "leaves", "quits"):
        lines = [UNTIMED.sub(r"\1many lost", line) for line in lines]
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
    kinds = dict.fromkeys(map(what, [*new, *missing]))
    return [of_kind(kind, new, missing, session, run) for kind in kinds]


def of_kind(kind: str, new: list[str], missing: list[str], session: Session, run: Outcome) -> Difference:
    text = paired(new, missing, kind)
    if kind != "child":
        return Difference(kind, text)
    instead, gone = ([line for line in lines if what(line) == kind] for lines in (new, missing))
    is_gdbs = len(gone) <= len(instead) and traps.are_of_a_step(session, run, instead)
    return Difference(GDBS if is_gdbs else kind, f"{text}{traps.told(run)}")


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

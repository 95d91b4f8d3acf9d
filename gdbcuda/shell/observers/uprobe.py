"""``gdbcuda trace --with uprobe``: the kernel tells of the calls, nothing is in the program."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from gdbcuda import api
from gdbcuda import condition as conditions
from gdbcuda.calls.sinks import JsonLines
from gdbcuda.errors import UserError
from gdbcuda.files import places
from gdbcuda.ledger import left_out
from gdbcuda.log.selecting.where import Where
from gdbcuda.observe import patched, probes, watched_files
from gdbcuda.observe.probes import Choice, Probe
from gdbcuda.observe.uprobes import bpftrace_condition, bpftrace_text, needs, uprobe_log
from gdbcuda.observe.uprobes.bpftrace_run import TICK, Bpftrace
from gdbcuda.observe.uprobes.bpftrace_text import ProbeRecord, WatchedProcesses
from gdbcuda.observe.uprobes.tracefs_run import Tracefs
from gdbcuda.observe.uprobes.tracefs_text import TracefsRecord
from gdbcuda.observe.uprobes.uprobe_log import UprobeLog
from gdbcuda.shell.observers import new_log
from gdbcuda.shell.observers.held_program import HeldProgram
from gdbcuda.shell.trace.starting import joined
from gdbcuda.text import output
from gdbcuda.text.printable import visible
from gdbcuda.text.sentences import counted, some

if TYPE_CHECKING:
    from gdbcuda.observe.watched_files import Target
    from gdbcuda.shell.observers.options import ObserverOptions

MOST_NAMED = 4
SLOW = 40  # probes: from here on it is said that it takes a while


class Plan:
    """What is watched, and the program for bpftrace."""

    def __init__(self, wanted: ObserverOptions, words: Sequence[str], hook: str | None) -> None:
        self.wanted, self.words, self.hook = wanted, words, hook
        if sum(map(bool, (words, wanted.pid, wanted.all_of and not (words or wanted.pid)))) != 1:
            raise UserError("uprobes watch one of: -p PID, --all-of LIB, or a program behind --")
        if wanted.cgroup and not os.path.exists(os.path.join(wanted.cgroup, "cgroup.controllers")):
            raise UserError(f"{wanted.cgroup} is no control group of version 2: name a folder below /sys/fs/cgroup")
        newest = api.load()
        target = self.target(newest)
        self.table = uprobe_log.table_of(one.name for one, _ in target.files)
        choice = Choice(self.table, wanted.function, target.used)
        chosen = choice.probes(target.files)
        self.patched = self.changed(chosen, target)
        self.nameless = target.nameless_runtimes(self.table) if choice.is_of("runtime") else []
        chosen = [one for one in chosen if one.place.symbol not in self.patched]
        self.texts, self.why = self.conditions(chosen)
        self.probes = [one._replace(number=number) for number, one in
                       enumerate(one for one in chosen if one.place.symbol in self.texts)]  # fmt: skip
        if not self.probes:
            raise UserError(self.why_nothing(target))
        self.is_by_tracefs = not wanted.print and not needs.has_bpftrace()
        if self.is_by_tracefs and wanted.cgroup:
            raise UserError("--cgroup needs bpftrace (apt-get install bpftrace)")
        if self.is_by_tracefs:
            self.why = self.why or "there is no bpftrace"
        self.records = [(TracefsRecord if self.is_by_tracefs else ProbeRecord)(one) for one in self.probes]

    def changed(self, chosen: Sequence[Probe], target: Target) -> dict[str, int]:
        """Functions of processes that are there, which a uprobe would end; by symbol, with one of these processes."""
        if self.wanted.print or not (self.wanted.pid or self.wanted.all_of):
            return {}
        places = [(watched, file, [one.place for one in chosen if one.file == watched])
                  for watched, file in target.files]  # fmt: skip
        return patched.patched(places, patched.processes(None if self.wanted.all_of else self.wanted.pid))

    def target(self, table: api.Table) -> Target:
        named = [watched_files.of_library(one) for one in self.wanted.all_of]
        if self.wanted.pid:
            found = watched_files.of_process(self.wanted.pid, table)
        elif self.words:
            found = watched_files.of_program(self.words, [self.hook] if self.hook else [], table)
        else:
            found = watched_files.Target()
        for watched, file in named:
            found.add(watched.path, watched.name, file)
            if not (self.wanted.pid or self.words):
                found.used.update(probes.places(file, table))
        return found

    def conditions(self, chosen: Sequence[Probe]) -> tuple[dict[str, str], str]:
        """By symbol what the kernel is to ask, of functions that the condition fits; and what it cannot be asked."""
        functions = {one.place.symbol: one.known.function for one in chosen}
        if self.wanted.condition is None or not functions:
            return dict.fromkeys(functions, ""), ""
        found = conditions.parse(self.wanted.condition, self.table, [*functions.values()], optional=functions)
        asked = {symbol: bpftrace_condition.in_kernel(found, function)
                 for symbol, function in functions.items() if found.fits(symbol)}  # fmt: skip
        why = next((one.why for one in asked.values() if one.why), "")
        return {symbol: one.text for symbol, one in asked.items()}, why

    def why_nothing(self, target: Target) -> str:
        if self.patched:
            return f"nothing to watch: {self.why_left_out()}"
        files = ", ".join(one.short for one, file in target.files if probes.places(file, self.table))
        if not files:
            return "nothing to watch: no file there implements CUDA or NVML; name one with --all-of LIB"
        return f"nothing to watch: no such function in {files}" if self.wanted.function else (
            f"nothing to watch: no function of {files} is used by name; name some with --function")  # fmt: skip

    def why_left_out(self) -> str:
        """A debugger's recorder or guard has put a jump there, or a hook library has."""
        names, pid = some(list(self.patched), MOST_NAMED), next(iter(self.patched.values()))
        return (f"{names} of process {pid} begins with a jump of somebody's (gdbcuda's log or guards, a hook library): "
                "with a uprobe there the process would crash")  # fmt: skip

    def text(self, pid: int) -> str:
        watched = WatchedProcesses(pid, self.wanted.cgroup or "", needs.has_types())
        asked = uprobe_log.kernel_conditions(self.probes, self.texts)
        return bpftrace_text.program(self.probes, watched, asked, self.note())

    def tracer(self, pid: int) -> Bpftrace | Tracefs:
        if self.is_by_tracefs:
            return Tracefs([TracefsRecord(one) for one in self.probes], pid)
        return Bpftrace(self.text(pid), len(self.probes), bool(self.unsafe))

    def note(self) -> str:
        limits = "BPFTRACE_MAX_PROBES=5000 BPFTRACE_PERF_RB_PAGES=1024 BPFTRACE_STRLEN=64"
        return f"Made by gdbcuda trace --with uprobe. Run it as root:\n{limits} bpftrace {self.unsafe}FILE"

    @property
    def unsafe(self) -> str:
        """bpftrace takes places without a symbol for a risk."""
        return "--unsafe " if any(one.place.offset is not None for one in self.probes) else ""

    def said(self) -> list[str]:
        lines = [f"watching {counted(len(self.probes), 'function')}: {probes.said(self.probes)}"]
        lines += [f"asked of the calls afterwards: {self.why}"] if self.why and self.wanted.condition else []
        lines += [f"left out: {self.why_left_out()}"] if self.patched else []
        lines += [f"the CUDA runtime inside {one} is not watched: the file is stripped, so its functions have no names"
                  for one in self.nameless]  # fmt: skip
        return [*lines, *needs.remarks()]


def run(wanted: ObserverOptions, words: Sequence[str], hook: str | None, log: str | None) -> int:
    """``log``: the file to write, "" for one of our choice."""
    if not wanted.print:
        needs.require()
    plan = Plan(wanted, words, hook)
    if wanted.print:
        output.write(plan.text(wanted.pid or 0))
        return 0
    if (words or wanted.pid) and needs.is_in_pid_namespace():
        raise UserError("this shell is in a container, where processes have other numbers than for the kernel: "
                        "run gdbcuda outside of it, or use --all-of LIB", page="other-eyes")  # fmt: skip
    if not plan.is_by_tracefs:
        needs.allow_files(len(plan.probes))
    for line in plan.said():
        output.complain(f"gdbcuda: {visible(line)}")
    environment = {**os.environ}
    if hook:
        environment["LD_PRELOAD"] = joined(os.path.abspath(hook), environment.get("LD_PRELOAD", ""))
    path = new_log.new_file(log, words[0] if words else str(wanted.pid or "all"))
    program = HeldProgram(words, environment) if words else None
    try:
        return watch(plan, path, program)
    finally:
        if program is not None:
            program.abandon()


def watch(plan: Plan, path: str, program: HeldProgram | None) -> int:
    epoch = time.monotonic_ns()
    pid = program.pid if program else plan.wanted.pid or 0
    with plan.tracer(pid) as tracer:
        if len(plan.probes) > SLOW and not plan.is_by_tracefs:
            output.complain(f"gdbcuda: placing {2 * len(plan.probes)} probes takes a moment, taking them off too")
        tracer.wait_until_ready()
        head = uprobe_log.header(plan.table, plan.words[0] if plan.words else "", epoch)
        log = UprobeLog(plan.records, plan.table, JsonLines(path, head, output.complain), epoch)
        if program is not None:
            log.programs[program.pid] = os.path.realpath(places.on_path(plan.words[0]) or "")
        named = [one.known.function for one in plan.probes]
        if plan.wanted.function or plan.wanted.condition:
            log.seen_by = f"gdbcuda trace --with uprobe without {plan.wanted.narrowed_by()}"
            log.unseen = left_out({one.symbol for one in named}, plan.table, bool(plan.wanted.condition))
            names = sorted({one.symbol for one in named})
            log.recorded = {"names": names, "some": bool(plan.wanted.condition)}
        if plan.why and plan.wanted.condition:
            log.where = Where(plan.wanted.condition, plan.table, log.notes, [named])
        status = follow(tracer, log, program, plan.wanted)
        log.calls.until = time.monotonic_ns()
        for seen in tracer.end():
            log.add(seen)
        log.close()
        say_how_much(log, path)
    return status


def follow(tracer: Bpftrace | Tracefs, log: UprobeLog, program: HeldProgram | None, wanted: ObserverOptions) -> int:
    """Until the program has ended, or the process, or the time is over, or Ctrl-C."""
    if program is not None:
        program.release()
    else:
        how_long = "" if wanted.seconds is None else f" for {wanted.seconds:g} s"
        output.complain(f"gdbcuda: watching{how_long}; Ctrl-C ends it, and leaves the processes as they are")
    end = float("inf") if wanted.seconds is None else time.monotonic() + wanted.seconds
    with Interrupted() as interrupted:
        while not tracer.has_ended and not interrupted.is_set and time.monotonic() < end:
            for seen in tracer.read(TICK):
                log.add(seen)
            if program is not None and program.poll() is not None:
                return program.status or 0
            if wanted.pid and not os.path.isdir(f"/proc/{wanted.pid}"):
                output.complain(f"gdbcuda: process {wanted.pid} has ended")
                return 0
    if tracer.has_ended:
        output.complain(f"gdbcuda: the watching ended: {visible(tracer.complaint())}")
    return 0


class Interrupted:
    """Ctrl-C, and the polite kill, end the watching."""

    def __init__(self) -> None:
        self.is_set = False

    def __enter__(self) -> Interrupted:
        wanted = [one for one in (signal.SIGINT, signal.SIGTERM) if signal.getsignal(one) != signal.SIG_IGN]
        self.before = {one: signal.signal(one, self.note) for one in wanted}
        return self

    def note(self, *_: object) -> None:
        self.is_set = True

    def __exit__(self, *_: object) -> None:
        for one, handler in self.before.items():
            signal.signal(one, handler)


def say_how_much(log: UprobeLog, path: str) -> None:
    said = f"{counted(log.written, 'call')} in {visible(path)}"
    if log.missing:
        said += f"; {counted(log.missing, 'event')} lost: the kernel's buffers were full, watch fewer functions"
    if log.calls.without_begin:
        said += f"; {counted(log.calls.without_begin, 'end')} without a begin, left out"
    output.complain(f"gdbcuda: {said}")

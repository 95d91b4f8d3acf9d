"""The plan of a session and what gdb is started with: here or over a gdbserver, with us or without."""

from __future__ import annotations

import json
import os
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from building import Build
from elftools.elf.elffile import ELFFile
from kinds import HERE
from sessions import Session
from watches import values

from gdbcuda.remote import vector_registers

AGENT = HERE.parents[1] / "shim" / "build" / "libgdbcuda.so"
AGAIN = "torture: the program runs again"
TUNABLES = vector_registers.TUNABLES
LEFT_ALONE = {TUNABLES: vector_registers.WITHOUT_AVX512}
OVERWRITING = "glibc.malloc.perturb=165:glibc.malloc.tcache_count=0"
ATTACHED, REMOTE = ("attach", "attach_server"), ("server", "multi", "attach_server")


@dataclass(frozen=True)
class Tools:
    """Whose gdb, and what it sources. ``spared``: children of whoever plays that no run has begun."""

    gdb: str
    gdbserver: str
    extension: Path
    spared: frozenset[int] = frozenset()

    def line(self, control: bool, place: Place, session: Session) -> list[str]:
        """gdb overwrites at once what it frees, and ends where it uses that; the program has none of it."""
        its = environment(session, dict(os.environ)).get(TUNABLES, "")
        kept = f"set environment {TUNABLES}={its}" if its else f"unset environment {TUNABLES}"
        words = ["env", f"{TUNABLES}={OVERWRITING}", self.gdb, "-nx", "-q", "-iex", "set confirm off", "-iex", kept]
        words += ["-iex", f"python TORTURE_PLACES = {str(place.places)!r}", "-iex", f"source {HERE / 'places.py'}"]
        return [*words, *([] if control else ["-x", str(self.extension)])]


@dataclass(frozen=True)
class Place:
    """One run's folder: what the program and gdb write, and the two pipes that the program waits at."""

    folder: Path

    @property
    def out(self) -> Path:
        return self.folder / "out"

    @property
    def notes(self) -> Path:
        return self.folder / "notes"

    @property
    def text(self) -> Path:
        return self.folder / "gdb.out"

    @property
    def places(self) -> Path:
        return self.folder / "places"

    @property
    def log(self) -> Path:
        return self.folder / "calls.jsonl"


def program_line(build: Build, place: Place, gate: str) -> list[str]:
    return [str(build.program), str(place.out), gate, str(place.folder / "hold"), str(build.library)]


def setup(build: Build, session: Session, control: bool) -> list[str]:
    quiet = "SIGALRM SIGPROF SIGUSR1" + (" SIGSEGV" if "faults" in build.words else "")
    randomize = "off" if session.aslr else "on"
    lines = ["set pagination off", "set width 0", "set remotetimeout 60", f"set disable-randomization {randomize}",
             "handle SIGUSR2 stop print nopass", f"handle {quiet} nostop noprint pass"]  # fmt: skip
    lines += ["set sysroot /"] if session.local_files else []
    lines += ["set displaced-stepping off"] if session.in_place else []
    lines += ["set breakpoint pending on"] if control else []  # as cuda-break does by itself
    if session.start not in (*ATTACHED, "server", "multi"):
        lines += preloading(build, session, control)
    return lines


def preloaded(build: Build, session: Session | None = None, control: bool = True) -> str:
    """LD_PRELOAD, where cuda-load is not there to say it: who wants stacks out of guards names our library too, and the
    recorder in the process needs it."""
    records = session is not None and session.is_in_process and session.start == "server" and not control
    is_wanted = AGENT.is_file() and (records or any(part.name == "backtraces" for part in build.parts))
    names = [build.library] * (build.way == "preloaded") + [AGENT] * is_wanted
    return ":".join(map(str, names))


def preloading(build: Build, session: Session, control: bool) -> list[str]:
    load = [f"cuda-load {build.library}"] if build.way == "preloaded" and not control else []
    value = preloaded(build)
    if not value or (load and session.start != "multi"):
        return load
    if session.start == "multi":
        value = value if not load else str(AGENT) if str(AGENT) in value else ""
        start = ["set startup-with-shell off", f"set environment LD_PRELOAD={value}"] if value else []
        return [*start, *load]
    return [f"set exec-wrapper env LD_PRELOAD={value}"]


def begin(build: Build, session: Session, tools: Tools, line: list[str], pid: int, control: bool) -> list[str]:
    value = preloaded(build, session, control)
    wrapper = ["--wrapper", "env", f"LD_PRELOAD={value}", "--"] if value else []
    left_alone = shlex.join(f"{name}={said}" for name, said in LEFT_ALONE.items())
    server = f"env {left_alone} {shlex.quote(tools.gdbserver)}"
    if session.start == "attach":
        return [f"attach {pid}"]
    if session.start == "attach_server":
        return [f"target remote | {server} --once --attach - {pid}"]
    if session.start == "server":
        return [
            f"target remote | {server} --once {shlex.join(wrapper)} - {shlex.join(line)}",
            "tbreak main",
            "continue",
        ]
    if session.start == "multi":
        load = preloading(build, session, control)
        return [
            f"target extended-remote | {server} --multi -",
            f"set remote exec-file {line[0]}",
            *load,
            "tbreak main",
            "run",
        ]
    return ["tbreak main", "run"]


def plan(build: Build, session: Session, tools: Tools, place: Place, pid: int, control: bool) -> dict[str, Any]:
    line = program_line(build, place, str(place.folder / "gate") if session.start in ATTACHED else "/dev/null")
    logging = session.deed == "logs" or any(watch.on == "log" for watch in session.watches)
    return {
        "control": control, "here": str(HERE), "notes": str(place.notes), "out": str(place.out),
        "setup": setup(build, session, control), "begin": begin(build, session, tools, line, pid, control),
        "watches": [watch.plan(place.folder / "kept") for watch in session.watches],
        "before": session.before, "at": session.at,
        "stops": session.stops, "last": session.last, "end": session.end, "again": AGAIN, "values": values(build),
        "mine": [str(build.library)], "bodies": bodies(build),
        "far": session.start in REMOTE,
        "finish": ["cuda-guards", "info breakpoints", *(["cuda-log", f"cuda-log save {place.log}"] if logging else [])],
    }  # fmt: skip


def bodies(build: Build) -> dict[str, tuple[int, int]]:
    """Where in the library's file the hooked functions are."""
    with build.library.open("rb") as file:
        elf = ELFFile(file)
        symbols = {one.name: one for one in elf.get_section_by_name(".dynsym").iter_symbols()}
        code = [one for one in elf.iter_segments("PT_LOAD") if one["p_flags"] & 1]
        found = {}
        for name in build.names:
            at, size = symbols[name]["st_value"], symbols[name]["st_size"]
            segment = next(one for one in code if one["p_vaddr"] <= at < one["p_vaddr"] + one["p_memsz"])
            offset = at - segment["p_vaddr"] + segment["p_offset"]
            found[name] = offset, offset + size
    return found


def gdb_line(build: Build, session: Session, tools: Tools, place: Place, pid: int, control: bool) -> list[str]:
    """Writes the plan, and the line as a script to run again."""
    (place.folder / "plan.json").write_text(json.dumps(plan(build, session, tools, place, pid, control), indent=1))
    words = [
        "-batch",
        "-ex",
        f"python TORTURE_PLAN = {str(place.folder / 'plan.json')!r}",
        "-x",
        str(HERE / "driver.py"),
    ]
    gate = str(place.folder / "gate") if session.start in ATTACHED else "/dev/null"
    line = [*tools.line(control, place, session), *words, "--args", *program_line(build, place, gate)]
    (place.folder / "command").write_text(shlex.join(line) + "\n")
    return line


def environment(session: Session | None, base: dict[str, str]) -> dict[str, str]:
    """Of all that is started; without a session the program's own. An older gdbserver changes what a program holds in
    AVX-512's registers, without us too."""
    kept = {name: value for name, value in base.items()
            if not name.startswith(("LD_", "GDBCUDA_", "PYTHON", "DEBUGINFOD_", "COLUMNS"))}  # fmt: skip
    kept |= {"LC_ALL": "C.UTF-8", "ASAN_OPTIONS": "detect_leaks=0:verify_asan_link_order=0:use_sigaltstack=0",
             "TSAN_OPTIONS": "report_bugs=0"}  # fmt: skip
    return kept | LEFT_ALONE if session and session.start in REMOTE else kept

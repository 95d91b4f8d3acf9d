"""Sessions without a debugger: `gdbcuda trace` runs the program, or comes to it while it runs and goes again."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import judging
import lines
import playing
import segments
from building import Build, symbols
from difference import Difference
from elftools.elf.elffile import ELFFile
from elftools.elf.relocation import RelocationSection
from judging import of_gdb, of_lines, of_status
from judging_counts import SIBLING, counts
from kinds import HERE
from lines import Place, Tools
from playing import Outcome
from processes import mine, send
from sessions import Session

LAST = "32768"  # more calls than a thread makes
KEPT = ["--last", LAST], ["--all"], ["--last", LAST, "--stack", "8"]
FROM = "beta"  # the one that calls by name: the others have taken addresses, which no loader sees
JUMP_SLOT = 7  # (x86-64 psABI, R_X86_64_JUMP_SLOT)
UNSURE = {"clones", "spawns"}  # parts whose children call in the program's own memory
CONFINED = {"seccomp_filter", "seccomp_strict"}  # parts behind which less is recorded
GDBCUDA = [sys.executable, "-c", "from gdbcuda.shell.entry import main; raise SystemExit(main())"]


def play(build: Build, session: Session, tools: Tools, folder: Path, control: bool, limit: float) -> Outcome:
    folder.mkdir()
    place = Place(folder)
    (folder / "hold").write_text("")
    began, outcome = time.monotonic(), Outcome()
    line = lines.program_line(build, place, "/dev/null")
    start = [*GDBCUDA, "trace", *kept(build, folder), "-o", str(folder / "calls"), "--"]
    is_started = session.start == "traced" and not control
    with place.text.open("w") as text:
        words = [*start, *line] if is_started else line
        program = subprocess.Popen(words, env=environment(build, tools), stdin=subprocess.DEVNULL,
                                   stdout=text, stderr=text, start_new_session=True)  # fmt: skip
        if session.start == "traced_later" and not control:
            come_and_go(program, build, tools, folder, outcome)
        try:
            outcome.status = program.wait(limit)
        except subprocess.TimeoutExpired:
            outcome.stuck = f"{session.start}: {' '.join(f'{pid}' for pid in mine(place.out))}"
            os.killpg(program.pid, signal.SIGKILL)
            program.wait()
    outcome.seconds = time.monotonic() - began
    for pid in mine(place.out):
        send(pid, signal.SIGKILL)
    outcome.out, outcome.text = playing.read(place.out), "\n".join(playing.read(place.text))
    for calls in sorted(folder.glob("calls*")):
        outcome.log += exported(calls, outcome)
    return outcome


def kept(build: Build, folder: Path) -> list[str]:
    return random.Random(f"traced {build.seed} {build.number} {folder.name}").choice(KEPT)


def environment(build: Build, tools: Tools) -> dict[str, str]:
    return playing.own_environment(build) | {"GDBCUDA_GDB": tools.gdb, "PYTHONPATH": str(HERE.parents[1])}


def come_and_go(program: subprocess.Popen[bytes], build: Build, tools: Tools, folder: Path, outcome: Outcome) -> None:
    """Twice, and no byte of the library's or the program's code is another afterwards."""
    dice = random.Random(f"later {build.seed} {build.number}")
    for number in (1, 2):
        time.sleep(dice.uniform(0, 0.3))
        if program.poll() is not None:
            return
        words = ["trace", "-p", str(program.pid), "--for", f"{dice.randint(1, 5)}00ms", "-o", f"{folder}/calls{number}"]
        done = subprocess.run([*GDBCUDA, *words], env=environment(build, tools), stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, check=False)  # fmt: skip
        (folder / f"trace{number}").write_text(f"{done.returncode}\n{done.stdout}{done.stderr}")
        if program.poll() is None and not any(part.name == "patches" for part in build.parts):
            found = segments.changed(program.pid, [str(build.library), str(build.program)])
            outcome.memory += [str(one) for one in found if not one.filling]


def exported(folder: Path, outcome: Outcome) -> list[str]:
    words = [*GDBCUDA, "log", "export", "--format", "jsonl", str(folder)]
    done = subprocess.run(words, capture_output=True, text=True, check=False,
                          env=os.environ | {"PYTHONPATH": str(HERE.parents[1])})  # fmt: skip
    if done.returncode or done.stderr:
        outcome.text += f"\n{done.stderr}"
    return done.stdout.splitlines()


# ---- judged ----


def differences(build: Build, session: Session, plain: Outcome, run: Outcome, control: bool) -> list[Difference]:
    if run.stuck:
        return [Difference("stuck", run.stuck)]
    if judging.STATIC_TLS in run.text:
        return [Difference(judging.LOADERS, judging.STATIC_TLS)]
    found = [*of_gdb(run), *of_lines(session, plain, run), *of_status(plain, run)]
    found += [Difference("code", text) for text in run.memory]
    if not found and not control:
        found += of_calls(build, session, run)
    return sorted(set(found))


def of_calls(build: Build, session: Session, run: Outcome) -> list[Difference]:
    """Of those from one caller all, where the loader has led them here; of none more than the program has made."""
    parts = {part.name for part in build.parts}
    made, recorded, from_one = Counter[str](), Counter[str](), Counter[str]()
    asked = Counter[str]()
    for (_, function, caller, size_class), (calls, _) in counts(run).items():
        if size_class == 0:
            made[function] += calls
            asked[function] += calls if caller == FROM else 0
    for call in calls_of_program(run):
        recorded[call["name"]] += 1
        from_one[call["name"]] += call["from"] == FROM
    names = build.names if not parts & UNSURE else []
    found = [Difference("log", f"{recorded[name]} calls of {name} recorded, of {made[name]}")
             for name in names if recorded[name] > made[name]]  # fmt: skip
    if session.start == "traced" and not parts & CONFINED and "overwritten" not in run.text:
        is_late = build.way == "late"
        plt = through_plt(build)
        # The first is the one that "patches" overwrites: in a program at a fixed place that is its own PLT's entry.
        names = names["patches" in parts :]
        want, have, who = (made, recorded, "") if is_late else (asked, from_one, f" by {FROM}")
        found += [Difference("log", f"{have[name]} calls of {name}{who} recorded, not {want[name]}")
                  for name in names if have[name] != want[name] and (is_late or name in plt)]  # fmt: skip
    return found


def through_plt(build: Build) -> set[str]:
    """Those that the program calls so: the linker makes one reference of a call and an address that is taken."""
    found: set[str] = set()
    with build.program.open("rb") as file:
        elf = ELFFile(file)
        symbols_there = elf.get_section_by_name(".dynsym")
        for section in elf.iter_sections():
            if isinstance(section, RelocationSection):
                found.update(symbols_there.get_symbol(one["r_info_sym"]).name for one in section.iter_relocations()
                             if one["r_info_type"] == JUMP_SLOT)  # fmt: skip
    return found


def calls_of_program(run: Outcome) -> list[dict[str, str]]:
    """Of its own process, not of children; without those that a hook makes itself."""
    events = [json.loads(line) for line in run.log]
    places = {(event["details"].get("pid"), event["details"]["address"]): event["details"].get("function", "")
              for event in events if event.get("name") == "place"}  # fmt: skip
    pids = {int(line.split()[2]) for line in run.out if line.startswith("# ready ")}
    found = []
    for event in events:
        if event.get("phase") == "B" and event["layer"] == "hook" and event["pid"] in pids:
            size = event["details"].get(symbols().get(event["name"], ""), 0)
            if not (isinstance(size, int) and size & SIBLING):
                found.append({"name": event["name"], "from": places.get((event["pid"], event["caller"]), "")})
    return found

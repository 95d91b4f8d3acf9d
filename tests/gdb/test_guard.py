"""Guards: what a user sees is what cuda-break shows without them, only that nothing stops in between."""

from __future__ import annotations

import platform
import re
from pathlib import Path

import pytest
from guard_programs import ASKING, CALLS, CALLS_ITSELF, FORKING, HOOK, ONE, RESOLVER, STRIPPED_HOOK, UNGUARDABLE
from scenario import Scenario, skip_if_places_are_asked

pytestmark = pytest.mark.skipif(platform.machine() != "x86_64", reason="guards are made for x86-64")
ON, LARGE = "set cuda-guard auto", "cuda-break cuMemAlloc if bytesize >= 1T"
STATE = "python import gdbcuda.live.guarding.guards as guards; print('state:', guards.state_of(1))"


def guarded(compile_c, folder: Path, hook: str, program: str, flags: tuple[str, ...]) -> None:
    compile_c("libguardhook.so", hook, "-shared", *flags)
    stand_in = compile_c("libcuda.so.2", hook, "-shared", "-Wl,-soname,libcuda.so.2")
    late = compile_c("liblate.so", "int late;", "-shared")
    words = ("-O1", f'-DLIBRARY="{late}"', str(stand_in), f"-Wl,-rpath,{folder}", "-pthread", "-ldl")
    compile_c("program", program, *words)


@pytest.fixture
def build(build_once):
    """build(hook source, program source, *flags of the hook) -> the hook library and the program."""

    def make(hook: str = HOOK, program: str = CALLS, *flags: str) -> tuple[Path, Path]:
        folder = build_once(guarded, hook, program, flags or ("-O0",))
        return folder / "libguardhook.so", folder / "program"

    return make


def states(text: str) -> list[str]:
    return re.findall(r"^state: ?(.*)$", text, re.MULTILINE)


@pytest.mark.smoke
def test_false_calls_cost_no_stop(scenario: Scenario, build) -> None:
    hook, program = build()
    words = (ON, LARGE, "RUN", STATE, "info breakpoints", "bt", "info args", "continue")
    text = scenario.run(program, *words, hook=hook, arguments=("1", "100000", "1"))
    assert states(text) == ["guarded"]
    assert "bytesize=1099511628776 [1.00 TiB]" in text and "called by app work()" in text
    assert "already hit 1 time" in text and "[app] work" in text and "bytesize = 1099511628776" in text
    spent = float(re.search(r"([\d.]+) ns a call", text)[1])
    assert spent < 20_000, text  # without a guard 100,000 and more


def test_a_function_that_calls_itself_behind_its_entry(scenario: Scenario, build) -> None:
    """No breakpoint of ours is where it comes then."""
    hook, program = build(CALLS_ITSELF)
    text = scenario.run(program, ON, LARGE, "RUN", STATE, "continue", hook=hook, arguments=("1", "100000", "1"))
    assert states(text) == ["guarded"] and "bytesize=1099511628776 [1.00 TiB]" in text, text
    assert float(re.search(r"([\d.]+) ns a call", text)[1]) < 20_000, text


def test_info_breakpoints_is_as_without(scenario: Scenario, build) -> None:
    hook, program = build()
    rows = []
    for setting in ("off", "auto"):
        commands = (f"set cuda-guard {setting}", LARGE, "RUN", "info breakpoints")
        text = scenario.run(program, *commands, hook=hook, arguments=("1", "10", "1"))
        rows.append(re.sub("0x[0-9a-f]+", "", text.rpartition("Num     Type")[2]))
    assert rows[0] + "Breakpoint 1: tested in the process\n" == rows[1]


def test_who_tests_instead(scenario: Scenario, build) -> None:
    """Without a guard gdbserver tests what it can; the rest is tested in gdb."""
    hook, program = build(UNGUARDABLE, CALLS)
    makes = ("cuda-break cuMemAlloc --from any if bytesize >= 1T", "cuda-break cuMemAlloc --from any if bytesize == 5")
    words = (*makes, "cuda-break cuMemAlloc", "RUN", "info breakpoints", "cuda-guards")
    text = scenario.run(program, *words, hook=hook, arguments=("1", "10", "1"))
    who = "by gdb" if scenario.place == "local" else "by gdbserver"
    why = "no guard: a call is among the function's first instructions"
    assert f"Breakpoints 1-2: tested {who}, {why}\n" in text or "Breakpoints 1-3: tested by gdb" in text
    rows = re.findall(r"^([-\d]+) +(by gdb(?:server)?) ", text, re.MULTILINE)
    assert rows == ([("1-3", who)] if scenario.place == "local" else [("1-2", who), ("3", "by gdb")])


def test_why_gdbserver_does_not(scenario: Scenario, build) -> None:
    hook, program = build()
    conditions = ("bytesize == 5 && caller in app", "thread == 2", "bytesize == 5 && nth == 3", "bytesize == 5")
    makes = ["set cuda-guard off", *(f"cuda-break cuMemAlloc --from any if {one}" for one in conditions)]
    makes += ["cuda-break cuMemAlloc", "cuda-break cuMemAlloc --from any --on error"]
    text = scenario.run(program, *makes, "break main", "RUN", "cuda-guards", hook=hook)
    row = r"^(\d.*?)  +(by gdb\S*)(?: \((.*?)\))?  +guards are off \('set cuda-guard auto' "
    found = re.findall(row, text, re.MULTILINE)
    if scenario.place == "local":
        assert found == [("1-6", "by gdb", "")]
        return
    who_calls = "who calls has to be looked up in gdb"
    whys = {"1, 5": who_calls, "2": "only gdb knows its threads' numbers", "3": "calls are counted in gdb", "4": "",
            "6": "returns are noted in gdb"}  # fmt: skip
    assert found == [(rows, "by gdb" if why else "by gdbserver", why) for rows, why in whys.items()], text


def test_three_breakpoints_share_one_patch(scenario: Scenario, build) -> None:
    hook, program = build()
    makes = [f"cuda-break cuMemAlloc if bytesize == 1T + {number}" for number in (1000, 1002, 1004)]
    words = (ON, *makes, "RUN", "cuda-guards", "delete 1", "cuda-guards", "continue", "continue", "continue")
    text = scenario.run(program, *words, hook=hook, arguments=("1", "50", "5"))
    first, second = text.split("breakpoint    tested")[1:3]
    row = r"^([-\d]+) +in the process +5 bytes of cuMemAlloc_v2 "
    assert [re.findall(row, one, re.MULTILINE) for one in (first, second)] == [["1-3"], ["2-3"]]
    assert re.findall(r"Breakpoint (\d)[.\d]*, cuMemAlloc_v2", text) == ["1", "2", "3"]


# gdb before 13 asks no Python for instructions.
NO_DISASSEMBLER = """python
import importlib.util
print('' if importlib.util.find_spec('gdb.disassembler') else '@no disassembler')
end"""


def test_the_function_has_its_own_bytes_for_whoever_looks(scenario: Scenario, build, tmp_path: Path) -> None:
    """What displays and hook-stop show is shown before anybody tells us of the stop."""
    hook, program = build()
    (tmp_path / "asks.gdb").write_text(NO_DISASSEMBLER)
    (tmp_path / "early.gdb").write_text("define hook-stop\n  echo @early\\n\n  x/i cuMemAlloc_v2\nend\n")
    words = (ON, "cuda-break cuMemAlloc --from any if bytesize == 1T", "tbreak main", "RUN", "display/i cuMemAlloc_v2",
             f"source {tmp_path}/early.gdb", "tbreak exit", "continue", "echo @prompt\\n", "x/i cuMemAlloc_v2",
             "cuda-guards", f"source {tmp_path}/asks.gdb")  # fmt: skip
    text = scenario.run(program, *words, hook=hook, arguments=("1", "10", "5"))
    assert re.search("^1 +in the process ", text, re.MULTILINE), text
    early, prompt = (re.findall(r"<cuMemAlloc_v2>:\s(\w+)", part) for part in text.split("@early")[1].split("@prompt"))
    assert len(early) == 2 and len(prompt) == 1 and "jmp" not in prompt
    assert "jmp" not in early or (scenario.place == "gdbserver" and "@no disassembler" in text)


# At a stop: the function's first bytes, and a digest of all the code of its library, with what is behind it.
LOOK = """python
import zlib, gdb
from gdbcuda.live import process
def look():
    entry, read = int(gdb.parse_and_eval('(long)&cuMemAlloc_v2')), gdb.selected_inferior().read_memory
    objects = [one for one in process.images() if one.holds(entry) or one.name.endswith('/libgdbcuda.so')]
    pages = [(start, -(-end // 4096) * 4096) for one in objects for start, end, flags in one.segments if flags & 1]
    print('entry', bytes(read(entry, 12)).hex(), [zlib.crc32(read(start, end - start)) for start, end in pages])
end
"""


@pytest.mark.parametrize("flags", ["-O0", "-O2"])
def test_taken_back(scenario: Scenario, build, tmp_path: Path, flags: str) -> None:
    """While the user looks the function has its own bytes; without a guard nothing else is left either."""
    hook, program = build(HOOK, CALLS, flags)
    (tmp_path / "look.gdb").write_text(LOOK)
    commands = [ON, "tbreak main", "RUN", f"source {tmp_path}/look.gdb", "python look()"]
    endbr64 = "4 * (*(unsigned *)&cuMemAlloc_v2 == 0xfa1e0ff3)"  # Ubuntu's gcc begins functions with it
    inside = "tbreak *((long)&cuMemAlloc_v2 + " + (f"5 + {endbr64})" if flags == "-O0" else "3)")
    for change in (
        LARGE, "disable 2", "enable 2", "cuda-guards", "set cuda-guard off", "set cuda-guard on", inside, "delete 3",
        "cuda-guards", "tbreak work", "continue", "continue", "condition 2 $rsi == 5", "delete 2",
    ):  # fmt: skip
        commands += [change, "python look()"]
    text = scenario.run(program, *commands, hook=hook, arguments=("1", "10", "1"))
    seen = re.findall(r"^entry (\w+) (.*)$", text, re.MULTILINE)
    assert len(seen) == 15 and len({entry for entry, _ in seen}) == 1, text
    changed = [code != seen[0][1] for _, code in seen]
    expected = [False, True, False, False, True, False, True, False, False, True, True, True, True, False, False]
    assert changed == expected, text
    assert "Breakpoint 2  hook" in text


@pytest.mark.parametrize("before", ["off", "on"])
def test_the_users_setting_comes_back(scenario: Scenario, build, before: str) -> None:
    """Guards need gdb's breakpoints to stay in the process while it stands."""
    hook, program = build()
    setting = "python print('inserted', gdb.parameter('breakpoint always-inserted'))"
    words = (f"set breakpoint always-inserted {before}", ON, LARGE, "RUN", STATE, setting)
    words += ("set cuda-guard off", setting, "set cuda-guard on", setting)
    text = scenario.run(program, *words, hook=hook, arguments=("1", "10", "1"))
    assert states(text) == ["guarded"]
    assert re.findall(r"^inserted (\w+)$", text, re.MULTILINE) == ["True", str(before == "on"), "True"]


def test_what_the_user_has_counted_off_stays_so(scenario: Scenario, build) -> None:
    """gdb has a guard's breakpoint put in where all of them are gone over: any other way to enable one ends this."""
    hook, program = build()
    words = (ON, "tbreak main", "RUN", "break exit", "enable count 3 $bpnum", LARGE, "info breakpoints 2")
    text = scenario.run(program, *words, hook=hook, arguments=("1", "10", "1"))
    assert "disable after next 3 hits" in text, text


def test_made_as_the_program_goes_on(scenario: Scenario, build) -> None:
    """The first one, without a prompt before: gdb has yet to put breakpoints into the process then."""
    hook, program = build()
    state, look = STATE.replace("(1)", "(3)"), "x/5xb &cuMemAlloc_v2"
    words = (ON, "tbreak main", "RUN", look, "break *&cuMemAlloc_v2", LARGE, state, "delete 2", "continue", state, look)
    text = scenario.run(program, *words, "continue", hook=hook, arguments=("1", "100000", "1"))
    assert "bytesize=1099511628776 [1.00 TiB]" in text and "exited normally" in text
    before, after = re.findall(r"^0x[0-9a-f]+ <cuMemAlloc_v2>:.*$", text, re.MULTILINE)
    assert before == after
    waits = "not guarded: breakpoint 2 is on the function's first instructions"
    if states(text) == [waits, waits]:
        skip_if_places_are_asked()
    assert states(text) == [waits, "guarded"], text


@pytest.mark.parametrize("flags", ["-O0", "-O2"])
def test_step_into_a_call_that_does_not_match(scenario: Scenario, build, flags: str) -> None:
    hook, program = build(HOOK, ONE, flags)
    words = (ON, LARGE, "break ask", "RUN", "delete 2", STATE, "next", "step", "step", "bt", "finish", "continue")
    text = scenario.run(program, *words, hook=hook)
    assert "guarded" in text
    assert re.search(r"#0 .*cuMemAlloc_v2 \(dptr=[\w=@]+, bytesize=[\w=@]*0\)", text), text
    assert "Value returned is $1 = 0" in text
    assert "bytesize=1099511627876" in text


@pytest.mark.parametrize("flags", ["-O0", "-O2"])
def test_instruction_by_instruction(scenario: Scenario, build, flags: str) -> None:
    """From a hit, and from a call that does not match: the function's own code, to its end and behind."""
    hook, program = build(HOOK, ONE, flags)
    step, here = "gdb.execute('stepi', to_string=True)", "gdb.selected_frame().name()"
    into = f"python while {here} != 'cuMemAlloc_v2': {step}"
    out = f"python while {here} == 'cuMemAlloc_v2': seen.append({step})"
    print_it = "python print('went', len(seen) > 5, [s for s in seen if '??' in s], gdb.selected_frame().name())"
    begin = "python seen = []"
    words = (ON, begin, LARGE, "RUN", "disassemble", out, print_it, into, begin, out, print_it)
    text = scenario.run(program, *words, "continue", "info breakpoints", hook=hook)
    assert text.count("went True [] ask") == 2, text
    assert not re.search(r"jmp +0x\w+$", text, re.MULTILINE)
    assert "bytesize=1099511628076" in text and "already hit 2 times" in text


@pytest.mark.usefixtures("forks_live")
@pytest.mark.parametrize("flags", ["-O0", "-O2"])
@pytest.mark.parametrize("follow", ["parent", "child"])
def test_fork_and_exec(scenario: Scenario, build, follow: str, flags: str) -> None:
    """Whoever is debugged has a guard, and whoever is not runs on as alone."""
    hook, program = build(HOOK, FORKING, flags)
    words = (ON, f"set follow-fork-mode {follow}", LARGE, "RUN", "continue", "cuda-guards", "disassemble", "continue")
    text = scenario.run(program, *words, hook=hook)
    second = {"parent": 300, "child": 200}[follow]
    assert re.findall(r"Breakpoint 1  hook .*bytesize=(\d+) ", text) == [str((1 << 40) + n) for n in (100, second)]
    assert re.search(r"^1 +in the process ", text, re.MULTILINE), text
    assert not re.search(r"jmp +0x\w+$", text, re.MULTILINE)
    plain = scenario.run(program, f"set follow-fork-mode {follow}", "RUN", hook=hook)
    if scenario.place == "local":  # through gdbserver the last words can be lost
        said = [sorted(re.findall(r"^(?:first|child|again|status) \w+$", one, re.MULTILINE)) for one in (text, plain)]
        assert said[0] == said[1] and len(said[0]) == 4


def test_runs_again(local: Scenario, build) -> None:
    hook, program = build()
    words = (ON, LARGE, "run", "run", STATE, "kill", "run", STATE, "continue", "run", STATE)
    text = local.run(program, *words, hook=hook, arguments=("1", "1000", "1"))
    assert states(text) == ["guarded"] * 3
    assert text.count("Breakpoint 1  hook") == 4 and "Cannot" not in text


def test_once_ignore_and_commands(scenario: Scenario, build, tmp_path: Path) -> None:
    hook, program = build()
    script = tmp_path / "commands.gdb"  # gdb 10 executes them in a file, not behind -ex
    start = scenario.start(program, hook, ("1", "5000", "5"))
    script.write_text(f'commands 1\nsilent\nprintf "SEEN %lu\\n", bytesize\ncontinue\nend\n{start}\n')
    words = (ON, LARGE, "ignore 1 3", f"source {script}")
    text = scenario.run(program, *words, hook=hook, arguments=("1", "5000", "5"))
    assert re.findall(r"SEEN (\d+)", text) == ["1099511628779", "1099511628780"]
    once = scenario.run(program, ON, LARGE + "", "RUN", hook=hook, arguments=("1", "10", "1"))
    assert "Breakpoint 1  hook" in once
    text = scenario.run(
        program, ON, "cuda-break cuMemAlloc --once if bytesize >= 1T", "RUN", "info breakpoints", "continue",
        hook=hook, arguments=("1", "5000", "5"),
    )  # fmt: skip
    assert text.count("Breakpoint 1  hook") == 1 and "No breakpoints" in text and "checksum" in text


def test_results_of_calls_that_are_let_through(scenario: Scenario, build) -> None:
    hook, program = build(HOOK, ONE)
    words = (ON, "cuda-break cuMemAlloc --on error if bytesize >= 1T", "RUN", STATE, "continue")
    text = scenario.run(program, *words, hook=hook)
    assert re.findall(r"bytesize=(\d+) .* = (\w+)", text) == [("3298534883328", "CUDA_ERROR_OUT_OF_MEMORY")]
    assert states(text) == ["guarded"] and "errors 1" in text


def test_only_the_callers_meant(scenario: Scenario, build) -> None:
    hook, program = build()
    words = (ON, "cuda-break cuMemAlloc --from hook if bytesize >= 1T", "tbreak work", "RUN", STATE, "continue")
    text = scenario.run(program, *words, hook=hook, arguments=("1", "50000", "50000"))
    assert states(text) == ["guarded"] and "Breakpoint 1  " not in text
    assert float(re.search(r"([\d.]+) ns a call", text)[1]) < 20_000


@pytest.mark.usefixtures("forks_live")
@pytest.mark.parametrize("kind", ["with debug info", "stripped"])
def test_dlopen_and_fork_on_the_way(scenario: Scenario, build, kind: str) -> None:
    hook, program = build(HOOK if kind == "with debug info" else STRIPPED_HOOK, ONE)
    words = (ON, LARGE, "RUN", STATE, "continue", STATE, "delete", "continue")
    text = scenario.run(program, *words, hook=hook)
    assert states(text) == ["guarded", "guarded"]
    assert re.findall(r"Breakpoint 1  hook .*bytesize=(\d+)", text) == ["1099511627876", "1099511628076"]
    assert "loaded 1" in text and "child 7" in text


def test_names_asked_of_a_resolver(scenario: Scenario, build) -> None:
    hook, program = build(RESOLVER, ASKING)
    words = ('cuda-break cuGetProcAddress_v2 if symbol == "cuMemAllocA*"', "RUN", STATE, "delete", "continue")
    text = scenario.run(program, ON, *words, hook=hook)
    assert states(text) == ["guarded"] and "symbol=0x" in text and '"cuMemAllocAsync"' in text and "asked" in text


@pytest.mark.parametrize(
    ("flags", "command", "why"),
    [
        (("-O2",), LARGE, "not guarded: a call is among the function's first instructions"),
        (("-O0",), "cuda-break cuMemAlloc --from any", ""),
    ],
)
def test_says_why_not(scenario: Scenario, build, flags: tuple[str, ...], command: str, why: str) -> None:
    hook, program = build(HOOK if "-O0" in flags else UNGUARDABLE, CALLS, *flags)
    text = scenario.run(program, ON, command, "RUN", STATE, "cuda-guards", hook=hook, arguments=("1", "10", "10"))
    assert states(text) == [why] and "by gdb " in text and "Breakpoint 1  hook" in text


@pytest.mark.parametrize("flags", ["-O0", "-O2"])
def test_packets(shim: Path, build, tmp_path: Path, flags: str) -> None:
    """Through gdbserver: a bounded number to set one, none for a false call."""
    hook, program = build(HOOK, CALLS, flags)
    place, log = Scenario(shim, "gdbserver"), tmp_path / "packets"
    mark = [f"python open('{log}', 'a').write('MARK')"]
    words = (f"set remotelogfile {log}", "tbreak main", "RUN", *mark, LARGE, ON, STATE.replace("(1)", "(2)"), *mark)
    text = place.run(program, *words, "continue", *mark, hook=hook, arguments=("1", "100000", "1"))
    assert states(text) == ["guarded"]
    counts = [len(re.findall(r"^w \$", part, re.MULTILINE)) for part in log.read_text().split("MARK")]
    assert counts[1] <= 200 and counts[2] <= 200, counts

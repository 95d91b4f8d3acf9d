"""Guards in processes that were running before, that run on afterwards, and that IDEs look at."""

from __future__ import annotations

import os
import platform
import re
import subprocess
from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile
from guard_programs import BUSY, CALLS, HOOK, KEEPS_FLAGS
from scenario import (
    EXTENSION,
    GDB,
    NO_DEBUG_FILES,
    Scenario,
    execute,
    is_before_13,
    skip_if_places_are_asked,
    skip_if_stacks_are_unreadable,
)
from test_guard import LARGE, ON, STATE, build  # noqa: F401  (a fixture)

pytestmark = pytest.mark.skipif(platform.machine() != "x86_64", reason="guards are made for x86-64")


def executable_bytes(pid: int, name: str) -> bytes:
    """What the process has mapped executable of a library."""
    rows = Path(f"/proc/{pid}/maps").read_text().splitlines()
    start, end = next(row.split()[0].split("-") for row in rows if " r-xp " in row and row.endswith(name))
    with open(f"/proc/{pid}/mem", "rb") as memory:
        memory.seek(int(start, 16))
        return memory.read(int(end, 16) - int(start, 16))


IN_TRAMPOLINE = (  # a thread of it, as one of the function's two breakpoints goes
    "python from gdbcuda.live.guarding.by_process import PROCESSES",
    "python gdb.execute('tbreak *%d' % next(iter(PROCESSES().guards.values())).trampoline.address)",
    "continue",
    "disable 2",
)
HOLD = ("set scheduler-locking on", "set scheduler-locking replay")
CANNOT_HOLD = "cannot support this command"  # cuda-gdb 13


@pytest.mark.parametrize(
    ("leave", "source", "flags"),
    [("detach", HOOK, "-O0"), ("detach inferiors 1", KEEPS_FLAGS, "-O2"), ("quit", HOOK, "-O2")],
    ids=["detach", "detach inferiors", "quit"],
)
def test_attach_guard_and_let_go(local: Scenario, build, leave: str, source: str, flags: str) -> None:  # noqa: F811
    """(What is about another process, or fails, takes guards back until the program goes on.)"""
    hook, program = build(source, BUSY, flags)
    environment = local.environment() | {"LD_PRELOAD": str(hook)}
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen([str(program), "0"], env=environment, **pipes) as process:
        assert process.stdout.readline() == "started\n"
        before = executable_bytes(process.pid, "libguardhook.so")
        make = "cuda-break cuMemAlloc --in libguardhook.so if bytesize >= 1T"
        line = [GDB, "-nx", "-q", "-batch", "-iex", "set debuginfod enabled off", *NO_DEBUG_FILES, *EXTENSION]
        # before 13 what is to be guarded again waits for a prompt, which a script has not
        fails = ("detach inferiors 7", "continue", STATE) if "inferiors" in leave and not is_before_13() else ()
        words = (ON, f"attach {process.pid}", *HOLD, make, f"{make} && bytesize < 9T", "continue", STATE, *fails)
        for word in (*words, "continue", *(IN_TRAMPOLINE if leave != "quit" else ()), leave):
            line += ["-ex", word]
        try:
            text = execute(line, local.environment())
            after = executable_bytes(process.pid, "libguardhook.so")
        finally:
            ended, _ = process.communicate("\n")
    if "ptrace: Operation not permitted" in text:
        pytest.skip("this machine does not let us attach")
    assert text.count("state: guarded") == 1 + bool(fails) and re.search(r"bytesize=1\d{12} ", text), text
    own = len(before.rstrip(b"\0"))  # a trampoline in which a thread is stays, where gdb cannot step it out of it
    assert before[:own] == after[:own] and (leave == "quit" or CANNOT_HOLD in text or before == after)
    assert (ended, process.returncode) == ("wrong 0\n", 0)


@pytest.mark.parametrize("leave", ["detach", "quit"])
def test_let_go_before_it_has_gone_on(local: Scenario, build, leave: str) -> None:  # noqa: F811
    """What takes guards back hears of the end though nobody has asked it for anything yet."""
    hook, program = build(HOOK, BUSY, "-O0")
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen([str(program), "0"], env=local.environment() | {"LD_PRELOAD": str(hook)}, **pipes) as process:
        assert process.stdout.readline() == "started\n"
        before = executable_bytes(process.pid, hook.name)
        line = [GDB, "-nx", "-q", "-batch", "-iex", "set debuginfod enabled off", *NO_DEBUG_FILES, *EXTENSION]
        make = f"cuda-break cuMemAlloc --in {hook.name} if bytesize >= 1T"
        for word in (f"attach {process.pid}", make, leave):
            line += ["-ex", word]
        try:
            text = execute(line, local.environment())
            after = executable_bytes(process.pid, hook.name)
        finally:
            ended, _ = process.communicate("\n")
    if "ptrace: Operation not permitted" in text:
        pytest.skip("this machine does not let us attach")
    assert "; guarded" in text and before == after, text
    assert (ended, process.returncode) == ("wrong 0\n", 0)


def test_commands_that_continue_do_not_run_as_the_process_is_let_go(local: Scenario) -> None:
    """A thread's way out of the guard's code leads to the breakpoint that has them."""
    commands = "python gdb.breakpoints()[0].commands = 'silent\\ncontinue'"
    matched = [one.replace(".address", ".hit") for one in IN_TRAMPOLINE[:3]]
    words = ("cuda-break cuMemAlloc --in hook if bytesize == 3 << 30", "tbreak main", "RUN", commands, *matched)
    text = local.run("test_alloc", *words, "break abort", "enable count 3 $bpnum", "detach", "info breakpoints")
    assert re.search(r"\[Inferior 1 \(process \d+\) detached\]", text) and "exited" not in text, text
    assert "already hit" not in text, text
    assert re.search(r"^1 +breakpoint +keep y ", text, re.MULTILINE), text
    assert "disable after next 3 hits" in text, text


FOUR = """
#include <stddef.h>
#define ONE(name) int name(unsigned long long *p, size_t bytesize) { *p = *p * 31 + bytesize; return 0; }
ONE(cuMemAlloc_v2) ONE(cuMemAllocHost_v2) ONE(cuMemAllocAsync) ONE(cuMemAllocManaged)
"""
CALLING = """
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
int cuMemAlloc_v2(unsigned long long *dptr, size_t bytesize);
int main(void)
{
    struct pollfd input = {0, POLLIN, 0};
    unsigned long long wrong = 0, x;
    puts("started");
    fflush(stdout);
    for (size_t n = 1; !poll(&input, 1, 0); n++) {
        size_t bytes = n % 100 ? n : ((size_t)1 << 40) + n;
        x = 1;
        cuMemAlloc_v2(&x, bytes);
        wrong += x != 31 + bytes;
    }
    printf("wrong %llu\\n", wrong);
    return 0;
}
"""


@pytest.mark.parametrize("far", [False, True], ids=["local", "gdbserver"])
def test_an_ide_lets_go(local: Scenario, build, far: bool) -> None:  # noqa: F811
    """MI's own detach asks no hook, and gdb tells of it when the process runs already. (A thread that is in the
    trampoline then keeps it: this one has one thread, which has come to the function.) Nobody reaches the far end of a
    link by then: what nothing leads to stays there."""
    pytest.importorskip("pygdbmi.gdbcontroller", reason="pygdbmi is not installed (scripts/test installs it)")
    from clients.mi import Ide, console

    hook, program = build(FOUR, CALLING, "-O2")
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen([str(program)], env=local.environment() | {"LD_PRELOAD": str(hook)}, **pipes) as process:
        assert process.stdout.readline() == "started\n"
        before = executable_bytes(process.pid, hook.name)
        ide = Ide(program, (), local.environment())
        attach = f"target remote | gdbserver --once --attach - {process.pid}"
        try:
            if ide.say(attach if far else f"-target-attach {process.pid}")["message"] == "error":
                process.kill()
                pytest.skip("this machine does not let us attach")
            ide.do("cuda-break 'cuMemAlloc*' --from any if bytesize >= 1T")
            ide.do("-exec-continue")
            ide.stop()
            assert len(re.findall(r"^\d+ +in the process", ide.do("cuda-guards"), re.MULTILINE)) == 4
            assert executable_bytes(process.pid, hook.name) != before
            said = len(ide.seen)
            ide.do("-target-detach")
            after = executable_bytes(process.pid, hook.name)
            told = console(ide.seen[said:])
        finally:
            ide.close()
        after = executable_bytes(process.pid, hook.name)
        assert functions_of(hook, after) == functions_of(hook, before)
        assert ("code of 4 guards stays" in told) == far and (far or after == before)
        ended, _ = process.communicate("\n")
    assert (ended, process.returncode) == ("wrong 0\n", 0)


def test_gdb_disconnects(local: Scenario, build) -> None:  # noqa: F811
    """The program stands still at its gdbserver, for the next who comes."""
    hook, program = build(FOUR, CALLING, "-O2")
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen([str(program)], env=local.environment() | {"LD_PRELOAD": str(hook)}, **pipes) as process:
        assert process.stdout.readline() == "started\n"
        before = executable_bytes(process.pid, hook.name)
        line = ["gdbserver", "--attach", "localhost:0", str(process.pid)]
        with subprocess.Popen(line, stderr=subprocess.PIPE, text=True) as server:
            told = filter(None, (re.match(r"Listening on port (\d+)", one) for one in server.stderr))
            port = next((one[1] for one in told), "")
            make = "cuda-break 'cuMemAlloc*' --from any if bytesize >= 1T"
            words = (ON, f"target remote localhost:{port}", make, "continue", "cuda-guards", "disconnect")
            line = [GDB, "-nx", "-q", "-batch", "-iex", "set debuginfod enabled off", *NO_DEBUG_FILES, *EXTENSION]
            text = execute([*line, *(word for one in words for word in ("-ex", one))], local.environment())
            after = executable_bytes(process.pid, hook.name)
            server.kill()
        process.kill()
    if "Operation not permitted" in text or not port:
        pytest.skip("this machine does not let us attach")
    assert "in the process" in text and after == before, text


def functions_of(hook: Path, code: bytes) -> dict[str, bytes]:
    """Their bytes, of those that the process has mapped executable."""
    with hook.open("rb") as file:
        elf = ELFFile(file)
        begin = next(one["p_vaddr"] for one in elf.iter_segments("PT_LOAD") if one["p_flags"] & 1) & -4096
        symbols = [one for one in elf.get_section_by_name(".dynsym").iter_symbols() if one.name.startswith("cuMem")]
    starts = {one.name: one["st_value"] - begin for one in symbols}
    return {one.name: code[starts[one.name] : starts[one.name] + one["st_size"]] for one in symbols}


@pytest.mark.parametrize(("flags", "inside"), [("-O0", 4), ("-O2", 3)])
def test_random_changes_while_threads_call_and_signals_arrive(scenario: Scenario, build, flags, inside) -> None:  # noqa: F811
    hook, program = build(HOOK, BUSY, flags)
    script = Path(__file__).with_name("guard_random.py")
    words = (ON, f"set $inside = {inside}", "set cuda-stop-info off")
    words += ("handle SIGALRM nostop noprint pass", "tbreak main", "RUN", "delete")
    text = scenario.run(program, *words, f"source {script}", hook=hook, arguments=("6000", "signals"))
    assert "rounds 150, stops True, wrong stops 0" in text and "\nended True 0\n" in text, text
    assert scenario.place == "gdbserver" or "late 0" in text, text
    assert "wrong 0" in text or (scenario.place == "gdbserver" and not re.search(r"^wrong", text, re.MULTILINE))
    if "guarded False" in text:
        skip_if_stacks_are_unreadable(text)
        skip_if_places_are_asked()
    assert "guarded True" in text, text


@pytest.mark.parametrize("flags", ["-O0", "-O2"])
def test_over_the_machine_interface(local: Scenario, build, flags: str) -> None:  # noqa: F811
    controllers = pytest.importorskip("pygdbmi.gdbcontroller", reason="pygdbmi is not installed")
    hook, program = build(HOOK, CALLS, flags)
    line = [GDB, "-nx", "-q", "--interpreter=mi3", "--tty=/dev/null", *NO_DEBUG_FILES, *EXTENSION]
    line += ["--args", str(program)]  # without its output, which may come in the middle of a line of MI
    old, os.environ["LD_LIBRARY_PATH"] = os.environ.get("LD_LIBRARY_PATH"), str(local.shim / "standin")
    ide = controllers.GdbController([*line, "1", "50000", "2"])
    os.environ.pop("LD_LIBRARY_PATH") if old is None else os.environ.update(LD_LIBRARY_PATH=old)
    stops = []
    for command in (ON, f"cuda-load {hook}", LARGE, "-exec-run", "-exec-continue", "-exec-continue"):
        records = ide.write(command, timeout_sec=20)
        while command.startswith("-exec") and not any(r["message"] == "stopped" for r in records):
            records += ide.get_gdb_response(timeout_sec=20)
        stops += [r["payload"] for r in records if r["message"] == "stopped"]
    ide.exit()
    assert [s["reason"] for s in stops] == ["breakpoint-hit", "breakpoint-hit", "exited-normally"]
    assert [s["bkptno"] for s in stops[:2]] == ["1", "1"]
    assert [s["frame"]["func"] for s in stops[:2]] == ["cuMemAlloc_v2"] * 2


CALLS_FOUR = """
#include <stddef.h>
#define ONE(name) int name(unsigned long long *p, size_t bytesize);
ONE(cuMemAlloc_v2) ONE(cuMemAllocHost_v2) ONE(cuMemAllocAsync) ONE(cuMemAllocManaged)
int main(void)
{
    unsigned long long sum = 0;
    for (int i = 0; i < 200; i++) {
        cuMemAllocHost_v2(&sum, i == 50 ? 1ul << 40 : i);
        cuMemAlloc_v2(&sum, i == 60 || i == 70 ? (1ul << 40) + i : i);
        cuMemAllocAsync(&sum, i);
        cuMemAllocManaged(&sum, i);
    }
    return sum == 0;
}
"""


@pytest.mark.parametrize("flags", ["-O0", "-O2"])
def test_the_log_begins_on_a_guarded_function(scenario: Scenario, build, flags: str) -> None:  # noqa: F811
    """Through a link gdb reads code from files meanwhile: what is in the process has to be seen all the same, or the
    guard's jump stays there, and leads to the breakpoint again and again."""
    hook, program = build(FOUR, CALLS_FOUR, flags)
    words = (ON, "set sysroot /", "cuda-break 'cuMemAlloc*' if bytesize >= 1T", "RUN", "cuda-guards")
    words += ("cuda-log start cuMemAlloc", "cuda-guards", *["continue"] * 3)
    text = scenario.run(program, *words, hook=hook)
    assert len(re.findall("in the process", text)) >= 4, text
    assert "patched by someone else" not in text and "exited normally" in text, text
    sizes = re.findall(r"^Breakpoint \d+  hook .*bytesize=(\d+) ", text, re.MULTILINE)
    assert [int(one) - (1 << 40) for one in sizes] == [0, 60, 70], text

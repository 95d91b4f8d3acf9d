"""More guards than there are unused bytes: pages that the program maps, and gives back."""

from __future__ import annotations

import platform
import re
from pathlib import Path

import pytest
from scenario import Scenario

from gdbcuda import api

pytestmark = pytest.mark.skipif(platform.machine() != "x86_64", reason="guards are made for x86-64")
ELSEWHERE = "set cuda-guard-stacks off"  # our library has room for all of them
NAMES = sorted({one.symbol for one in api.load().find("cuM*") if one.api == "driver"})
COUNT = len(NAMES)
HEAD = "#include <errno.h>\n#include <stdio.h>\n#include <string.h>\n#include <signal.h>\n"
PROGRAM = """
static void unwanted(void) { for (int i = 0; i < 50; i++) { %(calls)s } }
static void wanted(void) { %(calls)s }
static void on_signal(int number) { wanted(); }
int main(int count, char **words)
{
    errno = 33;
    signal(SIGUSR1, on_signal);
    unwanted();
    if (count > 1)
        raise(SIGUSR1);
    wanted();
    unwanted();
    printf("%%d calls, errno %%d\\n", (int)total, errno);
    fflush(stdout);
    return 0;
}
"""
SPACE = "__import__('gdbcuda.live.patching.trampoline_space', fromlist=['*'])"
MAPPED = f"python print('mapped', len({SPACE}.OUR_MEMORY().mapped))"
STATES = "python import gdbcuda.live.guarding.guards as g; print('guards', len(g.PROCESSES().guards))"


@pytest.fixture
def many(compile_c, tmp_path: Path) -> tuple[Path, Path]:
    """A hook library with many functions, and a program that calls each of them from here and from there."""
    bodies = "".join(f"int {name}(long a, long b) {{ total++; return a + b > 5; }}\n" for name in NAMES)
    declared = "extern long total;\n" + "".join(f"int {name}(long a, long b);\n" for name in NAMES)
    hook = compile_c("libmany.so", "long total;\n" + bodies, "-shared")
    calls = " ".join(f"{name}(1, 2);" for name in NAMES)
    program = compile_c("program", HEAD + declared + PROGRAM % {"calls": calls}, str(hook), f"-Wl,-rpath,{tmp_path}")
    return hook, program


IGNORE = "python [gdb.execute(f'ignore {one.number} 9', to_string=True) for one in gdb.breakpoints()]"
HITS = "python print('hits', [one.hit_count for one in gdb.breakpoints()].count(1))"


@pytest.mark.usefixtures("calls_functions")
def test_all_of_them_work_and_all_is_given_back(scenario: Scenario, many: tuple[Path, Path]) -> None:
    hook, program = many
    assert COUNT > 150
    words = ("tbreak main", "RUN", "next", "cuda-break cuM* if caller in wanted", STATES, MAPPED)
    words += ("set cuda-guard off", STATES, MAPPED, "set cuda-guard on", STATES, MAPPED, IGNORE, "continue", HITS)
    text = scenario.run(program, ELSEWHERE, *words, hook=hook)
    assert re.findall(r"^guards (\d+)$", text, re.MULTILINE) == [str(COUNT), "0", str(COUNT)], text
    mapped = [int(count) for count in re.findall(r"^mapped (\d+)$", text, re.MULTILINE)]
    assert mapped[0] > 0 and mapped[1] == 0 and mapped[2] > 0
    assert f"hits {COUNT}" in text
    if scenario.place == "local":  # through gdbserver the last words can be lost
        assert f"{COUNT * 101} calls, errno 33" in text


def test_detached_from_it_goes_on_as_alone(local: Scenario, many: tuple[Path, Path]) -> None:
    hook, program = many
    text = local.run(
        program, ELSEWHERE, "break main", "run", "cuda-break cuM* if caller in wanted", "continue", "detach", hook=hook
    )
    assert "stay in the process" not in text and "detached" in text, text


def test_not_in_a_signal_handler(local: Scenario, many: tuple[Path, Path]) -> None:
    hook, program = many
    words = (
        ELSEWHERE,
        "handle SIGUSR1 nostop pass",
        "break on_signal",
        "run",
        "cuda-break cuM* if caller in wanted",
        "cuda-guards",
        "delete",
        "continue",
    )
    text = local.run(program, *words, hook=hook, arguments=("signal",))
    reasons = ("and the selected thread is in a signal handler", "a signal handler may return into the function")
    assert any(reason in text for reason in reasons), text
    assert f"{COUNT * 102} calls, errno 33" in text


@pytest.mark.usefixtures("calls_functions")
def test_no_more_than_gdb_bears_well(local: Scenario) -> None:
    everything = "cuda-break cu* --in hook if caller in libc.so.6"
    text = local.run("test_alloc", "break main", "run", everything, "cuda-guards")
    assert text.count("  in the process  ") == 256
    assert "256 functions have one already, and more would make every stop slow" in text


def test_all_of_them_in_our_library(local: Scenario, many: tuple[Path, Path]) -> None:
    """Then no page is mapped, and no function called in the program."""
    hook, program = many
    words = ("tbreak main", "run", "cuda-break cuM* if caller in wanted", STATES, MAPPED, IGNORE, "continue", HITS)
    text = local.run(program, *words, hook=hook)
    assert f"guards {COUNT}\n" in text and "mapped 0\n" in text and f"hits {COUNT}" in text, text
    assert f"{COUNT * 101} calls, errno 33" in text, text

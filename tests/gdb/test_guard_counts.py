"""Guards: each match stops once, each call is counted once, whoever counts."""

from __future__ import annotations

import platform
import re
from pathlib import Path

import pytest
from guard_programs import CALLS, GO_ON, HOOK, STOPS
from scenario import Scenario
from test_guard import LARGE, ON, build  # noqa: F401  (a fixture)

pytestmark = pytest.mark.skipif(platform.machine() != "x86_64", reason="guards are made for x86-64")

SIZES = "python print('sizes', len(sizes), len(set(sizes)), min(sizes) >> 40, max(sizes) >> 40)"


@pytest.mark.parametrize("flags", ["-O0", "-O2"])
def test_calls_seen(scenario: Scenario, build, flags: str) -> None:  # noqa: F811
    """Exactly, whoever looks at them on the way: the second of ten matches is the 101st call of a thousand."""
    hook, program = build(HOOK, CALLS, flags)
    make = "cuda-break cuMemAlloc --count if bytesize >= 1T"
    words = (
        ON,
        make,
        "RUN",
        "continue",
        "info breakpoints",
        "next",
        "next",
        "continue",
        "cuda-guards",
        "delete",
        LARGE,
    )
    text = scenario.run(program, *words, "continue", "info breakpoints", hook=hook, arguments=("1", "1000", "10"))
    assert re.findall(r"Breakpoint \d: tested in the process(?:, (\w+) calls seen)?\n", text) == ["101", ""]
    assert re.findall(r"^1 +in the process +(\d+) ", text, re.MULTILINE) == ["201"]


def test_counting_has_the_function_for_itself(local: Scenario, build) -> None:  # noqa: F811
    """Both breakpoints would ask its count, and each call is counted once."""
    hook, program = build()
    makes = (ON, f"{LARGE} && nth == 3", "cuda-break cuMemAlloc if bytesize == 5")
    text = local.run(program, *makes, "RUN", "cuda-guards", "continue", hook=hook, arguments=("1", "100", "5"))
    assert re.search(r"^1 .* it counts calls, and another breakpoint is on the same function$", text, re.MULTILINE), (
        text
    )
    assert re.search(r"^2 .* breakpoint 1 is on the same function, and counts calls$", text, re.MULTILINE), text
    assert text.count("Breakpoint 1  hook") == 1 and "already hit" not in text


@pytest.mark.parametrize(("flags", "matches"), [("-O0", 1000), ("-O2", 200)])
def test_a_thousand_among_eighty_million(local: Scenario, build, tmp_path: Path, flags: str, matches: int) -> None:  # noqa: F811
    """Fewer in optimised code: after each stop its guard waits until no thread is in the first bytes."""
    hook, program = build(HOOK, CALLS, flags)
    (tmp_path / "stops.gdb").write_text(STOPS)
    words = (ON, "set cuda-stop-info off", f"source {tmp_path}/stops.gdb", LARGE, "run", GO_ON, SIZES)
    arguments = ("8", "10000000", str(matches // 8))
    text = local.run(program, *words, "info breakpoints", hook=hook, arguments=arguments)
    assert f"sizes {matches} {matches} 1 1" in text
    assert f"already hit {matches} times" in text
    plain = local.run(program, "run", hook=hook, arguments=arguments)
    sums = [re.search(r"checksum (\w+)", one)[1] for one in (text, plain)]
    assert sums[0] == sums[1]


FROM_OTHERS = """python
while gdb.selected_inferior().pid:
    if len(sizes) % 3 == 0: gdb.execute('thread 1', to_string=True)
    gdb.execute('continue', to_string=True)
end
"""


@pytest.mark.parametrize("flags", ["-O0", "-O2"])
def test_every_match_through_gdbserver(shim: Path, build, tmp_path: Path, flags: str) -> None:  # noqa: F811
    """Also where another thread is selected when the program goes on."""
    hook, program = build(HOOK, CALLS, flags)
    (tmp_path / "stops.gdb").write_text(STOPS)
    (tmp_path / "go_on.gdb").write_text(FROM_OTHERS)
    words = (ON, "set cuda-stop-info off", f"source {tmp_path}/stops.gdb", LARGE, "RUN")
    words += (f"source {tmp_path}/go_on.gdb", SIZES)
    arguments = ("8", "10000000", "125", str(tmp_path / "sum"))
    text = Scenario(shim, "gdbserver").run(program, *words, hook=hook, arguments=arguments)
    assert "sizes 1000 1000 1 1" in text
    stopped = (tmp_path / "sum").read_text().split(",")[0]
    Scenario(shim).run(program, "run", hook=hook, arguments=arguments)
    assert stopped == (tmp_path / "sum").read_text().split(",")[0]


@pytest.mark.parametrize("flags", ["-O0", "-O2"])
def test_calls_are_counted_once_each(local: Scenario, build, tmp_path: Path, flags: str) -> None:  # noqa: F811
    hook, program = build(HOOK, CALLS, flags)
    (tmp_path / "stops.gdb").write_text(STOPS)
    words = (ON, "set cuda-stop-info off", f"source {tmp_path}/stops.gdb", LARGE + " && every 10", "run", GO_ON, SIZES)
    assert "sizes 40 40 1 1" in local.run(program, *words, hook=hook, arguments=("4", "100000", "100"))


@pytest.mark.parametrize("flags", ["-O0", "-O2"])
def test_what_a_guard_asks_of_the_process(scenario: Scenario, build, flags: str) -> None:  # noqa: F811
    """The thread, the caller, a count: in the process too."""
    hook, program = build(HOOK, CALLS, flags)
    make = "cuda-break cuMemAlloc if bytesize >= 1T && thread == 2 && caller in work && nth == 4"
    words = (ON, "tbreak work", "RUN", make, "delete 1", "continue", "continue", "info breakpoints")
    text = scenario.run(program, *words, hook=hook, arguments=("2", "50000", "10"))
    fourth = 4 - 1  # of thread 2, which is the program's first or second: gdbserver lists them in any order
    sizes = [str((1 << 40) + 1000 * argument + fourth) for argument in (1, 2)]
    assert len(found := re.findall(r"bytesize=(\d+) \[", text)) == 1 and found[0] in sizes and "; guarded" in text
    assert "already hit 1 time" in text and "checksum" in text


ENDS = """
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>
int cuMemAlloc_v2(unsigned long long *p, size_t bytesize);
static void *work(void *how)
{
    unsigned long long sum = 1;
    for (size_t i = 0; i < 1000; i++)
        cuMemAlloc_v2(&sum, i);
    switch (*(char *)how) {
    case 'e': exit(3);
    case '_': _exit(3);
    case 'q': quick_exit(3);
    case 'a': abort();
    case 'k': kill(getpid(), SIGKILL); pause();
    }
    return 0;
}
int main(int count, char **words)
{
    pthread_t thread;
    pthread_create(&thread, 0, work, words[count - 1]);
    if (*words[count - 1] == 'p')
        pthread_exit(0);
    pthread_join(thread, 0);
    return 3;
}
"""


@pytest.mark.parametrize("how", ["exit", "_exit", "quick_exit", "abort", "pthread_exit", "return"])
def test_calls_are_told_when_the_process_has_ended(scenario: Scenario, build, how: str) -> None:  # noqa: F811
    hook, program = build(HOOK, ENDS, "-O0", "-pthread")
    end = ("continue", "continue") if how == "abort" else ("continue",)  # it stops for the signal first
    text = scenario.run(program, ON, "cuda-break cuMemAlloc --count if bytesize >= 1T", "break main", "RUN", *end,
                        "cuda-guards", "info breakpoints", hook=hook, arguments=(how,))  # fmt: skip
    assert re.search(r"^1 +the process has ended +1,000$", text, re.MULTILINE), text
    assert re.search(r"^breakpoint +tested +calls$", text, re.MULTILINE), "nobody tests at a place"
    assert "fault of gdbcuda" not in text
    assert "exited with code 03" in text or how in ("abort", "pthread_exit"), text


CALLS_WHILE_LOADING = """
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
int cuMemAlloc_v2(unsigned long long *p, size_t bytesize);
static volatile int loaded;
static volatile size_t calls;
static void *work(void *unused)
{
    unsigned long long sum = 1;
    for (; !loaded; calls++)
        cuMemAlloc_v2(&sum, calls);
    return 0;
}
int main(void)
{
    pthread_t thread;
    pthread_create(&thread, 0, work, 0);
    while (!calls)
        ;
    for (int i = 0; i < 6; i++)
        dlclose(dlopen("libutil.so.1", RTLD_NOW));
    loaded = 1;
    pthread_join(thread, 0);
    printf("calls: %zu\\n", calls);
    return 3;
}
"""


def test_calls_are_counted_while_libraries_are_loaded(scenario: Scenario, build) -> None:  # noqa: F811
    """gdb may read the new object where a load begins: what it is shown then is hidden before anything runs."""
    hook, program = build(HOOK, CALLS_WHILE_LOADING, "-O0", "-pthread")
    count = "cuda-break cuMemAlloc --count if bytesize >= 1T"
    text = scenario.run(program, ON, count, "break main", "RUN", "continue", "cuda-guards", hook=hook)
    counted = re.search(r"^1 +the process has ended +([\d,]+)$", text, re.MULTILINE)
    calls = re.search(r"^calls: (\d+)$", text, re.MULTILINE)
    assert counted and calls and int(counted[1].replace(",", "")) == int(calls[1]), text


def test_calls_of_a_process_that_is_killed_are_those_of_its_last_stop(local: Scenario, build) -> None:  # noqa: F811
    hook, program = build(HOOK, ENDS, "-O0", "-pthread")
    count = "cuda-break cuMemAlloc --count if bytesize >= 1T || bytesize == 500"
    other = "cuda-break cuMemAlloc if bytesize == 2T"
    text = local.run(program, ON, count, other, "run", "kill", "cuda-guards", "run", "continue", "cuda-guards",
                     hook=hook, arguments=("kill",))  # fmt: skip
    assert re.findall(r"^1 +the process has ended +(\S+)$", text, re.MULTILINE) == ["501", "501"]
    assert len(re.findall("^2 +no process$", text, re.MULTILINE)) == 2, "nobody tests a condition there"

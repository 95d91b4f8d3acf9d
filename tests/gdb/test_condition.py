"""What only a process knows, in conditions: callers, threads, counts. And what TAB and a mistake say."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from scenario import Scenario

HOOK = """
#include <stddef.h>
int cuMemAlloc_v2(unsigned long long *dptr, size_t bytesize) { *dptr = bytesize; return bytesize % 2 ? 2 : 0; }
int cuMemcpy2D_v2(const void *pCopy) { return pCopy == NULL; }
int helper(size_t bytesize) { unsigned long long found; return 1 + cuMemAlloc_v2(&found, bytesize); }
"""
LIBRARY = """
#include <stddef.h>
int cuMemAlloc_v2(unsigned long long *dptr, size_t bytesize);
static int inner(size_t bytesize) { unsigned long long found; return 1 + cuMemAlloc_v2(&found, bytesize); }
int outer(size_t bytesize) { return inner(bytesize); }
"""
# Threads 2, 3 and 4 call one after the other: 10 times each directly, by the library, and by the hook's own helper.
PROGRAM = """
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
int cuMemAlloc_v2(unsigned long long *dptr, size_t bytesize);
int cuMemcpy2D_v2(const void *pCopy);
int outer(size_t bytesize), helper(size_t bytesize);
static pthread_barrier_t all_there;
static pthread_mutex_t turns[4];
static void *work(void *argument)
{
    size_t me = (size_t)argument;
    unsigned long long found;
    pthread_barrier_wait(&all_there);
    pthread_mutex_lock(&turns[me]);
    for (size_t i = 0; i < 10; i++) {
        cuMemAlloc_v2(&found, me * 1000 + i);
        outer(me * 1000 + 100 + i);
        helper(me * 1000 + 200 + i);
    }
    if (me < 3)
        pthread_mutex_unlock(&turns[me + 1]);
    return NULL;
}
void ready(void) {}
int main(void)
{
    pthread_t threads[4];
    size_t copy[16] = {[14] = 4096, 7};
    pthread_barrier_init(&all_there, NULL, 4);
    for (size_t i = 1; i < 4; i++) {
        pthread_mutex_init(&turns[i], NULL);
        pthread_mutex_lock(&turns[i]);
        pthread_create(&threads[i], NULL, work, (void *)i);
    }
    pthread_barrier_wait(&all_there);
    ready();
    cuMemcpy2D_v2(NULL);
    cuMemcpy2D_v2(copy);
    pthread_mutex_unlock(&turns[1]);
    for (int i = 1; i < 4; i++)
        pthread_join(threads[i], NULL);
    puts("done");
    return 0;
}
"""
RECORD = """python
def note(event):
    if isinstance(event, gdb.BreakpointEvent) and gdb.selected_frame().name() == "cuMemAlloc_v2":
        for number in (one.number for one in event.breakpoints if one.hit_count > seen.get(one.number, 0)):
            print("size:", number, int(gdb.parse_and_eval("$_cuda_arg(\\"bytesize\\")")))
        seen.update((one.number, one.hit_count) for one in event.breakpoints)
seen = {}
gdb.events.stop.connect(note)
"""
GO_ON = "python while gdb.selected_inferior().pid: gdb.execute('continue')"


@pytest.fixture
def built(compile_c, tmp_path: Path) -> tuple[Path, Path]:
    hook = compile_c("libwordshook.so", HOOK, "-shared")
    library = compile_c("libcalls.so", LIBRARY, "-shared", "-O1")
    words = (str(library), str(hook), f"-Wl,-rpath,{tmp_path}", "-pthread")
    return hook, compile_c("program", PROGRAM, *words)


def sizes(text: str) -> dict[int, list[int]]:
    """By breakpoint number: the argument at each of its stops."""
    found: dict[int, list[int]] = {}
    for number, size in re.findall(r"^size: (\d+) (\d+)$", text, re.MULTILINE):
        found.setdefault(int(number), []).append(int(size))
    return found


DIRECT = [1000 * thread + i for thread in (1, 2, 3) for i in range(10)]
BY_LIBRARY = [size + 100 for size in DIRECT]
BY_HOOK = [size + 200 for size in DIRECT]
FROM_APP = sorted(DIRECT + BY_LIBRARY, key=lambda size: (size // 1000, size % 100, size))


EXPECTED = {
    "if caller in work && bytesize % 5 == 0": DIRECT[::5],
    "if caller in libcalls.so && bytesize % 5 == 0": BY_LIBRARY[::5],
    "if caller in libc*,hook && bytesize % 100 == 9": [1109, 1209, 2109, 2209, 3109, 3209],
    "if !(caller in app) && thread == 3": BY_HOOK[10:20],
    "if thread != 2 && nth == 7": [FROM_APP[20:][6]],
    "if nth == 7": [FROM_APP[6]],
    "--from hook if nth == 7": [BY_HOOK[6]],
    "if after 57": FROM_APP[57:],
    "if every 20 && after 20": [FROM_APP[39], FROM_APP[59]],
    "if nth <= 2 && bytesize % 10 == 3": [1003, 1103],
}


def test_callers_threads_and_counts(scenario: Scenario, built) -> None:
    """Each breakpoint counts for itself, and anew with every process."""
    hook, program = built
    made = [f"cuda-break cuMemAlloc {words}" for words in EXPECTED]
    now = "python seen.update((one.number, one.hit_count) for one in gdb.breakpoints())"
    commands = ["break ready", "RUN", *made, RECORD, GO_ON, "echo again\\n", "RUN", now, GO_ON]
    text = scenario.run(program, *commands, hook=hook)
    for run in text.split("\nagain\n"):
        found = {words: sizes(run).get(number) for number, words in enumerate(EXPECTED, 2)}
        assert found == EXPECTED


def test_returns_of_the_calls_that_the_count_lets_through(scenario: Scenario, built) -> None:
    """Every second of the program's calls; of these the ones with an odd size fail."""
    hook, program = built
    commands = ("break ready", "RUN", "cuda-break cuMemAlloc --on error if every 4", GO_ON)
    text = scenario.run(program, *commands, hook=hook)
    found = [int(size) for size in re.findall(r"bytesize=(\d+).*CUDA_ERROR_OUT_OF_MEMORY", text)]
    assert found == [size for size in FROM_APP[3::4] if size % 2]


def test_a_pointer_is_followed_unless_it_is_null(scenario: Scenario, built) -> None:
    hook, program = built
    made = (
        "cuda-break cuMemcpy2D if pCopy->Height == 7 && pCopy->WidthInBytes >= 4K",
        "cuda-break cuMemcpy2D if pCopy->Height != 7",
    )
    text = scenario.run(program, *made, "RUN", "info breakpoints", hook=hook)
    assert "hit Breakpoint 1," in text and "Breakpoint 2," not in text and "Height=7" in text
    assert "$_cuda_if" not in text  # gdb, or gdbserver, evaluates it


def test_gdbserver_follows_pointers_by_itself(shim: Path, built) -> None:
    hook, program = built
    made = "cuda-break cuMemcpy2D --from any if pCopy->Height == 7 && pCopy->WidthInBytes"
    text = Scenario(shim, "gdbserver").run(
        program, "break main", "RUN", made, "continue", "info breakpoints", hook=hook
    )
    assert "hit Breakpoint 2," in text and re.search(r"stop only if .*rdi.* \(target evals\)", text)


AGREE = """python
from gdbcuda.live import process
from gdbcuda.live.frames import callers, code_places, condition_words
from gdbcuda.condition.place import within
names = ("work", "main", "outer", "inner", "helper", "cuMemAlloc_v2", "malloc", "clone", "__libc_start_main")
starts = [process.function_start(pc) for name in names for pc in process.decoded(name)]
addresses = [start + more for start in starts for more in (0, 1, 4, 16)]
words = ("any", "app", "hook", "system", "driver", "libcalls.so", "lib*", "program", "work", "outer", "nobody")
differ = [
    (word, hex(address)) for word in words for address in addresses
    if within(address, callers.ranges([word])) != condition_words.is_from(code_places.caller(address), word)
]
print("compared:", len(words) * len(addresses), "differ:", differ)
print("of work:", len(callers.ranges(["work"])), "of nobody:", len(callers.ranges(["nobody"])))
"""


def test_address_ranges_say_what_gdb_says(scenario: Scenario, built) -> None:
    """What machine code compares with, and what `$_cuda_from` looks up."""
    hook, program = built
    text = scenario.run(program, "break ready", "RUN", AGREE, hook=hook)
    compared, differ = re.search(r"compared: (\d+) differ: (.*)", text).groups()
    assert int(compared) >= 300 and differ == "[]", text
    assert "of work: 1 of nobody: 0" in text


def test_saved_breakpoints_count_under_their_new_number(local: Scenario, built, tmp_path: Path) -> None:
    hook, program = built
    file = tmp_path / "saved"
    condition = "cuda-break cuMemAlloc if nth == 5"
    local.run(program, "break ready", condition, f"save breakpoints {file}", hook=hook)
    commands = ("break main", f"source {file}", "info breakpoints", "RUN", RECORD, GO_ON)
    text = local.run(program, *commands, hook=hook)
    assert '$_cuda_count(3, "nth == 5")' in text
    assert sizes(text) == {3: [FROM_APP[4]]}


def test_the_log_takes_them_too(scenario: Scenario, built) -> None:
    hook, program = built
    commands = (
        "break ready",
        "RUN",
        "cuda-log start cuMemAlloc --from any if caller in hook && thread == 4 && every 3",
        "continue",
        "cuda-log show",
    )
    text = scenario.run(program, *commands, hook=hook)
    found = [int(size) for size in re.findall(r"cuMemAlloc_v2\(.*?bytesize=(\d+)", text)]
    assert found == BY_HOOK[20:][2::3], text


@pytest.mark.parametrize(
    "condition, says",
    [
        (
            "caller in libcall.so",
            "column 11: no loaded object or function is called libcall.so; did you mean libcalls.so?",
        ),
        ("bytesize && caller in reday", "column 23: no loaded object or function is called reday; did you mean ready?"),
        ("caller in hok", "column 11: no layer 'hok'; did you mean hook?"),
        ("bytesize || nth == 3", "column 13: nth counts the calls that the rest of the condition lets through"),
        ("*dptr == 3", "column 1: dptr of cuMemAlloc_v2 is written by the function"),
    ],
)
def test_mistakes(local: Scenario, built, condition: str, says: str) -> None:
    hook, program = built
    text = local.run(
        program, "break ready", "RUN", f"cuda-break cuMemAlloc if {condition}", "info breakpoints", hook=hook
    )
    assert f"cuda-break: {says}" in text and "cuMemAlloc_v2" not in text.rpartition("Num ")[2]


def test_a_quoted_name_may_be_loaded_later(local: Scenario, built) -> None:
    hook, program = built
    made = 'cuda-break cuMemAlloc if caller in "liblater.so"'
    text = local.run(program, "break ready", "RUN", made, "info breakpoints", hook=hook)
    assert '$_cuda_from("liblater.so")' in text


def test_completion(local: Scenario, built) -> None:
    hook, program = built
    typed = ("bytesize > 1 && ca", "caller in libca", "bytesize>1&&by")
    commands = [f"complete cuda-break cuMemAlloc if {text}" for text in typed]
    text = local.run(program, "break ready", "RUN", *commands, hook=hook)
    for ending in ("bytesize > 1 && caller", "caller in libcalls.so", "bytesize>1&&bytesize"):
        assert f"\ncuda-break cuMemAlloc if {ending}\n" in text


@pytest.mark.parametrize(
    "line", ["cuda-break cudaMemcpy --in runtime", "cuda-break 'cudaMemcpy*'", "cuda-log start cudaMemcpy"]
)
def test_completion_offers_the_constants_of_the_parameter(line: str, local: Scenario) -> None:
    text = local.run(None, f"complete {line} if count > 1M && kind == ", f"complete {line} if kind==cudaMemcpyH")
    assert f"{line} if count > 1M && kind == cudaMemcpyDeviceToHost\n" in text
    assert f"{line} if kind==cudaMemcpyHostToDevice\n" in text
    assert "NULL" not in text and "if count > 1M && kind == count" not in text

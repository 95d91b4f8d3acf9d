"""cuda-dlsym answer: a request answered differently, by registers and by memory alone."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from scenario import Scenario


@pytest.fixture(params=["registers", "memory"])
def by(request: pytest.FixtureRequest) -> str:
    """Both ways do the same; a gdb that cannot write registers has the second."""
    return f"set cuda-answer-by {request.param}"


def results(text: str) -> dict[str, str]:
    """What dlsym_alloc printed: way of asking -> CUresult of 1 GiB + 1, or that there is no such function."""
    rows = re.findall(r"^((?:local|global), \S+) +(.*)$", text, re.MULTILINE)
    return {way: "none" if "no such" in what else what.rpartition(" ")[2] for way, what in rows}


@pytest.mark.smoke("local")
def test_the_driver_instead_of_the_hook(scenario: Scenario, by: str) -> None:
    hook = scenario.sample("wrong/only_dlsym.so")
    assert results(scenario.run("dlsym_alloc", "RUN", hook=hook))["local, handle"] == "2"
    text = scenario.run("dlsym_alloc", by, "cuda-dlsym answer cuMemAlloc_v2 with driver", "RUN", "cuda-dlsym answer",
                        hook=hook)  # fmt: skip
    assert set(results(text).values()) == {"0"}
    assert re.search(r"1 +cuMemAlloc_v2 +driver +always +6 times", text)


def test_nothing(scenario: Scenario, by: str) -> None:
    text = scenario.run("dlsym_alloc", by, "cuda-dlsym answer cuMemAlloc_v2 with NULL", "RUN")
    assert set(results(text).values()) == {"none"}


def test_as_if_another_name_had_been_asked_for(scenario: Scenario, by: str) -> None:
    text = scenario.run("dlsym_alloc", by, "cuda-dlsym log on", "cuda-dlsym answer cuInit with cuMemFree_v2 --once",
                        "RUN", "cuda-dlsym log show cuInit")  # fmt: skip
    assert "Answer 1: the next request for cuInit gets what a request for cuMemFree_v2 gets" in text
    assert "(their parameters differ: dptr is CUdeviceptr, not unsigned int)" in text
    assert re.search(r"cuMemFree_v2 +other +by cuda-dlsym answer 1; cuMemFree_v2 in the place of", text)


def test_the_name_in_the_programs_memory_is_left_alone(local: Scenario, by: str, compile_c) -> None:
    source = """
#include <dlfcn.h>
#include <stdio.h>
static const char names[] = "cuInit\\0cuMemFree_v2";
int main(void)
{
    void *first = dlsym(RTLD_DEFAULT, names), *second = dlsym(RTLD_DEFAULT, names + 7);
    printf("%s %s, the same: %d\\n", names, names + 7, first == second);
    return 0;
}
"""
    program = compile_c("program", source, f"-L{local.shim}/standin", "-Wl,--no-as-needed", "-lcuda")
    text = local.run(program, by, "cuda-dlsym answer cuInit with cuMemFree_v2", "run")
    assert "cuInit cuMemFree_v2, the same: 1" in text


def test_a_name_that_no_library_has_yet(local: Scenario, by: str, compile_c) -> None:
    """The string is in no object: it is written into spare bytes."""
    shows = 'printf("found: %d\\n", dlsym(RTLD_DEFAULT, "puts") != 0)'
    program = compile_c("program", f"#include <dlfcn.h>\n#include <stdio.h>\nint main(void) {{ {shows}; return 0; }}")
    assert "found: 1" in local.run(program, "run")
    assert "found: 0" in local.run(program, by, "cuda-dlsym answer puts with no_such_function_at_all", "run")


def test_get_proc_address(local: Scenario, by: str, tmp_path: Path) -> None:
    asked = tmp_path / "requests"
    asked.write_text("cuMemAdvise 8000 0\ncuMemFree 3020 0\ncuNoSuch 12000 0\ncuMemAlloc 3020 0\ncuMemAlloc 3020 0\n")
    text = local.run("proc_address", by, "break main", f"run < {asked}",
                     "cuda-dlsym answer cuMemAdvise with NULL", "cuda-dlsym answer cuMemFree with &cuInit",
                     "cuda-dlsym answer cuNoSuch with cuMemAlloc", "cuda-dlsym answer cuMemAlloc with driver --once",
                     "continue")  # fmt: skip
    answers = dict(re.findall(r"^(\w+) \d+ 0: \d+, \d+, (\S+)$", text, re.MULTILINE))
    assert answers["cuMemAdvise"] == "NULL"
    assert answers["cuMemFree"] == "cuInit@libgdbcuda-hook.so"
    assert answers["cuNoSuch"] == "cuMemAlloc_v2@libgdbcuda-hook.so"
    assert re.findall(r"cuMemAlloc 3020 0: 0, 0, (\S+)", text) == ["cuMemAlloc_v2@libcuda.so.1",
                                                                 "cuMemAlloc_v2@libgdbcuda-hook.so"]  # fmt: skip


def test_a_failed_request_is_made_a_success(local: Scenario, by: str, tmp_path: Path) -> None:
    asked = tmp_path / "requests"
    asked.write_text("cuNoSuch 12000 0\n")
    text = local.run("proc_address", by, "break main", f"run < {asked}", "cuda-dlsym answer cuNoSuch with &cuInit",
                     "continue")  # fmt: skip
    assert "cuNoSuch 12000 0: 0, 0, cuInit@libgdbcuda-hook.so" in text


def test_taken_back(local: Scenario, by: str) -> None:
    text = local.run("dlsym_alloc", by, "cuda-dlsym answer cuMemAlloc_v2 with NULL", "run",
                     "cuda-dlsym answer --remove 1", "run")  # fmt: skip
    first, second = text.split("Answer 1 taken back")
    assert set(results(first).values()) == {"none"}
    assert "0" in results(second).values()


def test_a_number_is_not_used_again(local: Scenario, by: str) -> None:
    text = local.run("dlsym_alloc", by, "cuda-dlsym answer cuInit with NULL", "cuda-dlsym answer --remove 1",
                     "cuda-dlsym answer 5 with nobody", "cuda-dlsym answer cuMemAlloc_v2 with NULL",
                     "cuda-dlsym answer --remove 1")  # fmt: skip
    assert "Answer 3: requests for cuMemAlloc_v2" in text and "there is no answer 1" in text


def test_several_threads_at_once(local: Scenario, by: str, compile_c) -> None:
    source = """
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
static void *ask(void *n)
{
    long wrong = 0;
    for (int i = 0; i < 40; i++) wrong += dlsym(RTLD_DEFAULT, "cuInit") != n;
    return (void *)wrong;
}
int main(void)
{
    pthread_t t[4];
    long wrong = 0;
    void *one;
    for (int i = 0; i < 4; i++) pthread_create(t + i, 0, ask, 0);
    for (int i = 0; i < 4; i++) pthread_join(t[i], &one), wrong += (long)one;
    printf("wrong answers: %ld\\n", wrong);
    return 0;
}
"""
    program = compile_c("program", source, "-lpthread", f"-L{local.shim}/standin", "-Wl,--no-as-needed", "-lcuda")
    text = local.run(program, by, "cuda-dlsym answer cuInit with NULL", "run", "cuda-dlsym answer")
    assert "wrong answers: 0" in text
    assert re.search(r"1 +cuInit +NULL +always +160 times", text)


@pytest.mark.parametrize(("command", "says"), [
    ("cuda-dlsym answer cuInit", "write NAME with OTHER, ADDRESS, hook, driver or NULL"),
    ("cuda-dlsym answer cuInit with 0x10", "cannot read 1 bytes at 0x10"),
    ("cuda-dlsym answer cuInit with &hook_entries", "&hook_entries is not code: calling it would end the program"),
    ("cuda-dlsym answer cuInit with $nowhere+", "$nowhere+: "),
    ("cuda-dlsym answer cuNoSuch with hook", "the hook has no cuNoSuch that is known by name"),
    ("cuda-dlsym answer --remove 7", "there is no answer to take back"),
    ("cuda-dlsym answer", "Every request is answered as ever."),
])
def test_bad_input(local: Scenario, command: str, says: str) -> None:
    assert says in local.run("test_alloc", "break main", "run", command)


def test_what_cannot_be_done_is_said_and_left_alone(local: Scenario) -> None:
    """Known only once the request comes: the release library has no name for it."""
    text = local.run("dlsym_alloc", "cuda-dlsym answer cuMemFree_v2 with hook", "run", "cuda-dlsym answer",
                     hook=local.sample("wrong/only_dlsym.so"))  # fmt: skip
    assert "cuMemFree_v2 is answered as ever: the hook has no cuMemFree_v2 that is known by name" in text
    assert "0 times" in text and results(text)["local, handle"] == "2"

"""cuda-dlsym: who implements it, whom each object asks, what was asked and whether the answer was right."""

from __future__ import annotations

import ctypes
import json
import re
from pathlib import Path

import pytest
from scenario import Scenario

ROOT = Path(__file__).resolve().parents[2]
AT_FREE = "cuda-break cuMemFree --in driver --from any"


@pytest.mark.smoke("local")
def test_implementations_and_who_reaches_which(scenario: Scenario) -> None:
    text = scenario.run("dlsym_alloc", "break main", "RUN", "cuda-dlsym")
    assert re.search(r"^dlsym +hook +libgdbcuda-hook.so +- +0x", text, re.MULTILINE)
    assert re.search(r"^dlsym +system +lib(c|dl)\.so\S+ +.*GLIBC_2\.", text, re.MULTILINE)
    assert re.search(r"app dlsym_alloc +dlsym +PLT, not called yet +hook libgdbcuda-hook.so dlsym", text)
    assert "The program's dlsym is libgdbcuda-hook.so's (hook)." in text


def test_after_the_first_call_the_slot_tells(scenario: Scenario) -> None:
    text = scenario.run("dlsym_alloc", AT_FREE, "RUN", "cuda-dlsym")
    assert re.search(r"app dlsym_alloc +dlsym +PLT, bound +hook libgdbcuda-hook.so dlsym", text)


def test_a_program_that_does_not_ask(local: Scenario) -> None:
    text = local.run("test_alloc", "break main", "run", "cuda-dlsym", hook=None)
    assert "The program does not refer to dlsym; a library that does" in text


def test_what_nobody_defines(local: Scenario) -> None:
    """_dl_sym is gone from glibc 2.34: the slot leads nowhere."""
    if hasattr(ctypes.CDLL("libc.so.6"), "_dl_sym"):
        pytest.skip("this libc still has _dl_sym")
    text = local.run("dlsym_alloc", "break main", "run", "cuda-dlsym", hook=local.sample("wrong/private_dl_sym.so"))
    assert re.search(r"hook private_dl_sym.so +_dl_sym +PLT, not called yet +nothing", text)


def test_json(local: Scenario) -> None:
    text = local.run("dlsym_alloc", "break main", "run", "cuda-dlsym --json")
    found = json.loads(next(line for line in text.splitlines() if line.startswith("{")))
    assert {one["layer"] for one in found["implementations"] if one["name"] == "dlsym"} >= {"hook", "system"}
    assert any(one["function"] == "dlsym" and one["reached"]["layer"] == "hook" for one in found["references"])


def requests(text: str) -> list[dict]:
    return [json.loads(line) for line in text.splitlines() if line.startswith('{"number"')]


def test_the_log_tells_who_asked_for_what(scenario: Scenario) -> None:
    text = scenario.run("dlsym_alloc", "cuda-dlsym log on", AT_FREE, "RUN", "cuda-dlsym log show")
    row = next(line for line in text.splitlines() if "cuMemAlloc_v2 in libcuda.so.1" in line)
    assert re.search(r"dlsym of libgdbcuda-hook.so .* app dlsym_alloc main\(\) at dlsym_alloc.c:\d+ ", row)
    assert re.search(r"hook libgdbcuda-hook.so cuMemAlloc_v2 +hooked", row)
    assert re.search(r"\d+ requests by the program: \d+ hooked; \d+ more by the hook itself", text)
    assert re.search(r"Recorded with \d+ stops: ", text)


def test_every_way_of_asking_and_the_log_outlives_the_process(local: Scenario) -> None:
    text = local.run("dlsym_alloc", "cuda-dlsym log on", "run", "cuda-dlsym log show --json")
    found = requests(text)
    ways = {(r["resolver"], r["handle_of"]) for r in found}
    assert {(f, "libcuda.so.1") for f in ("dlsym", "dlvsym")} <= ways
    assert {("dlsym", "RTLD_DEFAULT"), ("dlsym", "RTLD_NEXT")} <= ways
    assert {r["asker"]["layer"] for r in found} == {"app"}
    missing = next(r for r in found if r["resolver"] == "dlvsym")
    assert missing["verdict"] == "missing" and "not in version libcuda.so.1" in missing["why"]
    unreached = next(r for r in found if r["handle_of"] == "RTLD_NEXT" and r["verdict"] == "missing")
    assert "was loaded by dlopen: RTLD_NEXT does not look there" in unreached["why"]


def test_the_hooks_own_requests_are_kept_apart(local: Scenario) -> None:
    text = local.run("dlsym_alloc", "cuda-dlsym log on", "run", "cuda-dlsym log show --self --json")
    own = [r for r in requests(text) if r["asker"]["layer"] == "hook" or r["handed_on"]]
    assert own and all(r["inside"] or r["asker"]["layer"] == "hook" for r in own)
    assert any(r["verdict"] == "real" and r["answer"]["layer"] == "driver" for r in own)
    assert any(r["handed_on"] for r in own)  # the hook's dlsym ends in a jump


def test_a_release_hook_gets_names_for_its_addresses(scenario: Scenario) -> None:
    text = scenario.run("dlsym_alloc", "cuda-dlsym log on", "RUN", "cuda-dlsym log show 'cuMemAlloc*'",
                        hook=scenario.sample("wrong/only_dlsym.so"))  # fmt: skip
    assert re.search(r"hook only_dlsym.so\+0x[0-9a-f]+ \(answered for cuMemAlloc_v2\) +hooked", text)


SUSPICIOUS = """cuMemAdvise 8000 0
cuMemPrefetchAsync 8000 0
cuGetProcAddress 11030 0
cuMemcpyAsync 13000 2
cuMemAlloc 3020 0
cuMemAdvise 13000 0
cuNoSuchFunction 12000 0
"""


@pytest.fixture
def asked(tmp_path: Path) -> str:
    """Read by proc_address from its standard input."""
    path = tmp_path / "requests"
    path.write_text(SUSPICIOUS)
    return f"run < {path}"


def test_answers_of_the_wrong_version(local: Scenario, asked: str) -> None:
    text = local.run("proc_address", "cuda-dlsym log on", asked, "cuda-dlsym log show --json",
                     hook=local.sample("wrong/version_ignored.so"))  # fmt: skip
    found = {(r["name"], r["version"], r["flags"]): r for r in requests(text)}
    wrong = {key for key, r in found.items() if r["verdict"] == "wrong version"}
    assert wrong == {("cuMemAdvise", 8000, 0), ("cuMemPrefetchAsync", 8000, 0), ("cuGetProcAddress", 11030, 0),
                     ("cuMemcpyAsync", 13000, 2)}  # fmt: skip
    assert "5 parameters instead of 4" in found["cuGetProcAddress", 11030, 0]["why"]
    assert "location is CUmemLocation, not" in found["cuMemAdvise", 8000, 0]["why"]
    missing = found["cuNoSuchFunction", 12000, 0]
    assert (missing["verdict"], missing["why"], missing["status"]) == ("missing", "symbol not found", 1)


def test_what_the_hook_does_not_have_is_not_wrong(local: Scenario, asked: str) -> None:
    """No hook library has all functions; the few requests that are wrong must not drown in those."""
    text = local.run("proc_address", "cuda-dlsym log on", asked, "cuda-dlsym log show --wrong",
                     "cuda-dlsym log show cuMemAlloc --wrong", "cuda-dlsym log show cuNobody --wrong",
                     hook=local.sample("wrong/version_ignored.so"))  # fmt: skip
    table, _, rest = text.partition("more went to the driver, for functions that the hook does not have.")
    assert " wrong version " in table and "let it through\n" not in table
    assert "Nothing wrong was seen." in rest and "Nobody asked for cuNobody." in rest


def test_the_hook_of_the_shim_answers_right(local: Scenario, asked: str) -> None:
    text = local.run("proc_address", "cuda-dlsym log on", asked, "cuda-dlsym log show --json")
    assert {r["verdict"] for r in requests(text)} == {"hooked", "missing"}


def test_answers_are_routes(local: Scenario, asked: str) -> None:
    text = local.run("proc_address", "cuda-dlsym log on", "cuda-break cuGetProcAddress_v2", "ignore 1 6", asked,
                     "cuda-route cuMemAdvise", hook=local.sample("wrong/version_ignored.so"))  # fmt: skip
    row = next(line for line in text.splitlines() if line.startswith("cuMemAdvise "))
    assert re.search(r"app proc_address +cuGetProcAddress_v2 at 8000, request #\d+ +driver .*wrong version", row)
    assert "1 wrong version" in text


RECURSING = """
#define _GNU_SOURCE
#include <dlfcn.h>
int cuInit(unsigned flags) { return (int)flags; }
void *dlsym(void *handle, const char *name)
{
    return handle == RTLD_NEXT ? (void *)cuInit : dlvsym(handle, name, "GLIBC_2.2.5");
}
void *real; __attribute__((constructor)) void start(void) { real = dlsym(RTLD_NEXT, "cuInit"); }
"""


def test_a_hook_that_is_given_itself(local: Scenario, compile_c) -> None:
    hook = compile_c("librecursing.so", RECURSING, "-shared")
    text = local.run("test_alloc", "cuda-dlsym log on", "break main", "run", "cuda-dlsym log show --self --json",
                     hook=hook)  # fmt: skip
    found = next(r for r in requests(text) if r["name"] == "cuInit" and r["handle_of"] == "RTLD_NEXT")
    assert found["verdict"] == "wrong object"
    assert found["why"] == "the hook asked RTLD_NEXT and was given its own function: calling that recurses"


GREEDY = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <string.h>
int cuInit(unsigned flags) { return (int)flags; }
void *dlsym(void *handle, const char *name)
{
    return !strcmp(name, "cuInit") ? (void *)cuInit : dlvsym(handle, name, "GLIBC_2.2.5");
}
"""


def test_an_answer_for_a_library_that_has_no_such_function(local: Scenario, compile_c) -> None:
    hook = compile_c("libgreedy.so", GREEDY, "-shared")
    asks = 'dlsym(dlopen("libm.so.6", RTLD_NOW), "cuInit")'
    program = compile_c("program", f"#include <dlfcn.h>\nint main(void) {{ return !{asks}; }}")
    text = local.run(program, "cuda-dlsym log on", "run", "cuda-dlsym log show", hook=hook)
    assert re.search(r"wrong object +libm.so.6 has no cuInit; the hook answers all the same", text)


PRINTS = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <string.h>
void *dlsym(void *handle, const char *name)
{
    int is_cos = !strcmp(name, "cos");
    return dlvsym(is_cos ? RTLD_NEXT : handle, is_cos ? "puts" : name, "GLIBC_2.2.5");
}
"""


def test_another_librarys_function_for_a_name_outside_the_api(scenario: Scenario, compile_c) -> None:
    """libm's cos is an indirect function: what it stands for has no name, and puts has one."""
    hook = compile_c("libprints.so", PRINTS, "-shared")
    asks = 'void *libm = dlopen("libm.so.6", RTLD_NOW); return !dlsym(libm, "cos") || !dlsym(libm, "floor");'
    program = compile_c("program", f"#include <dlfcn.h>\nint main(void) {{ {asks} }}")
    text = scenario.run(program, "cuda-dlsym log on", "RUN", "cuda-dlsym log show", hook=hook)
    assert re.search(r"cos in libm\.so\.6 .* puts +wrong object +puts in the place of libm\.so\.6's cos", text)
    assert "2 requests by the program: 1 wrong object, 1 not of the API" in text


def test_save_clear_off(local: Scenario, tmp_path: Path) -> None:
    path = tmp_path / "requests.jsonl"
    text = local.run("dlsym_alloc", "cuda-dlsym log on", AT_FREE, "run", f"cuda-dlsym log save {path}",
                     "cuda-dlsym log off", "info breakpoints", "continue", "cuda-dlsym log clear",
                     "cuda-dlsym log show")  # fmt: skip
    saved = [json.loads(line) for line in path.read_text().splitlines()]
    assert f"{len(saved)} requests in {path}" in text and len(saved) > 5
    assert "Requests are not logged any more" in text
    assert "No request was seen; the log is off (cuda-dlsym log on)." in text


def test_a_rerun_is_logged_afresh(local: Scenario) -> None:
    text = local.run("dlsym_alloc", "cuda-dlsym log on", "run", "cuda-dlsym log show", "run", "cuda-dlsym log show")
    counts = re.findall(r"(\d+) requests by the program", text)
    assert len(counts) == 2 and counts[0] == counts[1]
    assert "Cannot insert" not in text


@pytest.mark.parametrize(("command", "says"), [
    ("cuda-dlsym log nonsense", "cuda-dlsym log: no subcommand 'nonsense' (there are clear, off, on, save, show)"),
    ("cuda-dlsym log save", "cuda-dlsym log save: FILE is missing, for example: cuda-dlsym log save /tmp/requests"),
    ("cuda-dlsym log save /nowhere/x", "cuda-dlsym log save: cannot write /nowhere/x: no such file or directory"),
    ("cuda-dlsym nonsense", "cuda-dlsym: no subcommand 'nonsense' (there are answer, break, log)"),
    ("cuda-dlsym", "cuda-dlsym: no process: run the program first, or open a core file"),
])
def test_bad_input(local: Scenario, command: str, says: str) -> None:
    assert says in local.run("test_alloc", command)


def test_several_threads(local: Scenario, compile_c) -> None:
    source = """
#include <dlfcn.h>
#include <pthread.h>
static void *ask(void *n) { for (int i = 0; i < 50; i++) if (!dlsym(RTLD_DEFAULT, "cuInit")) return n; return 0; }
int main(void) { pthread_t t[4]; for (int i = 0; i < 4; i++) pthread_create(t + i, 0, ask, t);
    for (int i = 0; i < 4; i++) pthread_join(t[i], 0); return 0; }
"""
    program = compile_c("program", source, "-lpthread", f"-L{local.shim}/standin", "-Wl,--no-as-needed", "-lcuda")
    text = local.run(program, "cuda-dlsym log on", "run", "cuda-dlsym log show cuInit --json")
    found = requests(text)
    assert len(found) == 200 and {r["verdict"] for r in found} == {"hooked"}
    assert len({r["thread"] for r in found}) == 4


FIRST = """
#define _GNU_SOURCE
#include <dlfcn.h>
typedef int (*init)(unsigned);
int cuInit(unsigned flags)
{
    init real = (init)dlsym(dlopen("libcuda.so.1", RTLD_NOW), "cuInit");
    return real == cuInit ? 999 : real(flags);
}
"""
SECOND = """
#define _GNU_SOURCE
#include <dlfcn.h>
int cuInit(unsigned flags) { return (int)flags + 999; }
void *dlsym(void *handle, const char *name)
{
    void *(*real)(void *, const char *) = (void *(*)(void *, const char *))dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.2.5");
    return name[0] == 'c' && name[1] == 'u' ? (void *)cuInit : real(handle, name);
}
"""


def test_a_hook_that_the_next_one_gives_its_own_function(local: Scenario, compile_c) -> None:
    """The second one's `&cuInit` is the first one's, for that is first in the search order."""
    first, second = compile_c("libfirst.so", FIRST, "-shared"), compile_c("libsecond.so", SECOND, "-shared")
    preload = f"set exec-wrapper env LD_PRELOAD={first}:{second}"
    text = local.run("test_alloc", preload, "cuda-dlsym log on", "run", "cuda-dlsym log show --wrong", hook=None)
    row = next(line for line in text.splitlines() if "dlsym of libsecond.so" in line)
    assert re.search(r" cuInit in libcuda.so.1 +hook libfirst.so .* hook libfirst.so cuInit +wrong object ", row)
    assert "the hook asked libcuda.so.1 and was given its own function: calling that recurses" in row
    assert re.search(r"^0 requests by the program; \d+ more by the hook itself, 1 wrong object\b", text, re.MULTILINE)

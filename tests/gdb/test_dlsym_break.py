"""cuda-dlsym break: one implementation, one name."""

from __future__ import annotations

import re

import pytest
from answering_hooks import ASKS_TWICE, BY_PROC_ADDRESS
from scenario import Scenario


def test_only_there_and_only_for_that_name(scenario: Scenario) -> None:
    text = scenario.run("dlsym_alloc", "cuda-dlsym break cuMemAlloc_v2", "RUN", "info breakpoints", "bt 2")
    assert "1: dlsym in hook libgdbcuda-hook.so (pending until it is loaded), asked for cuMemAlloc_v2" in text
    assert re.search(r"Breakpoint 1  hook libgdbcuda-hook.so  dlsym asked for cuMemAlloc_v2 in libcuda.so.1\n"
                     r" +by app dlsym_alloc main\(\) at dlsym_alloc.c:\d+", text)  # fmt: skip
    on = re.findall(r"^1\.\d+ +y .*$", text, re.MULTILINE)
    off = re.findall(r"^1\.\d+ +n .*$", text, re.MULTILINE)
    assert len(on) == 1 and "hook/dlsym.c" in on[0]
    assert off and all("hook/dlsym.c" not in row for row in off)


def test_a_hook_without_debug_info(scenario: Scenario) -> None:
    text = scenario.run("dlsym_alloc", "cuda-dlsym break cuMemFree", "RUN", hook=scenario.sample("wrong/only_dlsym.so"))
    assert "Breakpoint 1  hook only_dlsym.so  dlsym asked for cuMemFree_v2 in libcuda.so.1" in text


def test_libcs_own_for_the_hooks_requests(local: Scenario) -> None:
    text = local.run("dlsym_alloc", "cuda-dlsym break cuMemFree_v2 --in libc.so.6 --from hook --once", "run",
                     "info breakpoints")  # fmt: skip
    if "unknown type [0x13] section `.relr.dyn'" in text:
        pytest.skip("this gdb is too old for the libc of this machine: to it, libc is for no machine it knows")
    assert "system libc.so.6  dlsym asked for cuMemFree_v2 in libcuda.so.1" in text
    assert "by hook libgdbcuda-hook.so " in text
    assert "No breakpoints" in text


def test_a_glob_and_any_caller(local: Scenario) -> None:
    text = local.run("dlsym_alloc", "cuda-dlsym break 'cuCtx*'", "run", "cuda-dlsym break --from any", "continue")
    assert "dlsym asked for cuCtxSetCurrent" in text
    assert "Breakpoint 2: dlsym in hook libgdbcuda-hook.so\n" in text


def test_it_says_who_compares_the_name(local: Scenario) -> None:
    made = ("cuda-dlsym break cuMemAlloc_v2", "cuda-dlsym break --from any", "cuda-dlsym break cuMemFree_v2")
    text = local.run("dlsym_alloc", "break main", "run", *made, "delete 3", "cuda-guards", "continue", "continue")
    assert "asked for cuMemAlloc_v2, called from the program; guarded\n" in text
    why = "breakpoint 3 is on the same function, and has no guard: every call is wanted"
    assert f"asked for cuMemFree_v2, called from the program; not guarded: {why}\n" in text
    assert re.search(r"^2, 4 +in the process ", text, re.MULTILINE), text
    assert re.findall(r"^Breakpoint (\d)  hook \S+  dlsym asked for (\w+)", text, re.MULTILINE)[0][0] in ("2", "4")


def test_by_another_resolver(local: Scenario, tmp_path) -> None:
    asked = tmp_path / "requests"
    asked.write_text("cuInit 2000 0\ncuMemAlloc 3020 0\n")
    text = local.run("proc_address", "cuda-dlsym break cuMemAlloc --by cuGetProcAddress_v2", f"run < {asked}")
    assert re.search(r'Breakpoint 1  hook libgdbcuda-hook.so  cuGetProcAddress_v2\(symbol="cuMemAlloc"', text)


def test_a_resolver_by_its_base_name_that_a_hook_answers_for(scenario: Scenario, compile_c) -> None:
    """The program asks for _v2, and the hook's own has another name."""
    hook = compile_c("libanswers.so", BY_PROC_ADDRESS, "-shared", "-fvisibility=hidden")
    program = compile_c("asks", ASKS_TWICE, f"-I{scenario.shim}")
    text = scenario.run(program, "cuda-dlsym break cuMemAlloc --by cuGetProcAddress", "cuda-save /dev/stdout", "RUN",
                        "cuda-call", hook=hook)  # fmt: skip
    assert re.findall(r"^Breakpoint \d: (\w+) in ", text, re.MULTILINE) == ["cuGetProcAddress_v2", "cuGetProcAddress"]
    assert '"cuMemAlloc" --by cuGetProcAddress_v2 --from' in text and "--by cuGetProcAddress --exact --from" in text
    assert re.search(r'^Breakpoint 3  hook libanswers.so own_get for  cuGetProcAddress_v2\(symbol="cuMemAlloc"', text,
                     re.MULTILINE)  # fmt: skip
    assert re.search(r'^  symbol +const char \* +"cuMemAlloc"', text, re.MULTILINE)


def test_it_survives_a_rerun(local: Scenario) -> None:
    text = local.run("dlsym_alloc", "cuda-dlsym break cuMemAlloc_v2", "run", "run")
    assert text.count("dlsym asked for cuMemAlloc_v2 in libcuda.so.1") == 2


@pytest.mark.parametrize(
    ("command", "says"),
    [
        ("cuda-dlsym break cuMemAlocc", "(cuMemAlocc is no name of the API; did you mean cuMemAlloc"),
        ("cuda-dlsym break x --by foo", "cuda-dlsym break: 'foo' resolves no names; one of dlsym, dlvsym, cuGetProc"),
        ("cuda-dlsym break a b", "cuda-dlsym break: there is no place for 'b'"),
    ],
)
def test_bad_input(local: Scenario, command: str, says: str) -> None:
    assert says in local.run("dlsym_alloc", command)

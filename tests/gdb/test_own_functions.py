"""cuda-break on a hook library's own functions: conditions on their parameters, guards, results."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from scenario import Scenario

LARGE = "oom_check (device=0, bytes=3221225472)"


def run(place: Scenario, tmp_path: Path, *commands: str) -> str:
    return place.run("test_alloc", *commands, hook=place.sample("region_hook.so"),
                     environment={"REGION_FILE": str(tmp_path / "region")})  # fmt: skip


def test_sizes_callers_and_counts(scenario: Scenario, tmp_path: Path) -> None:
    text = run(scenario, tmp_path, "cuda-break oom_check if bytes >= 3G", "cuda-break add_chunk if nth == 2",
               "cuda-break remove_chunk if caller in cuMemFree_v2 && nth == 1", "RUN", "continue", "continue",
               "continue")  # fmt: skip
    assert "Breakpoint 1: oom_check in hook region_hook.so (pending until it is loaded), if bytes >= 3221225472" in text
    assert "(oom_check: no function of the API; called by anyone, --from says otherwise)" in text
    stops = re.findall(r"Breakpoint \d, (\w+ \([^)]*\))", text)
    assert stops == ["add_chunk (start=35184439197696, bytes=1073741825)", LARGE,
                     "remove_chunk (start=35184372088832)"]  # fmt: skip
    assert "exited normally" in text


def test_the_test_is_in_the_process(local: Scenario, tmp_path: Path) -> None:
    text = run(local, tmp_path, "cuda-break oom_check if bytes >= 3G", "run", "cuda-guards", "info breakpoints")
    assert re.search(r"^1 +in the process .* of oom_check at 0x", text, re.MULTILINE), text
    assert "breakpoint already hit 1 time" in text and LARGE in text


def test_the_result_where_it_returns(scenario: Scenario, tmp_path: Path) -> None:
    text = run(scenario, tmp_path, "cuda-break oom_check --on return if bytes >= 3G",
               "cuda-break add_chunk --on return if nth == 1", "RUN", "continue")  # fmt: skip
    result = r"^Breakpoint 1  hook region_hook.so  oom_check\(device=0, bytes=3221225472\) = 0\n"
    assert re.search(rf"{result} +returned to hook region_hook.so cuMemAlloc_v2\(\) at region_hook.c:", text, re.M)
    assert "add_chunk(start=0x200000000000, bytes=67108864) returned\n" in text


def test_what_is_refused_at_once(local: Scenario, tmp_path: Path) -> None:
    asked = ("oom_check if byte > 1", "oom_check --on error", "oom_check if bytes > (1G", "dlsym --on return")
    text = run(local, tmp_path, *(f"cuda-break {one}" for one in asked), "info breakpoints")
    assert "cuda-break: no byte in region_hook.so, nor in the program" in text
    assert "--on error is for functions of the API, which oom_check is not: --on return shows its result" in text
    assert text.count("cuda-break: ") == len(asked) and "No breakpoints" in text


def test_saved_and_made_again(local: Scenario, tmp_path: Path) -> None:
    saved = tmp_path / "breaks.gdb"
    text = run(local, tmp_path, "cuda-break oom_check --on return if bytes >= 3G", f"cuda-save {saved}", "delete",
               f"source {saved}", "run")  # fmt: skip
    assert "oom_check(device=0, bytes=3221225472) = 0" in text
    assert saved.read_text().splitlines()[-1].endswith("oom_check --from any --on return if bytes >= 3221225472")


OPTIMISED = """
#include <stddef.h>
struct region { size_t used; } region;
__attribute__((noipa)) static int check(int device, size_t bytes, const char *why) {
    return region.used + bytes > 4000000000UL + (size_t)device + why[0];
}
int cuMemAlloc_v2(unsigned long long *p, size_t n) { *p = n; return check(0, n, "quota"); }
"""


@pytest.mark.parametrize("flags", [("-O2",), ("-O0",)])
def test_texts_and_optimised_code(local: Scenario, compile_c, flags: tuple[str, ...]) -> None:
    hook = compile_c("libown.so", OPTIMISED, "-shared", *flags)
    other = 'cuda-break check if why == "limit"'
    text = local.run("test_alloc", 'cuda-break check if bytes > 60M && why == "quo*"', other, "run", hook=hook)
    assert re.search(r"Breakpoint 1(\.\d)?, check \(device=.*bytes=67108864", text)  # the driver has some of that name
    assert text.count("Breakpoint 2") == 1


CPLUSPLUS = """
#include <cstddef>
namespace quota {
class Pool {
public:
    __attribute__((noinline)) bool fits(std::size_t bytes) { used += bytes; return used < limit; }
    std::size_t used = 0, limit = 1 << 30;
};
static Pool pool;
}
extern "C" int cuMemAlloc_v2(unsigned long long *p, std::size_t n) { *p = n; return quota::pool.fits(n) ? 0 : 2; }
"""


def test_a_method_of_cplusplus(scenario: Scenario, tmp_path: Path) -> None:
    source, hook = tmp_path / "own.cc", tmp_path / "libown.so"
    source.write_text(CPLUSPLUS)
    subprocess.run(["g++", "-g", "-O0", "-fPIC", "-shared", "-o", hook, source], check=True, timeout=60)
    text = scenario.run("test_alloc", "cuda-break quota::Pool::fits --on return if bytes > 1G", "RUN", hook=hook)
    assert re.search(r"Breakpoint 1  hook libown.so  \S*fits\(this=0x\w+.*, bytes=1073741825\S*.*\) = ", text), text

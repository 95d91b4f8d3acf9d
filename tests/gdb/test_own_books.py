"""Adapters in a real gdb: what a hook library's author knows of it, in memory, check, locks and load."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest
from scenario import Scenario

BOOKS = "Books of region_hook.so, device 0: 1140850689 [1.06 GiB] in use, limit 3000000000 [2.79 GiB]"


def limited(tmp_path: Path) -> dict[str, str]:
    return {"REGION_LIMIT": "3000000000", "REGION_FILE": str(tmp_path / "region")}


def run(place: Scenario, tmp_path: Path, *commands: str, hook: Path | None = None) -> str:
    """Up to where the program has 1.06 GiB."""
    return place.run("test_alloc", "cuda-log start --memory", "break release_buffers", "RUN", *commands,
                     hook=hook or place.sample("region_hook.so"), environment=limited(tmp_path))  # fmt: skip


def test_it_is_found_beside_the_library(scenario: Scenario, tmp_path: Path) -> None:
    text = run(scenario, tmp_path, "cuda-check", "cuda-locks", "cuda-locks --json")
    assert "adapter region_hook.so-gdbcuda.ini: books, 1 lock, 3 functions, 3 variables" in text
    assert "device 0: 1.06 GiB of 2.79 GiB in use; what the hook library's own books say" in text
    assert "own-books" in text and "own-variables" in text
    assert "REGION_LIMIT=3000000000" in text and "REGION_LIMIT: bytes that all processes may have together" in text
    lock = r"^The mutex region lock at 0x\w+ in \S+/region\+0x8 \(process-shared\)\n  nobody has it now"
    assert re.search(lock, text, re.MULTILINE)
    named = json.loads(next(line for line in text.splitlines() if line.startswith('{"waiting"')))["locks"]
    assert [one["lock"]["name"].partition(" at ")[0] for one in named] == ["region lock"]


def test_the_books_stand_beside_the_ledger(scenario: Scenario, tmp_path: Path, calls_functions) -> None:
    text = run(scenario, tmp_path, "cuda-memory compare")
    row = next(line for line in text.splitlines() if line.startswith("cuMemGetInfo_v2  driver"))
    assert row.split("  ")[-1].strip() == "1140850689 [1.06 GiB]" and "hook's books" in text and BOOKS in text


def test_where_no_function_can_be_called_the_books_are_known(scenario: Scenario, tmp_path: Path) -> None:
    """gdb has been told to call none."""
    text = run(scenario, tmp_path, "set may-call-functions off", "cuda-memory compare")
    assert "cannot be called in the program" in text
    assert f"Ledger: 1140850689 [1.06 GiB] in use\n{BOOKS}" in text


def test_in_a_core_file(local: Scenario, tmp_path: Path) -> None:
    core, hook = tmp_path / "the.core", local.sample("region_hook.so")
    local.run("test_alloc", "break release_buffers", "run", f"generate-core-file {core}", "kill", hook=hook,
              environment=limited(tmp_path))  # fmt: skip
    text = local.run("test_alloc", f"core-file {core}", "cuda-locks", "cuda-check", hook=None)
    assert "The mutex region lock at 0x" in text and "device 0: 1.06 GiB of 2.79 GiB in use" in text


def test_our_own_hook_library_has_one(local: Scenario) -> None:
    text = local.run("test_alloc", "break release_buffers", "run", "cuda-check", "cuda-locks",
                     environment={"GDBCUDA_MEMORY_LIMIT": "2g"})  # fmt: skip
    assert "adapter libgdbcuda-hook.so-gdbcuda.ini: books, 1 lock, 5 functions, 3 variables" in text
    assert "device 0: 1.06 GiB of 2.00 GiB in use" in text and "GDBCUDA_MEMORY_LIMIT=2g" in text
    assert "The mutex ledger at 0x" in text and "adapter-wrong" not in text


def test_one_that_is_named(scenario: Scenario, tmp_path: Path) -> None:
    """For a library that lies alone; a local variable of the stop's frame is not taken for the library's."""
    hook = Path(shutil.copy(scenario.sample("region_hook.so"), tmp_path))
    locks = "[locks]\nmine = &region->lock\ngone = &nowhere->lock\n"
    (tmp_path / "mine.ini").write_text(f"[books]\nused = region->used[$device] + 1\n{locks}")
    text = run(scenario, tmp_path, "cuda-check --quiet", f"cuda-load --adapter {tmp_path}/mine.ini", "cuda-check",
               "cuda-locks", "cuda-load --adapter nosuch.ini", hook=hook)  # fmt: skip
    assert "adapter mine.ini: books, 2 locks" in text and "The mutex mine at 0x" in text
    assert "The lock gone of mine.ini is not found: &nowhere->lock: no variable nowhere in it" in text
    assert "own-books" in text and "cuda-load: cannot read nosuch.ini: no such file or directory" in text


def test_mistakes(local: Scenario, tmp_path: Path) -> None:
    """A damaged one beside the library is said in one line, and all else works."""
    hook = Path(shutil.copy(local.sample("region_hook.so"), tmp_path))
    (tmp_path / "region_hook.so-gdbcuda.ini").write_text("[books]\nused = total()\n")
    (tmp_path / "none.ini").write_text("[books]\nused = nothing[$device]\nlimit = region->nothing\n")
    text = run(local, tmp_path, "cuda-locks", "cuda-check", f"cuda-load --adapter {tmp_path}/none.ini", "cuda-check",
               hook=hook)  # fmt: skip
    refused = f"{tmp_path}/region_hook.so-gdbcuda.ini: [books] used: 'total()' calls a function: an adapter only reads"
    assert f"adapter not read: {refused}" in text and f"cuda-locks: {refused}" in text
    assert "adapter-wrong" in text
    assert "device 0 not known: nothing[$device]: no variable nothing in it, or no debug info of it" in text


def test_whose_adapter(idle, tmp_path: Path) -> None:
    text = idle.run("cuda-load --adapter x.ini")
    assert "cuda-load: whose adapter? cuda-load LIB --adapter x.ini (hook libraries: none)" in text


def test_before_the_run_nothing_is_known_yet(local: Scenario, tmp_path: Path) -> None:
    text = local.run("test_alloc", "cuda-check", "break main", "run", "cuda-check", "kill",
                     hook=local.sample("region_hook.so"), environment=limited(tmp_path))  # fmt: skip
    before, _, after = text.partition("Breakpoint 1, main")
    assert "own-books" in after and "own-books" not in before


@pytest.mark.parametrize("library", ["region_hook.so", "minimal_hook.so"])
def test_an_adapter_that_is_not_there_is_no_word(local: Scenario, library: str) -> None:
    text = local.run("test_alloc", "cuda-load", "complete cuda-break ", hook=local.sample(library))
    assert ("cuda-break oom_check" in text) == (library == "region_hook.so")
    assert ("adapter" in text) == (library == "region_hook.so")


BY_POINTERS = """
#include <stddef.h>
struct { int pid; _Atomic long used[2]; } slots[] = {{1, {2 << 20, 1 << 20}}, {2, {3 << 20, 1}}, {0, {9 << 20, 1}}};
int slots_used = 2;
struct { long in_use; } first = {5 << 20}, third = {7 << 20}, *device[] = {&first, NULL, &third};
int cuMemAlloc_v2(unsigned long long *p, unsigned long n) { *p = n; return device[0]->in_use > 0; }
"""


def test_a_device_that_cannot_be_read_hides_no_other(scenario: Scenario, compile_c, tmp_path: Path) -> None:
    hook = compile_c("libbooks.so", BY_POINTERS, "-shared")
    (tmp_path / "libbooks.so-gdbcuda.ini").write_text(
        "[books]\nused = device[$device]->in_use\ndevices = 3\n"
        "limit = slots[..slots_used].used[0] + slots[..].used[1] - 2\n"  # of each process, as quota libraries keep them
    )
    text = scenario.run("test_alloc", "break main", "RUN", "cuda-check", "kill", hook=hook)
    books = "device 0: 5.00 MiB of 6.00 MiB in use; device 1 not known: device[$device]->in_use: Cannot access memory"
    assert books in text and "device 2: 7.00 MiB of 6.00 MiB in use" in text


WITH_SEMAPHORE = """
#include <semaphore.h>
#include <sys/wait.h>
#include <unistd.h>
static struct { sem_t gate; int owner; } shared;
__attribute__((constructor)) static void begin(void)
{
    sem_init(&shared.gate, 1, 0);
    shared.owner = fork();
    if (!shared.owner) _exit(0);
    waitpid(shared.owner, 0, 0);
}
int cuMemAlloc_v2(unsigned long long *p, unsigned long n) { *p = n; return sem_wait(&shared.gate); }
"""


def test_the_owner_of_a_semaphore_is_where_the_adapter_says(scenario: Scenario, compile_c, tmp_path: Path) -> None:
    """As quota libraries have it: a semaphore in a region, and beside it the process that has taken it."""
    hook = compile_c("libgate.so", WITH_SEMAPHORE, "-shared", "-pthread")
    (tmp_path / "libgate.so-gdbcuda.ini").write_text(
        "[locks]\nthe gate = &shared.gate\n[owners]\nthe gate = shared.owner\n"
    )
    interrupt = f"python __import__('runpy').run_path('{Path(__file__).parent}/interrupting.py')"
    text = scenario.run("test_alloc", "break cuCtxSetCurrent", "RUN", "print shared.owner",
                        f"{interrupt}['when_it_sleeps'](gdb.selected_inferior().pid)", "continue", "cuda-locks", "kill",
                        hook=hook)  # fmt: skip
    owner = re.search(r"^\$1 = (\d+)$", text, re.MULTILINE)
    assert owner, text
    waiting = text[text.index("Thread 1 waits for the semaphore the gate at 0x") :]
    assert f"  held by  thread or process {owner[1]}, which is dead\n" in waiting
    assert "Nobody will post it: a semaphore is not given back when its owner ends." in waiting

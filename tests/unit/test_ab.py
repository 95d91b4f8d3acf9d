"""gdbcuda ab: what a hook library changes in a program, by real hook libraries that are wrong in one way each."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import time
from pathlib import Path
from xml.etree import ElementTree

import pytest
from ab_hooks import AbFiles
from shim_support import HOOK
from traced_programs import needs_recorder

from gdbcuda.compare.outcome import Outcome
from gdbcuda.errors import UserError
from gdbcuda.shell.ab import by_stops, recorded_run
from gdbcuda.shell.ab.options import STOPS

pytestmark = needs_recorder
NOT_FREED = {"out cuMemGetInfo_v2 free: 17179869184 [16.00 GiB] -> 17179865088 [16.00 GiB]": 1}
LINE = "stdout line: pid (pid): 0 1 0x…, took … ms, 16 ->"
COUNTING = """
#include <stdio.h>
#include <unistd.h>
#include "gdbcuda_api.h"
int main(void) { cuInit(0), cuMemFree_v2(1); printf("%d\\n", getpid() ^ 123456789); }
"""
# So many questions in each of its runs.
VARYING = """
#include <stdio.h>
#include "gdbcuda_api.h"
int main(int count, char **words)
{
    int runs[] = {QUESTIONS}, number = 0;
    char path[4096];
    snprintf(path, sizeof path, "%s.run", words[0]);
    FILE *file = fopen(path, "r");
    if (file && fscanf(file, "%d", &number) == 1)
        fclose(file);
    fprintf(file = fopen(path, "w"), "%d", number + 1);
    fclose(file);
    cuInit(0);
    for (int i = 0, version; i < runs[number]; i++)
        cuDriverGetVersion(&version);
    return 0;
}
"""
MISSING = "stdout line missing: pid (pid): 0 1 0x…, took … ms, "
FOUND = {
    "right": {},
    "minus_one": {
        "result cuMemAlloc_v2: CUDA_SUCCESS -> -1 (not in CUresult)": 1, "never forwarded cuMemAlloc_v2": 1,
        f"{LINE} pid (pid): -1 1 0x…, took … ms, 16": 1,
        "argument cuMemcpyHtoDAsync_v2 dstDevice: (what cuMemAlloc_v2 gave) -> NULL": 1,
        "argument cuMemFree_v2 dptr: (what cuMemAlloc_v2 gave) -> NULL": 1,
        "result cuMemcpyHtoDAsync_v2: CUDA_SUCCESS -> CUDA_ERROR_INVALID_VALUE": 1,
    },
    "size_padded": {"driver argument cuMemAlloc_v2 bytesize: 4.00 KiB -> 4.50 KiB": 1},
    "stream_dropped": {"driver argument cuMemcpyHtoDAsync_v2 hStream: (what cuStreamCreate gave) -> NULL": 1},
    "by_another_thread": {"extra call cuCtxGetCurrent": 1, "extra call cuCtxSetCurrent": 1},
    "slot_changed": {},
    "audited": {"driver argument cuMemAlloc_v2 bytesize: 4.00 KiB -> 4.50 KiB": 1},
    "injected": {"stdout line added: injected": 1, "not reached: libinjected.so": 1},
    "entry_changed": {},
    "swallowed": {**NOT_FREED, "never forwarded cuMemFree_v2": 2,
                  "result cuMemFree_v2: CUDA_ERROR_INVALID_VALUE -> CUDA_SUCCESS": 1,
                  f"{LINE} pid (pid): 0 0 0x…, took … ms, 16": 1},
    "freed_twice": {"extra call cuMemFree_v2, which fails: CUDA_ERROR_INVALID_VALUE": 2,
                    "result cuMemFree_v2: CUDA_ERROR_INVALID_VALUE -> CUDA_SUCCESS": 1,
                    f"{LINE} pid (pid): 0 0 0x…, took … ms, 16": 1},
    "freed_late": {**NOT_FREED, "forwarded late cuMemFree_v2": 1, "never forwarded cuMemFree_v2": 1,
                   "result cuMemFree_v2: CUDA_ERROR_INVALID_VALUE -> CUDA_SUCCESS": 1,
                   f"{LINE} pid (pid): 0 0 0x…, took … ms, 16": 1},
    "other_function": {"never forwarded cuMemAlloc_v2": 1, "extra call cuMemAllocManaged": 1},
    "out_changed": {"out cuMemGetInfo_v2 total: 16.00 GiB -> 2.00 GiB": 1,
                    f"{LINE} pid (pid): 0 1 0x…, took … ms, 2": 1},
    "out_null": {
        **NOT_FREED,
        "out cuMemAlloc_v2 dptr: (an address) -> NULL": 1,
        "argument cuMemcpyHtoDAsync_v2 dstDevice: (what cuMemAlloc_v2 gave) -> NULL": 1,
        "argument cuMemFree_v2 dptr: (what cuMemAlloc_v2 gave) -> NULL": 1,
        "result cuMemcpyHtoDAsync_v2: CUDA_SUCCESS -> CUDA_ERROR_INVALID_VALUE": 1,
    },
    "status_hidden": {"result cuMemFree_v2: CUDA_ERROR_INVALID_VALUE -> CUDA_SUCCESS": 1,
                      f"{LINE} pid (pid): 0 0 0x…, took … ms, 16": 1},
    "memory_kept": {"extra call cuMemAlloc_v2": 1,
                    "out cuMemGetInfo_v2 free: 17179869184 [16.00 GiB] -> 17179803648 [16.00 GiB]": 1,
                    "memory of the hook's own is left: 64.00 KiB in 1 block": 1},
    "version_wrong": {"answer cuGetProcAddress_v2 cuMemAdvise@8000: cuMemAdvise -> cuMemAdvise_v2": 1},
    "crash": {"exit status: 0 -> SIGABRT": 1, "result cuMemFree_v2: CUDA_SUCCESS -> not over": 1,
              f"{MISSING}16": 1, "call dropped cuMemFree_v2": 1, "call dropped cuMemGetInfo_v2": 1},
    "exit_changed": {f"{MISSING}16": 1, "exit status: 0 -> 3": 1, "not reached: libexit_changed.so": 1},
    "said_more": {"stderr line added: freed": 2},
    "hidden": {"not reached: libhidden.so": 1},
    "watching": {"extra call cuMemGetInfo_v2, which fails: CUDA_ERROR_INVALID_CONTEXT": 2},
}  # fmt: skip


@pytest.fixture(scope="module")
def files(shim: Path, tmp_path_factory: pytest.TempPathFactory) -> AbFiles:
    return AbFiles(tmp_path_factory.mktemp("ab"), shim)


@pytest.mark.parametrize("name", FOUND)
def test_what_a_library_changes(files: AbFiles, name: str) -> None:
    assert files.differences("--hook", files.hook(name)) == FOUND[name]


def test_one_that_never_ends(files: AbFiles) -> None:
    found = files.differences("--hook", files.hook("deadlock"), "--timeout", "3s")
    assert found["exit status: 0 -> not over"] == 1 and "never forwarded cuMemFree_v2" not in found


@pytest.mark.parametrize(
    "program", ["test_alloc", "runtime_alloc", "families", "train", "nvml_info", "fork_exec", "deepbind", "dlsym_alloc"]
)
def test_our_own_hook_changes_nothing_that_is_not_meant(files: AbFiles, shim: Path, program: str) -> None:
    meant = shim.parent / "hook" / "meant.txt"
    assert files.differences("--hook", shim / HOOK, "--allow", meant, program=shim / "sample" / program) == {}


def test_its_limit_is_seen(files: AbFiles, shim: Path) -> None:
    limit, program = "GDBCUDA_MEMORY_LIMIT=2g", shim / "sample/test_alloc"
    found = files.differences("--hook", shim / HOOK, "--env", limit, program=program)
    assert found["out cuMemGetInfo_v2 total: 16.00 GiB -> 2.00 GiB"] == 3
    assert found["result cuMemAlloc_v2: CUDA_SUCCESS -> CUDA_ERROR_OUT_OF_MEMORY"] == 1
    assert found["never forwarded cuMemAlloc_v2"] == 1
    freed = "argument cuMemFree_v2 dptr: (what cuMemAlloc_v2 gave) -> (what another cuMemAlloc_v2 gave)"
    assert found[freed] == 1  # what was refused is not freed, so another block is where that one was


def test_addresses_in_decimal_are_another_in_each_run(files: AbFiles) -> None:
    """As programs print the number of a thread."""
    program = files.built("decimal", """
#include <pthread.h>
#include <stdio.h>
#include "gdbcuda_api.h"
int main(void)
{
    CUdeviceptr block;
    return printf("%d by %ld\\n", cuMemAlloc_v2(&block, 16), (long)pthread_self()) < 0;
}
""", f"-L{files.shim}/standin", "-lcuda")  # fmt: skip
    assert files.differences("--hook", files.hook("right"), program=program) == {}


def test_threads_are_compared_one_by_one(files: AbFiles, shim: Path) -> None:
    program = files.built("eight", "#include <unistd.h>\n#include <stdlib.h>\nint main(int n, char **w, char **e) {"
                          f'(void)n, (void)w; char *a[] = {{"threads", "8", "60", 0}}; '
                          f'return execve("{shim}/sample/threads", a, e); }}')  # fmt: skip
    meant = shim.parent / "hook" / "meant.txt"
    assert files.differences("--hook", shim / HOOK, "--allow", meant, program=program) == {}


def test_two_hook_libraries_are_compared(files: AbFiles) -> None:
    right, padded, twice = (files.hook(name) for name in ("right", "size_padded", "freed_twice"))
    assert "driver argument cuMemAlloc_v2 bytesize: 4.00 KiB -> 4.50 KiB" in files.differences(
        "--hook", right, "--hook", padded
    )
    assert files.differences("--hook", padded, "--hook", padded) == {}
    assert "no longer: extra call cuMemFree_v2, which fails: CUDA_ERROR_INVALID_VALUE" in files.differences(
        "--hook", twice, "--hook", right
    )


def test_differences_that_are_meant(files: AbFiles, tmp_path: Path) -> None:
    hook, meant = files.hook("minus_one"), tmp_path / "meant.txt"
    written = files.ab("--hook", hook, "--accept", meant, "--json", "--junit", tmp_path / "ab.xml")
    assert written.returncode == 0 and written.stderr == f"gdbcuda: {meant} allows all of it\n"
    accepted = json.loads(written.stdout)
    assert (accepted["status"], accepted["differences"]) == (0, [])
    assert len(accepted["allowed"]) == len(FOUND["minus_one"])
    assert ElementTree.parse(tmp_path / "ab.xml").getroot().get("failures") == "0"
    lines = [line for line in meant.read_text().splitlines() if not line.startswith("#")]
    assert sorted(lines) == sorted(FOUND["minus_one"])
    found = files.data("--hook", hook, "--allow", meant)
    assert (found["status"], found["differences"], len(found["allowed"])) == (0, [], len(lines))
    meant.write_text("# meant\nresult cuMemAlloc_v2: * -> -1 *\nextra call nobody\n")
    found = files.data("--hook", hook, "--allow", meant)
    assert len(found["differences"]) == len(lines) - 1 and found["not_seen"] == ["extra call nobody"]


def test_for_people(files: AbFiles) -> None:
    done = files.ab("--hook", files.hook("memory_kept"))
    assert done.returncode == 1
    assert done.stdout.startswith("3 differences in program. Calls of the program: 11 without it and 11 with "
                                  "libmemory_kept.so.\n\nWhat the program sees\n  out cuMemGetInfo_v2 free: ")
    assert "\n\nWhat the driver is asked\n  extra call cuMemAlloc_v2\n" in done.stdout  # fmt: skip
    site = r"by cuMemAlloc_v2 at libmemory_kept\.so\.c:8"
    assert re.search(rf"^ +#\d+ .* driver +cuMemAlloc_v2\(.* {site}$", done.stdout, re.M)
    assert "Device memory of the hook's own: 64.00 KiB at most, 64.00 KiB left" in done.stdout
    assert re.search(r"^cuMemAlloc_v2 +1 +\S+ [um]s +\S+ [um]s +\+\S+ [um]s$", done.stdout, re.M)


def test_for_ci(files: AbFiles, tmp_path: Path) -> None:
    assert files.ab("--hook", files.hook("out_changed"), "--junit", tmp_path / "ab.xml").returncode == 1
    suite = ElementTree.parse(tmp_path / "ab.xml").getroot()
    cases = {one.get("name"): [str(each.get("message")) for each in one] for one in suite}
    assert (suite.get("tests"), suite.get("failures")) == (str(len(cases)), "2")
    assert cases["cuMemGetInfo_v2"] == ["out cuMemGetInfo_v2 total: 16.00 GiB -> 2.00 GiB"]
    assert cases["cuMemAlloc_v2"] == cases["stderr"] == cases["exit status"] == [] and len(cases["stdout"]) == 1


def test_as_a_page(files: AbFiles, tmp_path: Path) -> None:
    files.ab("--hook", files.hook("memory_kept"), "--report", tmp_path / "ab.html")
    page = (tmp_path / "ab.html").read_text()
    root = ElementTree.fromstring(re.sub(r'<!DOCTYPE html>|<meta[^>]*>', "", page))
    rows = [["".join(cell.itertext()) for cell in row] for row in root.iter("tr")]
    assert any(row[0].startswith("extra call cuMemAlloc_v2#") and row[1] == "1" for row in rows)
    assert [head.text for head in root.iter("h2")] == ["What the program sees", "What the driver is asked",
                                                       "Time of a call"]  # fmt: skip
    assert "-&gt;" in page


def test_calls_that_no_loader_has_bound_are_not_taken_for_missing(files: AbFiles) -> None:
    """The recorder does not see them, stops do."""
    hook = files.hook("past_the_loader")
    done = files.ab("--hook", hook)
    assert done.stderr == ("gdbcuda: recorded again by stops, for libpast_the_loader.so finds functions without asking"
                           " the loader\n")  # fmt: skip
    assert done.returncode == 0 and "No difference in program." in done.stdout
    done = files.ab("--hook", hook, "--with", "recorder")
    assert done.returncode == 1 and "  never forwarded cuMemAlloc_v2\n" in done.stdout
    assert "Behind the hook library no call of the driver was seen" in done.stdout


def test_of_children_too(files: AbFiles, shim: Path) -> None:
    script = files.folder / "both.sh"
    script.write_text(f"#!/bin/sh\n{files.program} && {files.program}\n")
    script.chmod(0o700)
    meant = shim.parent / "hook" / "meant.txt"
    assert files.differences("--hook", shim / HOOK, "--allow", meant, program=script) == {}
    hook = files.hook("size_padded")
    assert files.differences("--hook", hook, program=script) == {
        "driver argument cuMemAlloc_v2 bytesize: 4.00 KiB -> 4.50 KiB": 2
    }


def test_a_log_that_cannot_be_read_is_no_agreement(files: AbFiles) -> None:
    """Its helper is too slow for a ring of one call."""
    done = files.ab("--hook", files.hook("right"), "--last", "1", program=files.shim / "sample" / "train")
    assert done.returncode == 2 and "was not recorded whole, so nothing is compared: " in done.stderr


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_who_ends_it_ends_the_program(files: AbFiles, number: int) -> None:
    (files.folder / "long.sh").write_text(f"#!/bin/sh\necho $$ > {files.folder}/pid\nexec sleep 60\n")
    (files.folder / "long.sh").chmod(0o700)
    (files.folder / "pid").unlink(missing_ok=True)
    begun = subprocess.Popen(files.line("--hook", files.hook("right"), program=files.folder / "long.sh"),
                             env=files.environment(), stdin=subprocess.DEVNULL)  # fmt: skip
    while not (files.folder / "pid").exists() or not (files.folder / "pid").read_text().strip():
        time.sleep(0.01)
    begun.send_signal(number)
    assert begun.wait(60) == 130
    assert not Path(f"/proc/{(files.folder / 'pid').read_text().strip()}").exists()


def test_what_is_kept(files: AbFiles, tmp_path: Path) -> None:
    assert files.ab("--hook", files.hook("right"), "-o", tmp_path / "kept").returncode == 0
    assert {path.name for path in (tmp_path / "kept").iterdir()} == {"first", "second", "stdin"}
    assert (tmp_path / "kept/first/stdout").read_text().startswith("pid ")


def test_both_runs_read_the_same_input(files: AbFiles, shim: Path) -> None:
    program = shim / "sample/proc_address"
    found = files.data("--hook", files.hook("version_wrong"), stdin="cuMemAdvise 8000 0\n", program=program)
    assert "answer cuGetProcAddress_v2 cuMemAdvise@8000: cuMemAdvise -> cuMemAdvise_v2" in {
        one["difference"] for one in found["differences"]
    }


def test_what_differs_without_a_hook_as_well(files: AbFiles) -> None:
    program = files.built("counting", COUNTING, f"-L{files.shim}/standin", "-lcuda")
    hook = files.hook("said_more")
    line, said = files.differences("--hook", hook, program=program)
    assert line.startswith("stdout line: 12") and said == "stderr line added: freed"
    assert files.differences("--hook", hook, "--twice", program=program) == {said: 1}


@pytest.mark.parametrize(
    ("questions", "again", "expected"),
    [
        ("2, 3, 2", [], ["call added cuDriverGetVersion"]),
        ("2, 3, 1", ["--twice"], []),  # by itself it calls less often then, with the hook library more often
        ("2, 3, 2", ["--twice"], ["call added cuDriverGetVersion"]),
        ("2, 3, 2, 4", ["--repeat", "2"], []),
    ],
)
def test_calls_that_differ_by_chance(files: AbFiles, questions: str, again: list[str], expected: list[str]) -> None:
    program = files.built("varying", VARYING.replace("QUESTIONS", questions), f"-L{files.shim}/standin", "-lcuda")
    program.with_name("varying.run").unlink(missing_ok=True)
    found = files.data("--hook", files.hook("right"), *again, program=program)
    assert [one["difference"] for one in found["differences"] if one["about"] != "hook library"] == expected
    assert found["left_out"] == ([] if expected else ["number and order of calls: cuDriverGetVersion"])


def test_what_is_left_out_is_said(files: AbFiles, tmp_path: Path) -> None:
    program = files.built("counting", COUNTING, f"-L{files.shim}/standin", "-lcuda")
    done = files.ab("--hook", files.hook("right"), "--twice", "--report", tmp_path / "page.html", program=program)
    assert re.search(r"Left out, for it differs without it too\n  stdout line: \d+\n", done.stdout), done.stdout
    assert "Left out, for it differs without it too" in (tmp_path / "page.html").read_text()


def test_by_stops(files: AbFiles) -> None:
    assert files.differences("--with", "stops", "--hook", files.hook("size_padded")) == FOUND["size_padded"]
    found = files.differences("--with", "stops", "--hook", files.hook("crash"))
    assert found["exit status: 0 -> SIGABRT"] == 1


def test_a_script_by_stops(tmp_path: Path) -> None:
    script = tmp_path / "script"
    script.write_text("#!/bin/sh\necho started\n")
    script.chmod(0o755)
    plan = recorded_run.RunPlan([str(script)], None, {}, 0.0, STOPS, 0)
    assert recorded_run.run(plan, str(tmp_path / "run"), None).outcome.stdout == "started\n"


def test_what_gdb_has_not_started_is_no_run(tmp_path: Path) -> None:
    gdb = Outcome(0, "\ngdbcuda ab: void, void\n", "No executable file specified.\n", 0.0)
    with pytest.raises(UserError, match="gdb has not started the program: No executable file specified"):
        by_stops.of_program(gdb, str(tmp_path))


@pytest.mark.parametrize(("words", "problem"), [
    (["--hook", "/no/such.so"], "cannot read /no/such.so: no such file"),
    ([], "name the hook library, once or twice"),
    (["--hook", "a", "--hook", "b", "--hook", "c"], "name the hook library, once or twice"),
    (["--hook", "RIGHT", "--env", "nothing"], "--env is NAME=VALUE, not 'nothing'"),
    (["--hook", "RIGHT", "--allow", "/no/such.txt"], "/no/such.txt"),
])  # fmt: skip
def test_mistakes(files: AbFiles, words: list[str], problem: str) -> None:
    hook = str(files.hook("right"))
    done = files.ab(*(hook if word == "RIGHT" else word for word in words))
    assert done.returncode == 2 and problem in done.stderr and len(done.stderr.splitlines()) == 1


def test_a_program_that_is_not_there(files: AbFiles) -> None:
    done = files.ab("--hook", files.hook("right"), program=Path("/no/such/program"))
    assert (done.returncode, done.stderr) == (2, "gdbcuda: cannot start /no/such/program: no such file or directory\n")

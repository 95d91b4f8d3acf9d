"""Ctrl-C while calls are read that the process has recorded: at once at a stop, and no call is lost or told twice."""

from __future__ import annotations

import platform
import re
from pathlib import Path

import pytest
from scenario import Scenario
from terminal import Typist
from test_fast_log import lists_locations
from test_interrupts import KILLING_AT

pytestmark = pytest.mark.skipif(platform.machine() != "x86_64", reason="the recorder is made for x86-64")
CALLS, INTERRUPTED = 400, "cuda-log start: interrupted: nothing is recorded (cuda-log start)\n"
PROGRAM = """
#include <pthread.h>
int cuInit(unsigned flags);
static pthread_barrier_t together;
static void *work(void *unused)
{
    for (unsigned i = 0; i < 100; i++)
        cuInit(0);
    pthread_barrier_wait(&together);
    return unused;
}
void over(void) {}
int main(void)
{
    pthread_t threads[4];
    pthread_barrier_init(&together, 0, 5);
    for (int i = 0; i < 4; i++)
        pthread_create(&threads[i], 0, work, 0);
    pthread_barrier_wait(&together);
    over();
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], 0);
    return 0;
}
"""


def need_fast() -> None:
    if not lists_locations():
        pytest.skip("this gdb does not tell where its breakpoints are while the program goes on: --fast says so")


@pytest.fixture
def recording(local: Scenario, compile_c) -> Typist:
    """At main, recording, with a breakpoint where 400 calls are over."""
    need_fast()
    program = compile_c("program", PROGRAM, f"-L{local.shim}/standin", f"-Wl,-rpath,{local.shim}/standin", "-lcuda",
                        "-pthread")  # fmt: skip
    one = Typist(local.environment(), str(program))
    one.type("cuda-log start --fast cuInit", "tbreak main", "run", "break over")
    return one


def killing(recording: Typist, folder: Path, file: str, function: str) -> None:
    (folder / "killing.gdb").write_text(KILLING_AT.format(file=file, function=function))
    recording.type(f"source {folder}/killing.gdb")


def kept(recording: Typist) -> int:
    found = re.search(r"(\d+) calls kept", recording.type("cuda-log"))
    return int(found[1]) if found else -1


def test_one_at_a_stop_leaves_the_rest_for_the_next(recording: Typist, tmp_path: Path) -> None:
    """A million calls take a minute to read."""
    killing(recording, tmp_path, "rings/ring.py", "read_ring")
    shown = recording.type("continue")
    if "Quit" not in shown:  # gdb takes it when the stop has been told, and prompts again
        shown += recording.until_prompt("Quit")
    assert "\ncuda-log: interrupted; calls that are not read yet are read at the next stop" in shown, shown
    assert "Quit" in shown
    assert kept(recording) == CALLS // 4
    recording.type("continue")
    assert kept(recording) == CALLS
    recording.end()


def test_one_while_they_are_decoded_tells_none_twice(recording: Typist, tmp_path: Path) -> None:
    recording.type("continue")
    killing(recording, tmp_path, "rings/ring_calls.py", "numbered")
    shown = recording.type("cuda-log summary")
    assert "Quit" in shown or "Interrupt" in shown, shown
    assert kept(recording) == CALLS
    recording.end()


def test_a_start_that_is_interrupted_records_nothing(recording: Typist, tmp_path: Path) -> None:
    """Not some of the functions behind gdb's own "Quit"; the next start is as ever."""
    recording.type("cuda-log stop")
    killing(recording, tmp_path, "in_process/ring_process.py", "plan")
    assert INTERRUPTED in recording.type("cuda-log start --fast cuInit")
    assert "The recorder is off; 0 calls kept." in recording.type("cuda-log")
    recording.type("cuda-log start --fast cuInit", "continue")
    assert kept(recording) == CALLS
    recording.end()


def test_what_is_half_written_in_our_library_is_not_in_the_way_of_the_next(recording: Typist, tmp_path: Path) -> None:
    """Code is there, and what unwinders need is not yet."""
    recording.type("cuda-log stop")
    text = KILLING_AT.format(file="patching/detours.py", function="write")
    text = text.replace("killed = []", "killed, seen = [], []")
    second = "frame.f_back.f_code.co_name == 'write' and not seen.append(code) and seen[1:]"
    (tmp_path / "killing.gdb").write_text(text.replace("not killed", second))
    recording.type(f"source {tmp_path}/killing.gdb")
    assert INTERRUPTED in recording.type("cuda-log start --fast cuInit cuMemAlloc")
    recording.type("cuda-log start --fast cuInit cuMemAlloc", "continue")
    assert kept(recording) == CALLS
    recording.end()


def test_one_that_comes_in_a_python_command_of_ours_is_no_error_of_python(local: Scenario, tmp_path: Path) -> None:
    need_fast()
    (tmp_path / "killing.gdb").write_text(KILLING_AT.format(file="loader_watch.py", function="__init__"))
    one = Typist(local.environment(), "-x", str(tmp_path / "killing.gdb"), str(local.sample("test_alloc")))
    shown = one.type("cuda-log start --fast cuInit", "cuda-log")
    assert INTERRUPTED in shown and "The recorder is off" in shown and "Python" not in shown, shown
    one.end()

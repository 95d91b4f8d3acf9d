"""IDEs that speak gdb's machine interface (VS Code, CLion, Eclipse): what they hear, in each of its modes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Callable

import pytest
from scenario import ROOT, Scenario

pytest.importorskip("pygdbmi.gdbcontroller", reason="pygdbmi is not installed (scripts/test installs it)")
from clients.mi import Ide

MODES = {"sync": (), "async": ("mi-async on",), "non-stop": ("mi-async on", "non-stop on")}
PAUSE = "the program is running: pause it first"
DECODED = re.compile(r"Breakpoint 1  hook \S+  cuMemAlloc_v2\(dptr=0x\w+ -> \(not written yet\), bytesize=")


@pytest.fixture
def open_ide(local: Scenario) -> Iterator[Callable[..., Ide]]:
    """open_ide(PROGRAM, ARGUMENTS..., mode=...). At the end: nothing that an IDE cannot show, no stop of nobody's."""
    opened: list[Ide] = []

    def start(program: str, *arguments: str, mode: str = "sync") -> Ide:
        opened.append(Ide(local.sample(program), arguments, local.environment(), local.in_full))
        for setting in MODES[mode]:
            opened[-1].do(f"-gdb-set {setting}")
        opened[-1].do(local.load(local.hook))
        return opened[-1]

    yield start
    for ide in opened:
        ide.close()
        assert not [r for r in ide.seen if "\x1b" in str(r["payload"])]
        assert not [r for r in ide.seen if r["type"] == "output" and "hook" in str(r["payload"])]
        assert not [r for r in ide.seen if r["message"] == "stopped" and r["payload"].get("bkptno", "").startswith("-")]


@pytest.fixture
def ide(open_ide) -> Ide:
    return open_ide("test_alloc")


def test_the_list_of_breakpoints_is_silent(ide: Ide) -> None:
    """Emacs asks for it whenever something is printed: a line of ours there, and it would ask for ever."""
    ide.do("cuda-break cuMemAlloc if bytesize > 1G")
    ide.do("-exec-run")
    ide.stop()
    for command in ("-break-list", "-break-info", "-break-info 1"):
        assert ide.do(command) == "", command
    assert "cuMemAlloc_v2" in ide.do('-interpreter-exec console "info breakpoints"')


@pytest.mark.smoke("sync")
@pytest.mark.parametrize("mode", MODES)
def test_a_stop_in_the_hook(open_ide, mode: str) -> None:
    ide = open_ide("test_alloc", mode=mode)
    assert "in hook libgdbcuda-hook.so" in ide.do("cuda-break cuMemAlloc if bytesize > 1G")
    assert any(r["message"] == "breakpoint-created" for r in ide.seen)  # so that the IDE's list shows it
    ide.do("-exec-run")
    stop = ide.stop()
    assert (stop["reason"], stop["bkptno"]) == ("breakpoint-hit", "1")
    assert stop["frame"]["func"] == "cuMemAlloc_v2"
    assert DECODED.search(ide.console())
    ide.do("-exec-next")
    assert ide.stop()["reason"] == "end-stepping-range"
    ide.do("-exec-finish")
    assert ide.stop()["reason"] == "function-finished"
    assert re.search(r"Returned  hook libgdbcuda-hook.so  cuMemAlloc_v2\(.*\) = CUDA_SUCCESS\n", ide.console())


def test_an_error_stop_is_an_ordinary_breakpoint(ide: Ide) -> None:
    ide.do("cuda-env GDBCUDA_MEMORY_LIMIT=2g")
    ide.do("cuda-break cuMemAlloc --on error")
    ide.do("-exec-run")
    stop = ide.stop()
    assert (stop["reason"], stop["frame"]["func"]) == ("breakpoint-hit", "allocate_buffer")
    created = [r["payload"]["bkpt"]["number"] for r in ide.seen if r["message"] == "breakpoint-created"]
    assert stop["bkptno"] in created
    listed = ide.say("-break-list")["payload"]["BreakpointTable"]["body"]
    assert stop["bkptno"] in [row["number"] for row in listed]
    assert "= CUDA_ERROR_OUT_OF_MEMORY (2)\n" in ide.console()


def test_a_mistake_is_a_clean_error(ide: Ide) -> None:
    assert ide.error("cuda-break cuMemAloc").startswith("cuda-break: no function 'cuMemAloc'")


def test_conditions_can_be_changed_by_the_ide(ide: Ide) -> None:
    ide.do("cuda-break cuMemAlloc")
    ide.do("-break-condition 1 $rsi > 2000000000")
    ide.do("-exec-run")
    ide.stop()
    assert "bytesize=3221225472 [3.00 GiB]" in ide.console()


def row(ide: Ide, number: str) -> dict[str, Any]:
    """Of a breakpoint in the table that an IDE shows."""
    rows = ide.say("-break-list")["payload"]["BreakpointTable"]["body"]
    return dict(next(row for row in rows if row["number"] == number))


def test_the_list_of_breakpoints(ide: Ide) -> None:
    """Its hits are matches, wherever the condition is tested; at a stop the place is on; ignored ones are counted."""
    ide.do("cuda-break cuMemAlloc --count if bytesize >= 1G")
    assert (row(ide, "1")["times"], row(ide, "1")["enabled"]) == ("0", "y")
    ide.do("-exec-run")
    assert ide.stop().get("bkptno") == "1", ide.seen
    found = row(ide, "1")
    assert found["times"] == "1" and found["cond"] == '((unsigned long)$rsi >= 1073741824) && $_cuda_from("app")'
    on = [place["file"] for place in found["locations"] if place["enabled"] == "y"]
    assert [file.rpartition("/")[2] for file in on] == ["alloc.c"]
    assert re.search(r"^1 +(in the process|by gdb) ", ide.do("cuda-guards"), re.MULTILINE)
    ide.do("-break-after 1 1")
    ide.do("-exec-continue")
    assert ide.stop()["reason"].startswith("exited")
    assert row(ide, "1")["times"] == "2"
    ide.do("-break-disable 1")
    ide.do("-exec-run")
    assert ide.stop()["reason"].startswith("exited")
    assert (row(ide, "1")["times"], row(ide, "1")["enabled"]) == ("0", "n")


def test_a_line_of_the_hook_before_it_is_loaded(ide: Ide) -> None:
    """As cppdbg and Eclipse insert it: pending, by file and line."""
    made = ide.say(f"-break-insert -f --source {ROOT}/shim/hook/free.c --line 12")["payload"]["bkpt"]
    assert made["addr"] == "<PENDING>"
    ide.do("-exec-run")
    stop = ide.stop()
    assert (stop["bkptno"], stop["frame"]["func"]) == (made["number"], "cuMemFree_v2")
    assert "hook libgdbcuda-hook.so  cuMemFree_v2(dptr=0x" in ide.console()


def test_remote(open_ide, server) -> None:
    ide = open_ide("test_alloc")
    ide.do("cuda-break cuMemAlloc if bytesize > 1G")
    ide.do(f"-target-select remote {server('test_alloc')}")
    ide.stop()
    ide.do("-exec-continue")
    assert ide.stop().get("bkptno") == "1", ide.seen
    assert DECODED.search(ide.console())


NEED_A_PAUSE = ["cuda-call", "cuda-break cuMemAlloc", "cuda-break cuMemFree --on error", "cuda-route cuMemAlloc",
                "cuda-dlsym", "cuda-dlsym log on", "cuda-dlsym break cuInit", "cuda-dlsym answer cuInit with NULL",
                "cuda-log start cuMemAlloc", "cuda-env NAME", "cuda-env NAME=VALUE", "cuda-load",
                "set cuda-recursion-limit 50"]  # fmt: skip


@pytest.mark.smoke
def test_pause_first_while_a_remote_program_runs(open_ide, server) -> None:
    ide = open_ide("threads", "2", "100000000", mode="async")
    ide.do(f"-target-select remote {server('threads', '2', '100000000')}")
    ide.stop()
    ide.do("-exec-continue")
    for command in NEED_A_PAUSE:
        assert PAUSE in ide.error(command), command
    registered = ide.do("python print(*sys.modules['gdbcuda.live.prompt.command'].REGISTRY, sep=',')")
    for command in registered.strip().split(","):
        result = ide.say(command)
        assert result["message"] == "done" or "\n" not in result["payload"]["msg"], result
    ide.do("-exec-interrupt")
    ide.stop()
    assert "No breakpoints" in ide.do("info breakpoints")  # what was refused has left nothing behind
    ide.do("cuda-break cuMemAlloc")
    ide.do("-exec-continue")
    assert ide.stop().get("bkptno") == "1", ide.seen
    assert DECODED.search(ide.console())


def test_a_local_program_can_get_a_breakpoint_while_it_runs(open_ide) -> None:
    ide = open_ide("threads", "2", "100000000", mode="async")
    ide.do("-exec-run")
    assert PAUSE in ide.error("cuda-call")
    made = ide.say("cuda-break cuMemAlloc --on return")
    if made["message"] == "error":  # gdb 10 reads no memory of a program that runs, and puts no breakpoint there
        assert PAUSE in made["payload"]["msg"]
        ide.do("-exec-interrupt")
        ide.stop()
        ide.do("cuda-break cuMemAlloc --on return")
        ide.do("-exec-continue")
    assert ide.stop()["reason"] == "breakpoint-hit"
    assert re.search(r"cuMemAlloc_v2\(.*\) = CUDA_SUCCESS\n +returned to app allocate\(\)", ide.console())


def test_threads_stop_by_themselves_in_non_stop(open_ide) -> None:
    ide = open_ide("threads", "2", "100000000", mode="non-stop")
    ide.do("cuda-break cuMemAlloc")
    ide.do("-exec-run")
    first, second = ide.stop(), ide.stop()
    assert first["thread-id"] != second["thread-id"]
    for stop in (first, second):
        assert stop["bkptno"] == "1" and stop["stopped-threads"] == [stop["thread-id"]]
        call = ide.do(f'-interpreter-exec --thread {stop["thread-id"]} console "cuda-call"')
        assert f"thread {stop['thread-id']}\n" in call
        assert re.search(rf"called by app allocate\(\) at threads.c:\d+, thread {stop['thread-id']}\n", ide.console())
    assert PAUSE in ide.error('-interpreter-exec --thread 1 console "cuda-call"')

"""gdb's own DAP server, as VS Code and Emacs speak with it, and a client that adds nothing."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from scenario import EXTENSION, NO_DEBUG_FILES, ROOT, Scenario

from clients.dap import Client, Message

FREE = 12  # a line of shim/hook/free.c


@pytest.fixture
def editor(dap_gdb: str, local: Scenario) -> Iterator[Client]:
    words = [*([] if local.in_full else NO_DEBUG_FILES), *EXTENSION]
    client = Client([dap_gdb, "-nx", "-q", "-i=dap", *words], local.environment())
    client.request("initialize", adapterID="gdbcuda")
    client.event("initialized")
    yield client
    client.close()
    assert "\x1b" not in client.output()
    assert "Traceback" not in client.output()


def said(editor: Client, command: str) -> str:
    """A command typed into the debug console, and the answer there."""
    answer = editor.request("evaluate", expression=command, context="repl")
    return str(answer["body"]["result"] if answer["success"] else answer["message"])


def launch(editor: Client, local: Scenario, *commands: str) -> None:
    for command in (local.load(local.hook), *commands):
        said(editor, command)
    number = editor.send("launch", program=str(local.sample("test_alloc")))
    editor.request("configurationDone")
    assert editor.response(number)["success"]


def stopped(editor: Client) -> Message:
    """The next stop, when all that it says has come."""
    stop = editor.event("stopped")
    editor.request("threads")
    return stop


@pytest.mark.smoke
def test_a_stop_shows_the_decoded_call(editor: Client, local: Scenario) -> None:
    launch(editor, local, "cuda-break cuMemAlloc if bytesize > 1G")
    stop = stopped(editor)
    assert (stop["reason"], stop["hitBreakpointIds"]) == ("breakpoint", [1])
    frames = editor.request("stackTrace", threadId=stop["threadId"])["body"]["stackFrames"]
    assert frames[0]["name"] == "[hook libgdbcuda-hook.so] cuMemAlloc_v2"
    assert frames[0]["source"]["path"].endswith("shim/hook/alloc.c")
    assert re.search(
        r"Breakpoint 1  hook libgdbcuda-hook.so  cuMemAlloc_v2\(dptr=0x\w+ -> \(not written yet\), bytesize=1073741825 "
        r"\[1.00 GiB\]\)\n +called by app allocate_buffer\(\) at test_alloc.c:25, thread 1\n",
        editor.output(),
    )
    assert "bytesize  size_t         1073741825 [1.00 GiB]" in said(editor, "cuda-call")


def test_the_editor_hears_of_no_internal_breakpoint(editor: Client, local: Scenario) -> None:
    launch(editor, local, "cuda-break cuMemAlloc --on return")
    stopped(editor)
    said(editor, "cuda-dlsym log on")
    announced = [m["body"]["breakpoint"]["id"] for m in editor.seen if m.get("event") == "breakpoint"]
    assert announced and min(announced) > 0


def test_what_a_breakpoints_commands_say(editor: Client, local: Scenario) -> None:
    launch(editor, local, "cuda-break cuMemAlloc", "python gdb.breakpoints()[0].commands = 'silent\\ncuda-call'")
    stopped(editor)
    assert "cuMemAlloc_v2 in hook libgdbcuda-hook.so, called by app allocate_buffer()" in editor.output()


def test_a_line_of_the_hook_before_it_is_loaded(editor: Client, local: Scenario) -> None:
    source = {"path": str(ROOT / "shim" / "hook" / "free.c")}
    asked = editor.request("setBreakpoints", source=source, breakpoints=[{"line": FREE}])["body"]["breakpoints"]
    assert not asked[0]["verified"]
    launch(editor, local)
    stop = stopped(editor)
    assert (stop["reason"], stop["hitBreakpointIds"]) == ("breakpoint", [asked[0]["id"]])
    assert "cuMemFree_v2(dptr=0x" in editor.output()


def test_the_answer_of_continue_is_said_once(editor: Client, local: Scenario) -> None:
    launch(editor, local, "cuda-break cuMemAlloc")
    stopped(editor)
    answer = said(editor, "continue")
    assert (answer + editor.output()).count("bytesize=1073741825 [1.00 GiB])") == 1


def test_a_mistake_is_one_line(editor: Client) -> None:
    assert said(editor, "cuda-break cuMemAloc").startswith("cuda-break: no function 'cuMemAloc'")


def test_the_end_tells_of_the_hook(editor: Client, local: Scenario) -> None:
    launch(editor, local)
    editor.event("exited")
    said(editor, "info inferiors")
    assert "cuda-load: hook libgdbcuda-hook.so was loaded\n" in editor.output()


def test_remote(editor: Client, local: Scenario, server) -> None:
    for command in (f"file {local.sample('test_alloc')}", local.load(local.hook), "cuda-break cuMemAlloc"):
        said(editor, command)
    number = editor.send("attach", target=server("test_alloc"))
    editor.request("configurationDone")
    assert editor.response(number)["success"]
    thread = stopped(editor)["threadId"]
    editor.request("continue", threadId=thread)
    assert stopped(editor)["reason"] == "breakpoint"
    assert "Breakpoint 1  hook libgdbcuda-hook.so  cuMemAlloc_v2(dptr=0x" in editor.output()

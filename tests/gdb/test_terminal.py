"""What somebody at a terminal sees: a hint at first, colour unless it is unwanted, tables as wide as the window."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import struct
import subprocess
import termios
from pathlib import Path

import pytest
from scenario import GDB, ROOT, Scenario, checked

HINT = "gdbcuda: cuda-load ./libhook.so, then cuda-break cuMemAlloc; cuda-help"
ESCAPE = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]|\r")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "home").mkdir()
    return tmp_path / "home"


class Terminal:
    """gdb at a terminal of so many columns; ``typed`` gives all that it shows for the lines, escapes included."""

    def __init__(self, local: Scenario, home: Path, columns: int = 80) -> None:
        self.columns = columns
        environment = {**local.environment(), "HOME": str(home), "TERM": "xterm-256color", "XDG_CONFIG_HOME": str(home)}
        self.environment = {k: v for k, v in environment.items() if k not in ("COLUMNS", "LINES", "NO_COLOR")}

    def typed(self, *lines: str, words: tuple[str, ...] = ("-x", f"{ROOT}/gdbcuda.py"), **more: str) -> str:
        ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 500, self.columns, 0, 0))
        line = [GDB, "-nx", "-q", *words]
        running = subprocess.Popen(line, stdin=theirs, stdout=theirs, stderr=theirs, env={**self.environment, **more},
                                   start_new_session=True)  # fmt: skip
        os.close(theirs)
        os.write(ours, "".join(f"{one}\n" for one in ("set confirm off", *lines, "quit")).encode())
        shown = b""
        try:
            while piece := os.read(ours, 65536):
                shown += piece
        except OSError:  # gdb has closed its end
            pass
        running.wait(timeout=60)
        os.close(ours)
        return shown.decode(errors="replace")


def test_the_hint_comes_once(local: Scenario, home: Path) -> None:
    text = ESCAPE.sub("", Terminal(local, home).typed("echo one\\n", "echo two\\n"))
    assert text.count(HINT) == 1
    text = ESCAPE.sub("", Terminal(local, home).typed("echo one\\n", f"source {ROOT}/gdbcuda.py", words=()))
    assert text.count(HINT) == 1
    assert os.listdir(home) == [], "nothing is written"


def test_no_hint_for_machines_and_for_who_has_installed_it(local: Scenario, home: Path) -> None:
    terminal = Terminal(local, home)
    words = ("-x", f"{ROOT}/gdbcuda.py")
    assert "gdbcuda:" not in terminal.typed(words=(*words, "-batch"))
    assert "gdbcuda:" not in terminal.typed("-gdb-exit", words=(*words, "--interpreter=mi3"))
    assert "gdbcuda:" not in local.run(None, "echo x", hook=None)
    load = f"cuda-load {local.sample('minimal_hook.so')}"  # as a project's .gdbinit does
    assert "gdbcuda:" not in terminal.typed("help cuda-break", words=(*words, "-ex", load))
    (home / ".gdbinit").write_text(f"source {ROOT}/gdbcuda.py\n")
    assert "gdbcuda:" not in terminal.typed("help cuda-break")


PROGRAM = ("break main", "run")


def our_lines(text: str) -> str:
    return "\n".join(row for row in text.split("\n") if "GLIBC_" in row)


@pytest.mark.parametrize(
    ("first", "more", "wanted"),
    [
        ([], {}, True),
        (["set cuda-style off"], {}, False),
        (["set style enabled off"], {}, False),
        ([], {"NO_COLOR": "1"}, False),
        (["set cuda-style on"], {"NO_COLOR": "1"}, True),
    ],
)
def test_colour(local: Scenario, home: Path, first: list[str], more: dict[str, str], wanted: bool) -> None:
    words = ("-x", f"{ROOT}/gdbcuda.py", str(local.sample("test_alloc")))
    shown = our_lines(Terminal(local, home, 200).typed(*first, *PROGRAM, "cuda-dlsym", words=words, **more))
    assert "libc.so.6" in shown
    assert ("\x1b[" in shown) is wanted


def test_a_condition_in_colour(local: Scenario, home: Path) -> None:
    words = ("-x", f"{ROOT}/gdbcuda.py", str(local.sample("test_alloc")))
    shown = Terminal(local, home, 200).typed("cuda-break cuMemAlloc if bytesize > 1G", words=words)
    assert "if bytesize > \x1b[36m1073741824\x1b[0m" in shown


def test_calls_are_c_in_colour(local: Scenario, home: Path) -> None:
    """At a stop, in full with the caller's line and C's types, and in the log."""
    words = ("-x", f"{ROOT}/gdbcuda.py", str(local.sample("test_alloc")))
    shown = Terminal(local, home, 200).typed(
        "cuda-log start cuMemAlloc", "cuda-break cuMemAlloc --in driver", "run", "cuda-call", "finish", "cuda-log show",
        "cuda-help cuMemAlloc", words=words)  # fmt: skip
    name, size = "\x1b[1;33mcuMemAlloc_v2\x1b[0m", "bytesize=\x1b[36m67108864\x1b[0m [\x1b[36m64.00\x1b[0m MiB])"
    assert re.search(rf"^Breakpoint 1  .*{re.escape(name)}.*{re.escape(size)}", shown, re.MULTILINE)
    assert "  25: CUresult result = \x1b[1;33mcuMemAlloc\x1b[0m(&buffer" in shown
    assert re.search(r"^  bytesize  \x1b\[36msize_t\x1b\[0m +\x1b\[36m67108864\x1b", shown, re.MULTILINE)
    assert re.search(rf"#0 .*{re.escape(name)}.*{re.escape(size)}", shown, re.MULTILINE)
    assert f"CUresult {name}(CUdeviceptr *dptr, \x1b[36msize_t\x1b[0m bytesize);" in shown


@pytest.mark.parametrize("columns", [40, 80, 200])
def test_tables_fit(local: Scenario, home: Path, columns: int) -> None:
    words = ("-x", f"{ROOT}/gdbcuda.py", str(local.sample("test_alloc")))
    commands = ("cuda-dlsym", "cuda-route --unhooked", "cuda-check", "info breakpoints")
    text = Terminal(local, home, columns).typed(
        f"cuda-load {local.sample('minimal_hook.so')}", *PROGRAM, *commands, words=words
    )
    shown = ESCAPE.sub("", text).rpartition("Breakpoint 1, main")[2]
    rows = [row for row in shown.split("\n") if re.search("GLIBC_|driver libcuda|libc.so.6 |RTLD_NEXT is", row)]
    assert len(rows) > 8 and max(map(len, rows)) <= columns, rows


def test_answers_and_notices_end_at_words(local: Scenario, home: Path) -> None:
    words = ("-x", f"{ROOT}/gdbcuda.py", str(local.sample("test_alloc")))
    load = f"cuda-load {local.sample('minimal_hook.so')}"
    stop = ("cuda-break cuMemAlloc if bytesize > 1G && caller in app", "run", "cuda-call --json",
            "cuda-break 'cuMem*' if bytesize > 2G")  # fmt: skip
    shown = ESCAPE.sub("", Terminal(local, home).typed(load, *stop, words=words)).split("\n")
    begins = re.compile(r" *(hook minimal|Breakpoint 1: |Breakpoint 1  hook|called by app|.the condition does not)")
    ours = [line for line in shown if begins.match(line)]
    assert len(ours) >= 5 and max(map(len, ours)) <= 80, ours
    answer = shown.index(next(line for line in shown if line.startswith("Breakpoint 1: ")))
    assert " ".join(map(str.strip, shown[answer : answer + 3])).count("called from the program") == 0
    assert "if bytesize > 1073741824 && caller in app" in " ".join(map(str.strip, shown[answer : answer + 3]))
    assert any(line.startswith('{"') and len(line) > 80 and line.endswith("}") for line in shown), "JSON stays a line"


SESSION = (
    "cuda-break cuMemAlloc if bytesize > 1G && caller in app", "cuda-break cuMemFree --on error --from any",
    "cuda-break nvmlDeviceGetMemoryInfo --count", "cuda-break 'cuMemcpy*' --in driver", "cuda-break cuMemAloc",
    "cuda-break cuMemAlloc if bytesiz > 1", "cuda-break cuMemAlloc if nth == 3 || bytesize > 1G",
    "cuda-dlsym answer cuCtxSynchronize driver", "cuda-call", "cuda-memory", "set cuda-recursion-limit -4",
    "cuda-log start --memory", "run", "cuda-call", "bt", "cuda-guards", "cuda-layers", "cuda-layers --all",
    "cuda-route cuMemAlloc", "cuda-route --unhooked", "cuda-route", "cuda-check", "cuda-dlsym", "cuda-dlsym log on",
    "print $_cuda_arg(\"bytesiz\")", "cuda-env AVARIABLE=withavalue", "delete", "tbreak exit", "continue",
    "cuda-log show", "cuda-log show --tree", "cuda-log show --failed --where", "cuda-log summary", "cuda-memory",
    "cuda-memory leaks", "cuda-memory live", "cuda-memory by-site", "cuda-memory problems", "cuda-version",
    "cuda-help", "cuda-help commands", "cuda-help topics", "cuda-help guards",
    "cuda-help cuMemcpy2D", "cuda-help preloaded library", "cuda-dlsym log show", "cuda-log stop",
)  # fmt: skip
TYPED = r"  [^\s(\d#]|(?:    )?(?:\$|\(gdb\)) "  # a command to type; what has been typed
WAITING = r"cuda-\S+ is at work, [^\n]*?; Ctrl-C ends it"  # it is gone when the answer comes
OF_GDB = r"\d+\s+fprintf|Starting program|Using host lib|Temporary breakpoint|warning: |BFD: "


@pytest.mark.parametrize("columns", [60, 80])
def test_a_session_fits(local: Scenario, home: Path, columns: int) -> None:
    """By set width, in a window that is wider."""
    words = ("-x", f"{ROOT}/gdbcuda.py", str(local.sample("test_alloc")))
    load = f"cuda-load {local.sample('minimal_hook.so')}"
    shown = ESCAPE.sub("", Terminal(local, home, 200).typed(f"set width {columns}", load, *SESSION, words=words))
    shown = checked(re.sub(WAITING, "", shown)).rpartition(f"(gdb) set width {columns}\n")[2]
    wide = [line for line in shown.split("\n") if len(line) > columns and " " in line.strip()[:columns]]
    assert [line for line in wide if not re.match(f"{TYPED}|{OF_GDB}", line)] == []
    assert re.search(r"^1-2, 4-77 +by gdb", shown, re.MULTILINE), "of which the same is to be said, they are one row"


def test_a_recorded_call_is_one_line_where_it_is_asked_for(local: Scenario, home: Path) -> None:
    words = ("-x", f"{ROOT}/gdbcuda.py", str(local.sample("test_alloc")))
    wanted = "cuda-log show cuMemAlloc --in driver --last 2"
    shown = Terminal(local, home).typed("cuda-log start cuMemAlloc", "run", wanted, f"{wanted} --wide", words=words)
    text = re.sub(WAITING, "", ESCAPE.sub("", shown))
    folded, whole = (re.findall("^#.*", part, re.MULTILINE) for part in text.rsplit(wanted, 2)[1:])
    assert len(folded) == len(whole) == 2, text
    assert all(line.endswith("by allocate_buffer at test_alloc.c:25") for line in whole)
    assert max(map(len, folded)) <= 80 < min(map(len, whole))


def test_a_narrow_table_says_once_what_is_in_each_row(local: Scenario, home: Path) -> None:
    words = ("-x", f"{ROOT}/gdbcuda.py", str(local.sample("test_alloc")))
    load = f"cuda-load {local.sample('minimal_hook.so')}"
    shown = ESCAPE.sub("", Terminal(local, home).typed(load, *PROGRAM, "cuda-route --unhooked", words=words))
    assert re.search(r"^8 functions go past the hook, and none hands out memory:\n"
                     r"In each row: why: not in minimal_hook.so\nfunction +asked by +reaches +verdict\n-[- ]+\n"
                     r"cuCtxSetCurrent +app test_alloc +driver libcuda.so.1 +driver\n",
                     shown, re.MULTILINE)  # fmt: skip
    table = shown.partition("function  ")[2].partition("10 functions")[0].splitlines()
    assert len(table) == 10 and max(map(len, table)) <= 80


def test_what_is_to_be_typed_stays_a_line(local: Scenario, home: Path) -> None:
    words = ("-x", f"{ROOT}/gdbcuda.py", str(local.sample("test_alloc")))
    there = "--hook-there /usr/local/lib/libhook.so --program-there /opt/a/long/way/program"
    remote = f"cuda-remote --host gpu-server {there}"
    shown = ESCAPE.sub("", Terminal(local, home).typed(remote, words=words))
    assert re.search(r"^  (cuda-)?gdbserver --once .* -- :1234 /opt/a/long/way/program$", shown, re.MULTILINE), shown

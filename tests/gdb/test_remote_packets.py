"""What our commands cost on a slow link: packets, counted by a proxy between gdb and gdbserver."""

from __future__ import annotations

import platform
import re
import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import groupby
from pathlib import Path

import pytest
from guard_programs import CALLS, HOOK
from link import Link, Server, mark, preloading
from scenario import GDB, ROOT, Scenario, execute, is_cuda_gdb

from gdbcuda.routes.snapshot import LOADERS_RESOLVERS

pytestmark = pytest.mark.skipif(not shutil.which("gdbserver"), reason="gdbserver is not installed")

LOOK_UP = "try: gdb.decode_line('%s')\nexcept gdb.error: pass"  # not all are there without libc's debug info
READ = re.compile(r"[mx]([0-9a-f]+),([0-9a-f]+)")  # gdb 16 asks for bytes as such, with x, where the server can
WATCH = "one = gdb.Breakpoint('*%s', internal=True)\nif hasattr(one, 'inferior'): one.inferior = 1"
ABOVE_GDB = 10  # a stop that says which call it is, who called, and what the arguments are
Session = Callable[..., "tuple[str, Link]"]


@pytest.fixture
def session(local: Scenario) -> Iterator[Session]:
    """Runs commands against a program at the far end of the link; what was printed, and the link's list."""
    open_ones: list[Link | Server] = []

    def run(
        program: str | Path, *commands: str, extension: bool = True, round_trip: float = 0.0,
        hook: Path | str = local.hook, arguments: tuple[str, ...] = (),
    ) -> tuple[str, Link]:  # fmt: skip
        path = local.sample(program) if isinstance(program, str) else program
        server = Server(preloading(hook, path, *arguments), local.environment())
        link = Link(server.port, round_trip)
        open_ones.extend([server, link])
        ours = ["-x", str(ROOT / "gdbcuda.py"), "-ex", f"cuda-load {str(hook).split(':')[0]}"] if extension else []
        words = ["set confirm off", "set sysroot /", f"target remote {link.address}", "tbreak main", "continue",
                 *commands, "kill"]  # fmt: skip
        line = [GDB, "-nx", "-q", "-batch", *ours, *(part for word in words for part in ("-ex", word)), str(path)]
        return execute(line, local.environment()), link

    yield run
    for one in open_ones:
        one.end()


def steps(*commands: str) -> list[str]:
    """The commands with a mark in front of each ("0", "1", ...) and one behind the last."""
    marked = [part for number, command in enumerate(commands) for part in (mark(str(number)), command)]
    return [*marked, mark(str(len(commands)))]


def costs(link: Link, count: int) -> list[int]:
    """Newer gdbs tell the server, besides, whose memory they mean, and at each step which events they want. And what
    gdb 15 and newer have inserted they insert again as they learn which process a breakpoint is for. And where
    anybody on the machine has started a process meanwhile the server is asked for its own."""
    found = [link.between(str(number), str(number + 1)) for number in range(count)]
    besides = ("Hg", "QThreadEvents", "QThreadOptions", "qfThreadInfo", "qsThreadInfo")
    packets = [[packet for packet in one if not packet.startswith(besides)] for one in found]
    return [len(one) - 2 * inserted_again(one) for one in packets]


def both(ours: Link, plain: Link, first: str, behind: str) -> str:
    """What a failure is read by: each side's packets, with how often each stands in a row."""
    sides = [[f"{len(list(same))} x {packet}" for packet, same in groupby(link.between(first, behind))]
             for link in (ours, plain)]  # fmt: skip
    return "\n".join(["ours:", *sides[0], "gdb's own:", *sides[1]])


def inserted_again(packets: list[str]) -> int:
    """A read of the byte and a Z0, and at once the same two."""
    fours = zip(packets, packets[1:], packets[2:], packets[3:])
    return sum(four[:2] == four[2:] and bool(READ.match(four[0])) and four[1].startswith("Z0") for four in fours)


def kinds(packets: list[str]) -> str:
    return str(Counter(packet[:2] for packet in packets).most_common())


def reads(packets: list[str]) -> list[str]:
    return [packet for packet in packets if READ.match(packet)]


def reads_of_a_byte(link: Link, first: str, behind: str) -> int:
    return sum(READ.match(packet)[2] == "1" for packet in reads(link.between(first, behind)))


def skip_for_guards_in_cuda_gdb() -> None:
    if is_cuda_gdb():
        pytest.skip("cuda-gdb cannot hold threads, and a guard there costs more packets")


@pytest.mark.parametrize("guard", ["off", "on"])
def test_a_decoded_stop(session: Session, guard: str) -> None:
    """The first and the second, against gdb's own at the same address."""
    if guard == "on":
        skip_for_guards_in_cuda_gdb()
    ours_first = (f"set cuda-guard {guard}", "cuda-break cuMemAlloc")
    goes_on = steps("continue", "continue")
    text, ours = session("test_alloc", *ours_first, *goes_on, "info breakpoints", round_trip=0.02)
    assert text.count("called by app allocate_buffer() at test_alloc.c:25") == 2
    address = re.search(r"(0x[0-9a-f]+) in cuMemAlloc_v2 at hook", text)[1]
    _, plain = session("test_alloc", f"break *{address}", *goes_on, extension=False)
    for number, (with_it, without) in enumerate(zip(costs(ours, 2), costs(plain, 2))):
        assert with_it <= without + ABOVE_GDB, both(ours, plain, str(number), str(number + 1))
    tables = [packet for packet in reads(ours.between("1", "2")) if int(packet.partition(",")[2], 16) > 64]
    assert not tables, "of the objects; they do not change between two stops"


@pytest.mark.skipif(platform.machine() != "x86_64", reason="guards are made for x86-64")
@pytest.mark.parametrize("flags", ["-O0", "-O2"])
@pytest.mark.parametrize("matches", ["20", "10"])
def test_a_guarded_stop(session: Session, compile_c, tmp_path: Path, flags: str, matches: str) -> None:
    """Of a condition, against gdb's own with the same, evaluated in gdb as well; each call matches, or every other."""
    skip_for_guards_in_cuda_gdb()
    hook = compile_c("libguardhook.so", HOOK, "-shared", flags)
    program = compile_c("program", CALLS, "-O1", str(hook), f"-Wl,-rpath,{tmp_path}", "-pthread")
    goes_on, called = steps(*["continue"] * 4), {"hook": hook, "arguments": ("1", "20", matches)}
    ours_first = ("set cuda-guard on", "cuda-break cuMemAlloc if bytesize >= 1T")
    text, ours = session(program, *ours_first, *goes_on, "print/x $pc", **called)
    assert text.count("called by app work()") == 4 and "; guarded" in text
    address = re.search(r"^\$1 = (0x[0-9a-f]+)", text, re.MULTILINE)[1]
    own = ("set breakpoint condition-evaluation host", f"break *{address} if (unsigned long)$rsi >= 1ul << 40")
    _, plain = session(program, *own, *goes_on, extension=False, **called)
    above = [with_it - without for with_it, without in zip(costs(ours, 4), costs(plain, 4))]
    looks = 3 * (flags == "-O2" and matches == "10")  # at what is there, before the code is changed and changed again
    # The breakpoint behind the test stays while a guard is raised; gdb takes it out around the step off the other one.
    witness = 2 * (flags == "-O2" and matches == "10")
    assert max(above[2:]) <= ABOVE_GDB + looks + witness
    assert max(above[:2]) <= ABOVE_GDB + 8, "once a process: a new thread, the first call that does not match"


def test_what_a_stop_has_read_is_not_read_again(session: Session) -> None:
    """Of the arguments, which gdb has printed already: the out-pointer alone is looked at."""
    _, link = session("test_alloc", "cuda-break cuMemAlloc", "continue", *steps("cuda-call", "cuda-call --json"))
    assert all(cost <= 1 for cost in costs(link, 2))


def test_a_struct_is_one_read(session: Session) -> None:
    words = ("cuda-break nvmlDeviceGetMemoryInfo --on return", "continue", *steps("cuda-call"))
    text, link = session("nvml_info", *words)
    assert re.search(r"memory +nvmlMemory_t \* +0x[0-9a-f]+ -> {total=", text), text
    assert len(link.between("0", "1")) == 1


def test_routes_are_read_in_blocks(session: Session) -> None:
    text, link = session("test_alloc", *steps("cuda-route", "cuda-route", "cuda-route cuMemAlloc"))
    assert "10 functions reachable: 10 hooked, 0 past the hook" in text
    first, second, one = costs(link, 3)
    assert first <= 40
    assert second <= 3, "only what the program may have changed since"
    assert one <= 60
    assert all(int(packet.partition(",")[2], 16) >= 4096 for packet in reads(link.between("1", "2")))


def test_checking_asking_and_setting(session: Session) -> None:
    text, link = session("test_alloc", *steps("cuda-check --quiet", "cuda-dlsym", "cuda-env GDBCUDA_X=1"))
    assert "test_alloc: the hook is in place" in text
    assert "GDBCUDA_X=1 in the running process" in text
    check, dlsym, _ = costs(link, 3)
    assert check <= 60
    looked_up = steps(*[f"python exec({LOOK_UP % name!r})" for name in LOADERS_RESOLVERS])
    _, plain = session("test_alloc", *looked_up, extension=False)
    own = sum(costs(plain, len(LOADERS_RESOLVERS)))
    assert dlsym <= own + 40, "gdb looks a name up through the loader's list, more than once without libc's debug info"


def test_a_guard(session: Session) -> None:
    """Setting one; the calls that it lets through cost nothing."""
    skip_for_guards_in_cuda_gdb()
    to_first_call = ("break release_buffers", "tbreak allocate_buffer", "continue")
    words = steps("set cuda-guard on", "cuda-break cuMemAlloc if bytesize >= 1T", "continue")
    text, link = session("test_alloc", *to_first_call, *words)
    assert "if bytesize >= 1099511627776; guarded" in text
    assert "release_buffers ()" in text and "Breakpoint 4  hook" not in text
    assert sum(costs(link, 2)) <= 200
    _, plain = session("test_alloc", *to_first_call, *steps("continue"), extension=False)
    assert resumed(link.between("2", "3")) <= resumed(plain.between("0", "1"))


def resumed(packets: list[str]) -> int:
    return len([packet for packet in packets if packet.startswith("vCont;c")])


def test_a_log_record(session: Session) -> None:
    """Two stops a call, at its entry and at its return; gdb itself takes a step over each of its breakpoints."""
    words = (
        "break release_buffers",
        *steps("cuda-log start", "continue", "cuda-log show", "cuda-log stop"),
        "continue",
    )
    text, link = session("test_alloc", *words)
    planted = int(re.search(r"Recording .*, (\d+) places", text)[1])
    records = len(re.findall(r"^#\d+ ", text, re.MULTILINE))
    start, recording, shown, _ = costs(link, 4)
    watched = reads_of_a_byte(link, "0", "1")
    assert start - watched <= 62 and shown == 0 and records > 20  # what those are called is looked up in the hook too
    makes_one = f"python exec({WATCH % 'release_buffers'!r})"
    _, plain = session("test_alloc", "break release_buffers", *steps("continue", makes_one), extension=False)
    own_reads = reads_of_a_byte(plain, "1", "2")
    assert own_reads in (1, 2)  # gdb 15 and newer look again as they learn of which process it is
    assert watched <= 12 * own_reads  # each that looks on is such a breakpoint: ten resolvers of the hook
    own = costs(plain, 1)[0]  # gdb stops at each dlopen where ld.so has no probes (Debian 13)
    recording -= reads_of_a_byte(link, "1", "2")  # where a breakpoint is new; gdb 15 and newer do it twice
    # Of a stack gdb reads lines of 64 bytes: by the length of the environment a frame is in one or two of them.
    most = planted + 17 * records + 2 * own
    assert recording <= most, (
        "each breakpoint is written once, and stays while the program stands: " + kinds(link.between("1", "2"))
    )
    assert re.search(r"Inferior 1 \(process \d+\) exited", text)


def test_a_library_that_comes_sends_no_breakpoint_again(session: Session) -> None:
    """Where gdbserver tests conditions, gdb sends all that are in the process once more."""
    shows = "show breakpoint condition-evaluation"
    text, link = session("nvml_dlopen", "cuda-log start", "continue", shows, "cuda-log stop", shows)
    planted = int(re.search(r"Recording .*, (\d+) places", text)[1])
    sent = Counter(one.split(",")[1] for one in link.packets if one.startswith("Z0"))
    assert len(sent) > planted > 1000 and sum(sent.values()) < 1.1 * len(sent), sent.most_common(3)
    assert re.findall(r"mode is (\w+)", text) == ["host", "auto"]


def test_the_log_of_the_functions_named(session: Session) -> None:
    text, link = session(
        "test_alloc", "break release_buffers", *steps("cuda-log start cuMemAlloc --in hook if bytesize > 0", "continue")
    )
    assert re.search(r"Recording .*, 2 places|Recording .*, 1 places", text), text
    assert sum(costs(link, 2)) <= 160


def test_stops_beside_the_recorder_in_the_process(session: Session, local: Scenario) -> None:
    """All functions of all layers are recorded; a stop costs some packets for each MB of code, not one for each."""
    if "True" not in local.run(None, "python print(hasattr(gdb, 'BreakpointLocation'))", hook=None):
        pytest.skip("this gdb does not tell where its breakpoints are while the program goes on: --fast says so")
    both = f"{local.hook}:{local.shim}/libgdbcuda.so"
    commands = ("next", "cuda-log show --last 3", "break exit", "continue", "cuda-log summary")
    words = ("cuda-log start --fast --in hook", "next", *steps(*commands), "cuda-log")
    text, link = session("threads", *words, hook=both, arguments=("4", "2000"))
    step, show, _, on, summary = costs(link, 5)
    assert re.search(r"\b9\d{3} calls kept", text), text  # 8000 of the program's, and the hook's own
    assert step <= 150 and on <= 450 and show == summary == 0, (step, on)

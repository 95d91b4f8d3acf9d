"""``gdbcuda trace --with strace``: what the program asks NVIDIA's kernel modules."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from gdbcuda import __version__, api
from gdbcuda.calls import record
from gdbcuda.calls.sinks import JsonLines
from gdbcuda.errors import UserError
from gdbcuda.files import places
from gdbcuda.observe import ptracing, strace_lines
from gdbcuda.observe.strace_lines import SystemCalls
from gdbcuda.shell.observers import new_log
from gdbcuda.text import output
from gdbcuda.text.printable import visible
from gdbcuda.text.sentences import counted

if TYPE_CHECKING:
    from gdbcuda.shell.observers.options import ObserverOptions

STRACE, OF_RECORDER = "strace", "for uprobes: strace sees system calls alone"
HOW = ("-f", "-Y", "-y", "-X", "raw", "--absolute-timestamps=format:unix,precision:ns", "--syscall-times=ns",
       "-e", "signal=none", "-e", f"trace={','.join('?' + one for one in strace_lines.SYSTEM_CALLS)}")  # fmt: skip


def run(wanted: ObserverOptions, words: Sequence[str], hook: str | None, log: str | None) -> int:
    """``log``: the file to write, "" for one of our choice. The exit status is the program's."""
    if words:
        places.program(words[0])
    strace = places.on_path(STRACE)
    if strace is None:
        raise UserError("no strace on this machine (apt-get install strace)")
    if not ptracing.is_allowed_to(strace):
        raise UserError(f"strace cannot watch: {ptracing.WHY}")
    if bool(words) == bool(wanted.pid):
        raise UserError("strace watches one of: -p PID, or a program behind --")
    if wanted.pid and not os.path.isdir(f"/proc/{wanted.pid}"):
        raise UserError(f"no process {wanted.pid}")
    for name, value in (("--all-of", wanted.all_of), ("--function", wanted.function), ("--filter", wanted.condition)):
        if value:
            raise UserError(f"{name} is {OF_RECORDER}")
    path = new_log.new_file(log, words[0] if words else str(wanted.pid))
    epoch = time.time_ns()
    newest = api.load()
    head = {**record.header(newest.cuda, newest.nvml, words[0] if words else "", __version__),
            "clock": "realtime, of the kernel", "started": epoch / strace_lines.NANOSECONDS}  # fmt: skip
    calls = SystemCalls(epoch, process_of, wanted.device or strace_lines.DEVICES)
    line, sink = command(wanted, words, hook), JsonLines(path, head, output.complain)
    return follow(line, calls, sink, path, not words, wanted.seconds)


def command(wanted: ObserverOptions, words: Sequence[str], hook: str | None) -> list[str]:
    line = [STRACE, *HOW]
    if hook:
        line += ["-E", "LD_PRELOAD=" + ":".join(filter(None, [os.path.abspath(hook), os.environ.get("LD_PRELOAD")]))]
    return line + (["-p", str(wanted.pid)] if wanted.pid else ["--seccomp-bpf", "--", *words])


def follow(line: list[str], calls: SystemCalls, sink: JsonLines, path: str, is_attached: bool,
           seconds: float | None) -> int:  # fmt: skip
    """Until the program has ended, or the time is over, or Ctrl-C."""
    reader, writer = os.pipe()
    output.finish()
    ours = [*line[:1], "-o", f"/dev/fd/{writer}", *line[1:]]
    with subprocess.Popen(ours, pass_fds=[writer]) as tracer:
        os.close(writer)

        def pass_on(*_: object) -> None:
            if is_attached and tracer.poll() is None:  # else the program has got it, and decides
                tracer.send_signal(signal.SIGINT)

        before = {one: signal.signal(one, pass_on) for one in (signal.SIGINT, signal.SIGTERM, signal.SIGALRM)}
        signal.setitimer(signal.ITIMER_REAL, seconds or 0)
        with open(reader, encoding="utf-8", errors="surrogateescape", newline="\n") as lines:
            told: set[int] = set()
            for text in lines:
                write(calls, text, sink, told)
        status = tracer.wait()
        signal.setitimer(signal.ITIMER_REAL, 0)
        for one, handler in before.items():
            signal.signal(one, handler)
    sink.close()
    output.complain(f"gdbcuda: {counted(calls.count, 'system call')} on {', '.join(calls.devices)} in {visible(path)}")
    return 0 if is_attached and status in (-signal.SIGINT, 130) else status if status >= 0 else 128 - status


def write(calls: SystemCalls, text: str, sink: JsonLines, told: set[int]) -> None:
    call = calls.read(text)
    if call is None:
        return
    if call.lwp not in told:
        told.add(call.lwp)
        thread, pid, name = calls.threads[call.lwp]
        sink.note(call.start, "thread", {"thread": thread, "lwp": call.lwp, "name": name, "inferior": 0, "pid": pid})
    sink.entry(call)
    sink.exit(call)


def process_of(tid: int) -> int:
    """Of a thread that has ended meanwhile, its own number."""
    try:
        with open(f"/proc/{tid}/status", encoding="utf-8", errors="replace") as file:
            return next((int(line.split()[1]) for line in file if line.startswith("Tgid:")), tid)
    except OSError:
        return tid

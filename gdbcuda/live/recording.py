"""The call log of this session: what is kept, the recorder at work, the file that is written meanwhile."""

from __future__ import annotations

from typing import Any

import gdb

from gdbcuda import __version__, sinks
from gdbcuda.errors import UserError
from gdbcuda.ledger import Ledger, views
from gdbcuda.live import console, settings, target, versions
from gdbcuda.live.recorder import Recorder, Wish
from gdbcuda.log import record, text
from gdbcuda.log.record import Call

LAST_CALLS = 10  # shown when a signal kills the program
FATAL = ("SIGSEGV", "SIGABRT", "SIGBUS", "SIGILL", "SIGFPE", "SIGSYS")


class Session:
    def __init__(self) -> None:
        self.recorder: Recorder | None = None
        self.file: sinks.JsonLines | None = None
        self.kept = sinks.Kept(0)
        self.ledger: Ledger | None = None
        self.alarm = ""  # what the program has been stopped for
        self.seconds = 0.0  # how far the clock of the log has come
        self.numbers = 0

    def require(self) -> Recorder:
        if self.recorder is None:
            raise UserError("no recorder is at work: cuda-log start")
        return self.recorder


SESSION = Session()


def start(wish: Wish, path: str | None) -> Recorder:
    """A new recorder in the place of the one at work, if any; the log goes on, numbers and clock with it."""
    if target.connection() == "core":
        raise UserError("a core file makes no calls any more")
    stop()
    apply_limit()
    SESSION.file = sinks.JsonLines(path, header()) if path else None
    SESSION.ledger = SESSION.ledger or Ledger(versions.table())
    files = [SESSION.file] if SESSION.file else []
    recorder = Recorder(wish, [SESSION.kept, SESSION.ledger, *files], is_bad)
    recorder.epoch -= SESSION.seconds
    recorder.number = SESSION.numbers
    SESSION.recorder = recorder
    recorder.plant()
    return recorder


def is_bad(call: Call) -> bool:
    """The ledger has found something wrong with this call, and the user wants to stop there."""
    ledger = SESSION.ledger
    if ledger is None or not ledger.problems or ledger.problems[-1].call is not call:
        return False
    if not settings.value("cuda-memory-stop"):
        return False
    SESSION.alarm = views.problem_text(ledger.problems[-1], writer())
    return True


def apply_limit() -> None:
    SESSION.kept.limit(settings.value("cuda-log-limit") or 0)


def stop() -> None:
    """What is open stays so in the log: it is not over, and will not be seen to end."""
    recorder, SESSION.recorder = SESSION.recorder, None
    if recorder is not None:
        SESSION.seconds, SESSION.numbers = recorder.now(), recorder.number
        recorder.forget_process(record.STILL_OPEN)
    if SESSION.file is not None:
        SESSION.file.close()
        SESSION.file = None


def clear() -> None:
    SESSION.kept.clear()
    SESSION.ledger = None if SESSION.recorder is None else SESSION.ledger


def save(path: str) -> int:
    """Writes what is kept; how many calls that is."""
    file = sinks.JsonLines(path, header())
    SESSION.kept.replay(file)
    file.close()
    return len(SESSION.kept.calls)


def header() -> dict[str, Any]:
    table = versions.table()
    return record.header(table.cuda, table.nvml, target.strip_prefix(target.program()), __version__)


# -- events (connected in live/__init__.py) -------------------------------------------------------------------


def on_objfile(event: object = None) -> None:
    if SESSION.recorder is not None:
        apply_limit()
        SESSION.recorder.noted = {key for key in SESSION.recorder.noted if key[0] != "place"}
        SESSION.recorder.plant()


def forget_process(event: object = None) -> None:
    if SESSION.recorder is not None:
        SESSION.recorder.forget_process()


def on_stop(event: gdb.StopEvent) -> None:
    """Threads that have gone meanwhile are told only by their absence; a fatal signal shows what led to it."""
    if SESSION.recorder is None:
        return
    if SESSION.alarm:
        console.write(f"cuda-memory: {SESSION.alarm}\n")
        SESSION.alarm = ""
    if target.is_alive():
        alive = {thread.global_num for thread in gdb.selected_inferior().threads()}
        SESSION.recorder.end_threads(alive, record.THREAD_GONE)
    if isinstance(event, gdb.SignalEvent) and event.stop_signal in FATAL:
        console.write(last_words(event.stop_signal))


def last_words(name: str) -> str:
    thread = gdb.selected_thread()
    mine = [call for call in SESSION.kept.calls if call.thread == thread.global_num][-LAST_CALLS:]
    if not mine:
        return f"cuda-log: {name} in thread {thread.num}, which has made no recorded call\n"
    return f"cuda-log: the last calls of thread {thread.num}:\n{lines(mine)}\n"


def lines(calls: list[Call]) -> str:
    return "\n".join(map(writer().line, calls))


def writer() -> text.Writer:
    from gdbcuda.live import stops

    return text.Writer(versions.table(), SESSION.kept.described("place"), stops.paint)


def on_exit(event: object) -> None:
    """What the program has not given back, in one line."""
    recorder, ledger = SESSION.recorder, SESSION.ledger
    if recorder is not None and ledger is not None and ledger.blocks.live and records_releases(recorder.wish):
        console.write(f"cuda-memory: not freed at exit: {views.totals(ledger)} (cuda-memory leaks)\n")


def records_releases(wish: Wish) -> bool:
    """Who records allocations alone has not asked for leaks."""
    found = map(versions.table().function, wish.functions)
    return any(function is not None and function.role == "free" for function in found)

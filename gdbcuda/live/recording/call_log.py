"""The call log of this session: what is kept, the recorder at work, the file that is written meanwhile."""

from __future__ import annotations

from collections.abc import Set

import gdb

from gdbcuda.calls import sinks, text
from gdbcuda.calls.record import Call
from gdbcuda.errors import UserError
from gdbcuda.ledger import Ledgers, views
from gdbcuda.live import process
from gdbcuda.live.guard.watch import trash
from gdbcuda.live.host import console, inferiors, interrupts
from gdbcuda.live.layers import table_version
from gdbcuda.live.layers.code import answering_code
from gdbcuda.live.noticing import answer_search
from gdbcuda.live.patching import mapped_pages
from gdbcuda.live.placing import letting_go, loader_watch, unloading
from gdbcuda.live.preloading import preload
from gdbcuda.live.prompt import settings, user_hooks
from gdbcuda.live.recording import log_header, not_freed
from gdbcuda.live.recording.base import unread_libraries
from gdbcuda.live.recording.base.footprint import RecordWish
from gdbcuda.live.recording.by_breakpoints.recorder import Recorder
from gdbcuda.live.recording.entries import entry_patches, taken_bytes
from gdbcuda.live.recording.in_process.ring_recorder import RingRecorder
from gdbcuda.live.recording.log_session import LogSession
from gdbcuda.routes.answering import Answering
from gdbcuda.text import render
from gdbcuda.text.printable import visible

LAST_CALLS = 10  # shown when a signal kills the program
FATAL = ("SIGSEGV", "SIGABRT", "SIGBUS", "SIGILL", "SIGFPE", "SIGSYS")


SESSION = LogSession()
NO_CALLS = "a core file makes no calls any more"


def can_record() -> bool:
    return process.connection() != "core"


def start(
    wish: RecordWish, path: str | None, is_fast: bool = False, is_at_entry: bool = False
) -> Recorder | RingRecorder:
    """A new recorder in the place of the one at work, if any; the log goes on, numbers and clock with it.
    ``is_at_entry``: a thread has been brought to the entry of a function, and not by the user."""
    if not can_record():
        raise UserError(NO_CALLS, page="processes")
    file = sinks.JsonLines(path, log_header.header(), complain) if path else None  # if that fails the old one goes on
    stop()
    apply_limit()
    SESSION.file = file
    SESSION.ledgers = SESSION.ledgers or Ledgers(table_version.table(), SESSION.kept.notes, keep_all=False)
    found: list[sinks.Sink] = [SESSION.kept, SESSION.ledgers, *([SESSION.file] if SESSION.file else [])]
    unloading.watch()
    recorder = SESSION.recorder = RingRecorder(wish, found) if is_fast else Recorder(wish, found, is_bad)
    recorder.epoch -= SESSION.seconds
    recorder.number = SESSION.numbers
    preload.need_ours(is_fast)
    if isinstance(recorder, RingRecorder):
        recorder.is_stepped = not is_at_entry
        for word in ("until", "advance"):
            user_hooks.add(f"hook-{word}", "recording.call_log", "before_until")
        for word in ("step", "stepi", "next", "nexti") if is_at_entry else ():
            user_hooks.add(f"hook-{word}", "recording.call_log", "before_step")
        loader_watch.want(on_loaded, loader_watch.LAST)
    loader_watch.want(read_wanted, loader_watch.FIRST)
    for inferior in gdb.inferiors():
        with inferiors.selected(inferior):
            unread_libraries.read(wish.functions)
            answer_search.get_ready()
            recorder.plant()
    answer_search.want()
    return recorder


def complain(text: str) -> None:
    console.write(visible(f"cuda-log: {text}; the calls are kept in memory alone now") + "\n")


def is_bad(call: Call) -> bool:
    """The ledger has found something wrong with this call, and the user wants to stop there."""
    ledger = SESSION.ledgers.of(call) if SESSION.ledgers is not None else None
    if ledger is None or not ledger.problems or ledger.problems[-1].call is not call:
        return False
    if not settings.value("cuda-memory-stop"):
        return False
    SESSION.alarm = views.problem_text(ledger.problems[-1], writer())
    return True


def apply_limit() -> None:
    SESSION.kept.limit(settings.value("cuda-log-limit") or 0)


@interrupts.uninterrupted
def stop() -> None:
    """Done by half, breakpoints or jumps would stay that nobody takes away."""
    SESSION.catch_up()
    recorder, SESSION.recorder = SESSION.recorder, None
    if recorder is not None:
        preload.give({})
        preload.need_ours(False)
        trash.extend(loader_watch.unwant(on_loaded))
        trash.extend(loader_watch.unwant(read_wanted))
        SESSION.seconds, SESSION.numbers = recorder.now(), recorder.number
        recorder.close()
    if SESSION.file is not None:
        SESSION.file.close()
        SESSION.file = None


def clear() -> None:
    SESSION.kept.clear()
    SESSION.ledgers = None if SESSION.recorder is None else SESSION.ledgers


# -- events (connected in live/events.py) ---------------------------------------------------------------------


def read_wanted() -> None:
    if SESSION.recorder is not None:
        unread_libraries.read(SESSION.recorder.wish.functions)


def on_loaded() -> None:
    """Behind a load, and outside of gdb's events."""
    if isinstance(SESSION.recorder, RingRecorder):
        SESSION.recorder.on_loaded()


def before_until() -> None:
    """Where gdb's own breakpoint of it will be, nobody can ask: it may be in the bytes of a jump."""
    if isinstance(SESSION.recorder, RingRecorder):
        SESSION.recorder.stays_out = True


def before_step() -> None:
    """From an entry on, one would see the jump there."""
    if isinstance(SESSION.recorder, RingRecorder):
        SESSION.recorder.is_stepped = True


def on_process(inferior: gdb.Inferior) -> None:
    if isinstance(SESSION.recorder, RingRecorder):
        SESSION.recorder.on_process(inferior)


def on_new_thread(event: gdb.ThreadEvent) -> None:
    if isinstance(SESSION.recorder, RingRecorder) and (thread := inferiors.new_thread(event)).num != 1:
        SESSION.recorder.on_new_thread(inferiors.of_event(event), thread)


def on_continue(event: object) -> None:
    if isinstance(SESSION.recorder, RingRecorder) and not mapped_pages.calling:
        SESSION.recorder.on_continue()


def before_stop(event: object) -> None:
    """Nobody has looked at the process yet."""
    if isinstance(SESSION.recorder, RingRecorder):
        SESSION.recorder.stopped_by = str(event.stop_signal) if isinstance(event, gdb.SignalEvent) else ""
        SESSION.recorder.on_stop()


def on_exiting(event: object) -> None:
    """gdb ends while the program runs. (Where it stands the functions have their own bytes.)"""
    if isinstance(SESSION.recorder, RingRecorder):
        for taken in letting_go.held(taken_bytes.now):
            entry_patches.restore_past_gdb(SESSION.recorder.processes().patches.values(), taken)


def on_objfile(event: object = None) -> None:
    if SESSION.recorder is not None:
        apply_limit()
        SESSION.recorder.forget_places()
        SESSION.recorder.plant()


def wanted() -> Set[str]:
    return SESSION.recorder.wish.functions if SESSION.recorder is not None else frozenset()


def on_learned(answer: Answering) -> None:
    if SESSION.recorder is not None:
        SESSION.recorder.plant_answer(answer)


def on_begun() -> None:
    if SESSION.recorder is not None:
        SESSION.recorder.on_begun()


answer_search.WANTED.append(wanted)
answer_search.ON_BEGUN.append(on_begun)
answering_code.ON_LEARNED.append(on_learned)


def forget_unloaded(addresses: set[int]) -> None:
    if SESSION.recorder is not None:
        SESSION.recorder.forget_unloaded(addresses)


unloading.ON_UNLOADED.append(forget_unloaded)


def on_stop(event: gdb.StopEvent) -> None:
    """Threads that have gone meanwhile are told only by their absence; a fatal signal shows what led to it."""
    if SESSION.recorder is None:
        return
    if SESSION.alarm:
        console.write(render.fold_to_screen(f"cuda-memory: {SESSION.alarm}\n"))
        SESSION.alarm = ""
    if process.is_alive():
        SESSION.recorder.end_threads()
    if isinstance(event, gdb.SignalEvent) and event.stop_signal in FATAL:
        console.write(render.fold_to_screen(last_words(event.stop_signal)))


def last_words(name: str) -> str:
    thread = gdb.selected_thread()
    called = f"thread {inferiors.thread_label(thread.num)}"
    mine = [call for call in SESSION.kept.calls if call.thread == thread.global_num][-LAST_CALLS:]
    if not mine:
        return f"cuda-log: {name} in {called}, which has made no recorded call\n"
    return f"cuda-log: the last calls of {called}:\n{lines(mine)}\n"


def lines(calls: list[Call]) -> str:
    return "\n".join(map(writer().line, calls))


def writer() -> text.CallWriter:
    from gdbcuda.live.stopping import stops

    return text.CallWriter(table_version.table(), SESSION.kept.notes, stops.paint, stops.code)


def on_exit(event: gdb.ExitedEvent) -> None:
    """What the program has not given back, in one line. Not where gdb only lets it go: it goes on, and a command that
    is executed while gdb 13 detaches from the parent of a fork ends the user's ``continue``."""
    if hasattr(event, "exit_code"):
        tell_what_is_left(event.inferior)


def tell_what_is_left(inferior: gdb.Inferior) -> None:
    if SESSION.recorder is not None and SESSION.ledgers is not None:
        not_freed.tell(SESSION.ledgers.latest(inferior.num), inferior.num)

"""While the main thread has yet to pass the program's entry point, gdb steps no other thread aside.

It has a thread that stands at a breakpoint execute the instruction just there, for it takes the program to be past it.
A hook library's constructor may have begun a thread that is not. Then the main thread executes half of that: SIGSEGV.
From the first such thread on gdb steps in place, as the user can tell it to, until the main thread is in libc. Where it
never calls that, as in programs without gcc's start files and Go's without C, it is seen in the program's own code.
(gdb's linux-tdep.c: linux_displaced_step_location.)
"""

from __future__ import annotations

from typing import Callable

import gdb

from gdbcuda.api import vendor
from gdbcuda.live import process
from gdbcuda.live.host import gdb_cli, inferiors
from gdbcuda.live.host.inferiors import PerInferior
from gdbcuda.live.placing import loader_watch, own_process
from gdbcuda.live.threads import call_registers, lent_registers, positions, standstill

MAIN = 1  # its number
BEHIND = "__libc_start_main"  # which the entry point's code calls, and which does not return
SETTING = "set displaced-stepping {}"
WORDS: dict[object, str] = {None: "auto", True: "on", False: "off"}
_ahead: set[int] = set()  # inferiors with such a thread


class BehindEntry(own_process.Internal):
    sees_all_calls = False

    def stop(self) -> bool:
        STARTING().end()
        return False


class Starting:
    """One process, up to there. ``is_ahead``: None while nobody has looked."""

    def __init__(self) -> None:
        self.number = gdb.selected_inferior().num
        self.is_ahead: bool | None = None

    def look(self) -> None:
        """A thread is in the loader."""
        if process.connection() != "native" or not is_loaders():
            self.is_ahead = False
        elif (symbol := next(filter(None, (one.lookup(BEHIND) for one in process.images())), None)) is not None:
            BehindEntry(symbol.address)
            self.is_ahead = True

    def end(self) -> None:
        self.is_ahead = False
        if self.number in _ahead:
            _ahead.discard(self.number)
            gdb_cli.when_possible(step_aside)


STARTING: PerInferior[Starting] = PerInferior(Starting, Starting.end)


def on_load() -> None:
    state = STARTING()
    if state.is_ahead is None:
        state.look()
    elif state.is_ahead and call_registers.thread_number() == MAIN and is_programs():
        state.end()


def on_stop(event: gdb.StopEvent) -> None:
    if not STARTING.has(gdb.selected_inferior()) or not STARTING().is_ahead:
        return
    main = next((one for one in inferiors.threads() if one.num == MAIN), None)
    with positions.same_thread():
        is_past = main is not None and positions.is_switched(main) and is_programs()
    if is_past:
        STARTING().end()


def on_exit(event: object) -> None:
    """No command of ours, and no prompt, may follow in a script."""
    step_aside(gdb_cli.execute_where_nothing_goes_on)


def is_loaders() -> bool:
    """The stack: it begins in the loader, where the kernel has put its first frame's caller: the count of arguments."""
    frame: gdb.Frame | None = gdb.newest_frame()
    while frame is not None and vendor.is_loader(gdb.solib_name(frame.pc()) or ""):
        frame = frame.older()
    return frame is None or not (gdb.solib_name(frame.pc()) or process.in_program(frame.pc()))


def is_programs() -> bool:
    """The stack: it begins there, and not in the loader, which has yet to jump to it, and goes on: the code at the
    entry point has been executed up to a call."""
    try:
        frame = newest = gdb.newest_frame()
        while (older := frame.older()) is not None:
            frame = older
        is_end = frame != newest and frame.unwind_stop_reason() in positions.ENDS
        return is_end and process.in_program(frame.pc())
    except (gdb.error, gdb.MemoryError):
        return False


def on_new_thread(event: gdb.ThreadEvent) -> None:
    inferior = inferiors.of_event(event)
    if not STARTING.has(inferior) or not STARTING.of(inferior).is_ahead:
        return
    if not standstill.WANTED and lent_registers.is_stepped_aside():
        standstill.WANTED.append(WORDS[gdb.parameter("displaced-stepping")])
        gdb_cli.execute_where_nothing_goes_on(SETTING.format("off"))
    if standstill.WANTED:
        _ahead.add(inferior.num)


def step_aside(execute: Callable[[str], str] = gdb_cli.execute) -> None:
    """Again, unless the user has said something else meanwhile."""
    if standstill.WANTED and not _ahead:
        wanted = standstill.WANTED.pop()
        if gdb.parameter("displaced-stepping") is False:
            execute(SETTING.format(wanted))


loader_watch.ON_STOP.append(on_load)

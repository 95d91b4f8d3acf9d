"""``cuda-guards``, and the lines below the table of ``info breakpoints``."""

from __future__ import annotations

from collections import defaultdict

import gdb

from gdbcuda.live import breakpoints, process
from gdbcuda.live.breakpoints import ours, own_condition
from gdbcuda.live.guarding import guards, lost_stacks
from gdbcuda.live.host import console, gdb_cli, lazily
from gdbcuda.live.layers import names
from gdbcuda.live.prompt.command import command
from gdbcuda.text import render
from gdbcuda.text.printable import visible
from gdbcuda.text.sentences import ranges

MOST_LINES = 8
TITLES = ("breakpoint", "tested", "calls", "where")


@command("cuda-guards", purpose="stop")
def cuda_guards() -> str:
    """Show who tests the conditions of cuda-break: a guard, gdbserver or gdb.

    A guarded function begins with a jump to the test while the program runs. 'set cuda-guard off', disable,
    delete and detach put its own bytes back. A breakpoint without a guard works all the same, at the price of
    a stop for every call.

    The column of calls has those that cuda-break --count has seen. 'info breakpoints' says the same, shorter.
    The last line says where backtrace(), profilers and core files lose the caller. Guards in libgdbcuda.so
    lose none. cuda-load preloads that library (set cuda-guard-stacks).

    Examples:
      cuda-guards
      set cuda-guard off"""
    numbers = [one.number for one in ours.filtered()]
    if not numbers:
        return "no breakpoints of cuda-break"
    guards.refresh()
    return "\n".join(filter(None, [table(rows(numbers)), visible(lost_stacks.lost()), why_none(numbers)]))


def table(told: list[tuple[str, ...]]) -> str:
    """Without the columns in which nothing stands: after the end of the process nobody tests at a place."""
    filled = [at for at, cells in enumerate(zip(*told)) if any(cells)]
    return render.table([[row[at] for at in filled] for row in told], [TITLES[at] for at in filled])


def why_none(numbers: list[int]) -> str:
    """What leads to the page, where a condition costs a stop for each call."""
    if not process.is_alive() or all(where_tested(number) == "in the process" for number in numbers):
        return ""
    return "cuda-help guards says what a guard needs, and what a condition costs without one"


def rows(numbers: list[int]) -> list[tuple[str, ...]]:
    """One for all of which the same is to be said."""
    alike: dict[tuple[str, ...], list[int]] = {}
    for number in sorted(numbers):
        alike.setdefault(row(number), []).append(number)
    return [(ranges(same), *said) for said, same in alike.items()]


def row(number: int) -> tuple[str, str, str]:
    """Who tests, calls, where."""
    state = guards.PROCESSES()
    found = next(iter(state.guards_of(number)), None)
    calls = guards.calls_seen(number)
    shown = "" if calls is None else f"{calls:,}"
    if not process.is_alive():  # nobody tests anything
        return "no process" if calls is None else "the process has ended", shown, ""
    trouble = state.trouble_of(number)
    if found is None or trouble:
        return where_tested(number), shown, trouble or guards.wanted_by(number).why or "not set yet"
    size, code = len(found.detour.original), found.trampoline
    function = process.symbol_of(found.function)[0] or f"{found.function:#x}"
    first = found.detour.replaced.start
    where = f"{size} bytes of {function} at {first:#x}; test at {code.address:#x}, {len(code.raw)} bytes"
    return where_tested(number), shown, where + results(number)


def results(number: int) -> str:
    """Of one that waits for errors: who looks at them, where it is not the process."""
    why = guards.wanted_by(number).results
    return f"; results by gdb: {why}" if why else ""


def where_tested(number: int) -> str:
    """By a guard; else by gdbserver, which knows registers and memory and none of our functions; else by gdb."""
    if guards.PROCESSES().guards_of(number) and not guards.PROCESSES().trouble_of(number):
        return "in the process"
    found = ours.filter_of(number)
    made, given = breakpoints.by_number(number), found.native if found is not None else ""
    shown = given if made is None or made.pending else made.condition or ""  # the user may have changed it
    native = own_condition.without(shown)
    if not process.is_remote() or not native or gdb.parameter("breakpoint condition-evaluation") == "host":
        return "by gdb"
    if "$_" in shown:
        known = [one.asks_gdb for one in ours.filters([number]) if native == given and one.asks_gdb]
        return f"by gdb ({known[0] if known else why_gdb(native)})"
    return "by gdbserver"


def why_gdb(native: str) -> str:
    """Of what cuda-break has added to the user's condition."""
    if "$_cuda_from(" in native:
        return "who calls has to be looked up in gdb"
    return "returns are noted in gdb" if "$_cuda_returns(" in native else "it asks gdb"


def note() -> str:
    """Which breakpoints are tested where, and why not in the process."""
    lines = defaultdict(list)
    for number in sorted(one.number for one in ours.filtered()):
        if not process.is_alive() or not (state := guards.state_of(number)):
            continue
        calls = guards.calls_seen(number)
        seen = "" if calls is None else f", {calls:,} calls seen"
        why = results(number) if state == "guarded" else f", no guard: {state.partition(': ')[2]}"
        lines[f"tested {where_tested(number)}{seen}{why}"].append(number)
    shown = [visible(f"{names.breakpoint_numbers(numbers)}: {text}") for text, numbers in lines.items()]
    more = [f"{len(shown) - MOST_LINES} more: see cuda-guards"] if len(shown) > MOST_LINES else []
    return "\n".join([*shown[:MOST_LINES], *more])


def write_note() -> None:
    """Not over MI, whose -break-list is the same command: Emacs asks for it whenever something is printed. Nor where it
    is us who ask: with a thousand breakpoints the notes take minutes in gdb 10."""
    if gdb_cli.is_for_us():
        return
    text = note() if lazily.is_loaded("gdbcuda.live.guarding.guards") and not console.is_machine_interface() else ""
    if text:
        console.write(text + "\n")

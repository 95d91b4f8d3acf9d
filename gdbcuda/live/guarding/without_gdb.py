"""Takes everything of guards out of a process that goes on without gdb, and moves its threads off it."""

from __future__ import annotations

from typing import Callable

import gdb

from gdbcuda.live import process
from gdbcuda.live.guard.watch import sweep
from gdbcuda.live.guarding.by_process import PROCESSES, look_again, wanted
from gdbcuda.live.guarding.making import clean, remove
from gdbcuda.live.host import console
from gdbcuda.live.patching import counter_words, left_behind, trampoline_space
from gdbcuda.live.placing import letting_go, stepping_out

_stepping_out: list[bool] = []  # the stops are ours


def watch() -> None:
    """There may be code of ours in the process from now on. (The module has run by then: gdb's end is told to none that
    has not.)"""
    letting_go.watch()


def is_stepping_out() -> bool:
    return bool(_stepping_out)


def on_exiting(event: object) -> None:
    """gdb ends. No thread is moved, for that is done by commands. A process that cannot be reached any more, as behind
    a gdbserver that has gone, keeps what is in it."""
    for _ in letting_go.held(lambda: None):
        raise_all()
    for _ in letting_go.standing():
        left_behind.on_asked()
        try:
            take_away_all()
            clean()
        except gdb.error:
            if process.has_readable_stack():
                raise


def raise_all() -> None:
    """gdb takes its breakpoints out of the process as it lets that go, and what they leave behind goes then."""
    state = PROCESSES()
    state.is_leaving = True
    for guard in state.guards.values():
        guard.put_back()
    left_behind.on_stop((one.detour, one.trampoline) for one in state.guards.values())


def take_all_back() -> None:
    """Before gdb lets the process go."""
    take_away_all()
    if process.is_alive() and not process.is_running():
        step_out(trampoline_space.is_left)
        clean()
        give_back()
        PROCESSES().is_stopped = True  # the steps on the way out have told nobody that they have ended
    left_behind.on_asked()


def take_away_all() -> None:
    state = PROCESSES()
    state.is_leaving = True  # the stops on the way out would bring them back
    for guard in list(state.guards.values()):
        remove(guard)
    sweep()


def stay() -> None:
    """The process goes on with gdb after all: the command has failed, or was about another one."""
    state = PROCESSES()
    if state.is_leaving and not is_stepping_out():
        state.is_leaving = False
        look_again(wanted())


def give_back() -> None:
    for text in filter(None, (counter_words.give_back(), trampoline_space.give_back())):
        console.write(f"gdbcuda: {text}\n")


def step_out(inside: Callable[[int], bool]) -> None:
    _stepping_out.append(True)
    try:
        stepping_out.step_out(inside)
    finally:
        _stepping_out.pop()


letting_go.BEFORE.append(take_all_back)

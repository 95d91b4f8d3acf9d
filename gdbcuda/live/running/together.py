"""All processes of the program stay with gdb, and stop and go on together. One that ends stops none of the others.

(gdb manual: "Debugging Forks", "Inferiors In Python". gdb stops all of them where one has ended.)
"""

from __future__ import annotations

import re

import gdb

from gdbcuda.live import process
from gdbcuda.live.host import gdb_cli, inferiors
from gdbcuda.live.placing import link
from gdbcuda.live.preloading import presence
from gdbcuda.live.prompt import safely
from gdbcuda.live.pythons import thread_stacks
from gdbcuda.live.running import vforks
from gdbcuda.live.stopping import backtrace

QUIETLY = ("pagination off", "print symbol-loading off", "print thread-events off", "print inferior-events off")
FOLLOWING = ("detach-on-fork off", "schedule-multiple on")
WITHOUT_CHILDREN = ("gdbcuda run: cuda-gdb hangs where it keeps the children of a program that uses a GPU, so what the "
                    "program starts\nruns without it. With GDBCUDA_GDB=gdb all are kept.\n")  # fmt: skip
BY_THE_PROCESS = "target:"  # files as a process has them: of a child that ends without a program gdb asks too late
ONE_STEP = re.compile(r"\s*(?:s|step|n|next|si|stepi|ni|nexti|fin|finish|u|until|adv|advance|reverse-\w+|kill|k)\b")
FIRST = 1  # gdb's number of the process that it has started
_has_ended: list[int] = []  # numbers of inferiors, since the program went on


def begin() -> None:
    for setting in QUIETLY:
        gdb_cli.execute(f"set {setting}")
    if link.is_cuda_gdb():
        gdb.write(WITHOUT_CHILDREN, gdb.STDERR)
    else:
        stay()


def stay() -> None:
    gdb.events.before_prompt.connect(safely.contained(on_prompt))
    for setting in FOLLOWING:
        gdb_cli.execute(f"set {setting}")
    if gdb.parameter("sysroot") == BY_THE_PROCESS:
        gdb_cli.execute("set sysroot")
    presence.ARE_MANY.append(True)


def watch() -> None:
    """Behind the user's own breakpoints, which are numbered from 1."""
    if presence.ARE_MANY:
        vforks.watch()


def on_stop(event: gdb.StopEvent) -> None:
    """Also before there is anything of CUDA: a rank may die in its first import."""
    if thread_stacks.interpreters():
        backtrace.register(process.program_space())


def on_exit(event: gdb.ExitedEvent) -> None:
    _has_ended.append(event.inferior.num)


def on_continue(event: gdb.ContinueEvent) -> None:
    _has_ended.clear()


def on_prompt() -> None:
    """gdb is about to ask for a command, since a process has ended or makes a vfork. Not where the user goes step by
    step: gdb has forgotten the step, and to run on would lose the place.

    (Ctrl-C is not put off here, as in a handler of `events`: this one waits for the program.)"""
    while (vforks.is_ahead() or is_at_an_end()) and not ONE_STEP.match(last_typed()) and select_living():
        _has_ended.clear()
        go_on()
    if vforks.is_ahead():
        vforks.end_step()
    if _has_ended and not living():
        select_first()


def is_at_an_end() -> bool:
    return bool(_has_ended) and not gdb.selected_inferior().pid


def go_on() -> bool:
    """To the next stop. False where gdb could not; it is said."""
    try:
        if vforks.is_ahead() and not (vforks.let_child_go_on() and select_living()):
            return True
    except gdb.error as problem:
        say("continue", problem)
        return False
    return execute("continue")


def living() -> list[gdb.Inferior]:
    return [one for one in gdb.inferiors() if one.pid and inferiors.threads(one)]


def select_living() -> bool:
    """False where no process is left."""
    left = living()
    if left and not gdb.selected_inferior().pid:
        inferiors.threads(left[-1])[0].switch()
    return bool(left)


def select_first() -> None:
    """The one that `run` is meant to start again, and not what it has left behind last."""
    _has_ended.clear()
    if gdb.selected_inferior().num != FIRST and any(one.num == FIRST for one in gdb.inferiors()):
        gdb_cli.execute(f"inferior {FIRST}")


def execute(line: str) -> bool:
    """False where gdb could not; it is said."""
    try:
        gdb_cli.execute_aloud(line)
    except gdb.error as problem:
        say(line, problem)
        return False
    return True


def say(line: str, problem: gdb.error) -> None:
    gdb.write(f"gdbcuda: {line}: {safely.plain(problem)}\n", gdb.STDERR)


def last_typed() -> str:
    """At the prompt; "" where nothing was."""
    shown = gdb_cli.execute("show commands").splitlines()
    return shown[-1].split(None, 1)[-1] if shown else ""

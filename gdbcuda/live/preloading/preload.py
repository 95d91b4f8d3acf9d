"""How a hook library gets into the program under debug, and into nothing else.

``set exec-wrapper env LD_PRELOAD=…`` reaches the program alone: not gdb, and not the shell that gdb starts it with.
That is the usual way. Two kinds of start run no wrapper: a gdbserver's (``target extended-remote``), and any start with
``startup-with-shell off``. There ``set environment`` is used, without a shell, so that again only the program has it.
(gdb manual: "Starting your Program", "Your Program's Environment"; ld.so(8).)
"""

from __future__ import annotations

import gdb

from gdbcuda.api import vendor
from gdbcuda.errors import UserError
from gdbcuda.files import places
from gdbcuda.live import process
from gdbcuda.live.host import gdb_cli
from gdbcuda.live.preloading import exec_wrapper
from gdbcuda.live.prompt import settings, user_hooks


class Preload:
    """What cuda-load has asked for, and what the user had set before, to be put back when nothing of it is left.

    ``first`` and ``last``: what stands in front of and behind the user's own LD_PRELOAD, by the names on the program's
    machine; ``there``: file here -> that name."""

    def __init__(self) -> None:
        self.first: list[str] = []
        self.last: list[str] = []
        self.there: dict[str, str] = {}
        self.user_wrapper = ""
        self.wrapper = ""  # as it was left when this was last put into gdb's settings
        self.user_values: dict[int, str] = {}  # LD_PRELOAD, by inferior: each has its own environment
        self.user_shell = False  # startup-with-shell was on, and is off because of us
        self.runtimes: list[str] = []  # of sanitizers, which want to be first
        self.beside = ""  # our own library, preloaded behind all others
        self.needing: set[str] = set()  # who needs it, also where there are no others
        self.variables: dict[str, str] = {}  # of the program's environment, for what our libraries in it do
        self.is_remote = False  # gdb's settings are now those for a gdbserver that starts the program

    @property
    def files(self) -> list[str]:
        return self.first + self.last

    @property
    def needs_ours(self) -> bool:
        return bool(self.needing)

    @property
    def is_used(self) -> bool:
        return bool(self.files) or self.needs_ours


STATE = Preload()
GUARDED_MACHINE = "x86-64"


def add(path: str, behind: bool, there: str = "") -> None:
    """Preloads the file at the next run, in front of (or behind) what the user preloads anyway."""
    from gdbcuda.files.preloadable import require_preloadable_by_gdb  # loaded when first used

    named = there or path
    require_preloadable_by_gdb(named)
    if not STATE.is_used:
        STATE.user_wrapper = exec_wrapper.current()
        STATE.user_values.clear()
    if is_preloaded(path) and STATE.there[path] != named:
        remove(path)
    STATE.there[path] = named
    if named not in STATE.files:
        (STATE.last if behind else STATE.first).append(named)
    apply()
    watch_run()


def remove(path: str) -> None:
    named = STATE.there.pop(path, path)
    for side in (STATE.first, STATE.last):
        if named in side:
            side.remove(named)
    apply()


def is_preloaded(path: str) -> bool:
    return path in STATE.there


def environment(name: str) -> str | None:
    """A variable of the next run's environment, None if unset."""
    shown = gdb_cli.execute(f"show environment {name}").rstrip("\n")
    return shown.partition(" = ")[2] if shown.startswith(f"{name} = ") else None


def apply() -> None:
    """gdb counts the execs until the program: one shell, one wrapper. So ours is merged into the user's ``env``."""
    leave_shell_out()
    STATE.beside = ours()
    STATE.runtimes = list(dict.fromkeys(one for path in STATE.there for one in runtimes(path)))
    words = exec_wrapper.words_of(STATE.user_wrapper)
    users = exec_wrapper.preloaded(words) or user_value()
    value = ":".join(filter(None, [*STATE.runtimes, *STATE.first, users, *STATE.last, STATE.beside]))
    if uses_environment():
        gdb_cli.execute(f"set environment LD_PRELOAD={value}" if value else "unset environment LD_PRELOAD")
        for name, one in STATE.variables.items():
            gdb_cli.execute(f"set environment {name}={one}")
    elif STATE.files or STATE.beside:
        kept = [word for word in words or ["env"] if not word.startswith("LD_PRELOAD=")]
        more = [f"{name}={one}" for name, one in STATE.variables.items()]
        exec_wrapper.become(" ".join(map(exec_wrapper.for_shell, [*kept, *more, f"LD_PRELOAD={value}"])))
    else:
        exec_wrapper.become(STATE.user_wrapper)
    STATE.wrapper = exec_wrapper.current()


def user_value() -> str:
    """What the user has the selected inferior preload anyway. (A cloned one has a copy of ours.)"""
    number = gdb.selected_inferior().num
    if number not in STATE.user_values:
        found, not_his = (environment("LD_PRELOAD") or "").split(":"), [*STATE.runtimes, *STATE.files, STATE.beside]
        STATE.user_values[number] = ":".join(name for name in found if name not in not_his)
    return STATE.user_values[number]


def ours() -> str:
    """libgdbcuda.so, where guards may need it, on this machine, and the recorder: beside a library of its machine."""
    from gdbcuda import elf  # loaded when first used
    from gdbcuda.files.preloadable import require_preloadable

    is_guarding = settings.value("cuda-guard-stacks") and settings.value("cuda-guard") != "off" and STATE.files
    found = places.agent() if STATE.needs_ours or (is_guarding and not STATE.is_remote) else ""
    if STATE.is_remote and found and not process.is_there(found):
        return ""
    files = [*STATE.there, *([process.program()] if STATE.needs_ours and process.program() else [])]
    try:
        require_preloadable(found or "none")
        return found if found and all(elf.open(one).machine == GUARDED_MACHINE for one in files) else ""
    except UserError:
        return ""


def need_ours(is_needed: bool, who: str = "recorder") -> None:
    """For the next run: who records calls in the process needs it, with a hook library or without."""
    if (who in STATE.needing) == is_needed:
        return
    if not STATE.is_used:
        STATE.user_wrapper = exec_wrapper.current()
        STATE.user_values.clear()
    STATE.needing ^= {who}
    apply()
    watch_run()


def give(variables: dict[str, str]) -> None:
    """To the next run, beside our library, in the place of those of before."""
    if uses_environment():
        for name in STATE.variables:
            gdb_cli.execute(f"unset environment {name}")
    STATE.variables = dict(variables)
    if STATE.is_used:
        apply()


def runtimes(path: str) -> list[str]:
    """Of the sanitizers that the library is built with: by their files here, else as ld.so is to find them."""
    from gdbcuda import elf

    try:
        file = elf.open(path)
        names = filter(vendor.is_sanitizer, file.needed)
        found = [(name, None if STATE.is_remote else elf.Root().find(name, file)) for name in names]
    except UserError:
        return []
    return [name if one is None else one.path for name, one in found]


def on_setting() -> None:
    """set cuda-guard-stacks"""
    if STATE.files:
        apply()


def watch_run() -> None:
    """gdb has no event in front of ``run``."""
    for word in ("run", "start", "starti"):
        user_hooks.add(f"hook-{word}", "preloading.preload", "before_run")


def before_run() -> None:
    """An inferior that was added after cuda-load has an environment of its own; a script has no prompt between its
    target extended-remote and this."""
    on_prompt()
    join_new_wrapper()
    if uses_environment() and (STATE.is_used or gdb.selected_inferior().num in STATE.user_values):
        apply()


def join_new_wrapper() -> None:
    """One that the user has set since: it would take our place, and the program run without the hook library. (Who
    unsets ours wants that.)"""
    now = exec_wrapper.current()
    if not STATE.is_used or now in ("", STATE.wrapper):
        return
    if uses_environment():
        restore_environment()
    STATE.user_wrapper = now
    apply()


def restore_environment() -> None:
    value = user_value()
    gdb_cli.execute(f"set environment LD_PRELOAD={value}" if value else "unset environment LD_PRELOAD")


def leave_shell_out() -> None:
    """The shell that a gdbserver would start the program with; back as soon as nothing is preloaded there."""
    STATE.is_remote = process.connection() == "extended-remote"
    if STATE.is_remote and STATE.is_used and gdb.parameter("startup-with-shell"):
        STATE.user_shell = True
        gdb_cli.execute("set startup-with-shell off")
    elif STATE.user_shell and not (STATE.is_remote and STATE.is_used):
        STATE.user_shell = False
        gdb_cli.execute("set startup-with-shell on")


def on_prompt(event: object = None) -> None:
    """After ``target extended-remote``, or after the end of one: gdb has no event for it. (Also in front of run.)"""
    if not STATE.is_used or (process.connection() == "extended-remote") == STATE.is_remote:
        return
    if STATE.is_remote:
        restore_environment()
    else:
        exec_wrapper.become(STATE.user_wrapper)
    apply()


def uses_environment() -> bool:
    """gdbserver ignores a wrapper, without a shell it never starts, and one that is not ``env`` cannot be joined."""
    words = exec_wrapper.words_of(STATE.user_wrapper)
    if process.connection() == "extended-remote" or not gdb.parameter("startup-with-shell"):
        return True
    return bool(words) and not exec_wrapper.is_env(words)


settings.ON_CHANGE["cuda-guard-stacks"] = on_setting

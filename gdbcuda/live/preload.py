"""How a hook library gets into the program under debug, and into nothing else.

``set exec-wrapper env LD_PRELOAD=…`` reaches the inferior alone: not gdb, not the start-up shell. With
``startup-with-shell off`` the wrapper never starts, and ``set environment`` reaches the inferior alone: so where a
gdbserver starts the program for gdb (``target extended-remote``), which ignores a wrapper, the shell is left out.
(gdb manual: "Starting your Program", "Your Program's Environment"; ld.so(8).)
"""

from __future__ import annotations

import os
import shlex
from dataclasses import dataclass, field

import gdb

from gdbcuda.errors import UserError
from gdbcuda.live import console, cores, inferiors, layers, link, target
from gdbcuda.live import environment as environments
from gdbcuda.live.inferiors import PerInferior


@dataclass
class Preload:
    """What we asked for, by the names in LD_PRELOAD; ``user_wrapper``, ``user_values`` (of LD_PRELOAD, by inferior:
    each has its own environment) and ``user_shell`` are the user's own, put back when nothing is left. ``there``: file
    here -> its name on another machine."""

    first: list[str] = field(default_factory=list)
    last: list[str] = field(default_factory=list)
    user_wrapper: str = ""
    user_values: dict[int, str] = field(default_factory=dict)
    user_shell: bool = False  # we have switched startup-with-shell off
    there: dict[str, str] = field(default_factory=dict)
    is_remote: bool = False  # when it was last put into gdb's settings

    @property
    def files(self) -> list[str]:
        return self.first + self.last


@dataclass
class Seen:
    """Of one process."""

    is_told: bool = False  # the user knows whether the hook is there
    is_exec: bool = False  # in the place of another program: what that one had may be lost
    appeared: set[str] = field(default_factory=set)  # named hook libraries that were loaded
    lost: dict[str, str] = field(default_factory=dict)  # those that were not, and why


UNKNOWN = "the program has not got as far as loading its libraries"
STATE = Preload()
SEEN: PerInferior[Seen] = PerInferior(Seen, kept=True)


def add(path: str, behind: bool, there: str = "") -> None:
    """Preloads the file at the next run, in front of (or behind) what the user preloads anyway."""
    from gdbcuda.remote.plan import require_preloadable  # loaded when first used

    named = there or path
    require_preloadable(named)
    if not STATE.files:
        STATE.user_wrapper = str(gdb.parameter("exec-wrapper") or "")
        STATE.user_values.clear()
    if is_preloaded(path) and STATE.there[path] != named:
        remove(path)
    STATE.there[path] = named
    if named not in STATE.files:
        (STATE.last if behind else STATE.first).append(named)
    apply()
    if uses_environment():
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
    shown = gdb.execute(f"show environment {name}", to_string=True).rstrip("\n")
    return shown.partition(" = ")[2] if shown.startswith(f"{name} = ") else None


def apply() -> None:
    """gdb counts the execs until the program: one shell, one wrapper. So ours is merged into the user's ``env``."""
    leave_shell_out()
    words = wrapper_words()
    value = ":".join([*STATE.first, *filter(None, [wrapper_value(words) or user_value()]), *STATE.last])
    if uses_environment():
        gdb.execute(f"set environment LD_PRELOAD={value}" if value else "unset environment LD_PRELOAD", to_string=True)
    elif STATE.files:
        kept = [word for word in words or ["env"] if not word.startswith("LD_PRELOAD=")]
        set_wrapper(" ".join(map(shlex.quote, [*kept, f"LD_PRELOAD={value}"])))
    else:
        set_wrapper(STATE.user_wrapper)


def user_value() -> str:
    """What the user has the selected inferior preload anyway. (A cloned one has a copy of ours.)"""
    number = gdb.selected_inferior().num
    if number not in STATE.user_values:
        found = (environment("LD_PRELOAD") or "").split(":")
        STATE.user_values[number] = ":".join(name for name in found if name not in STATE.files)
    return STATE.user_values[number]


def watch_run() -> None:
    """gdb has no event in front of ``run``, only the user's hooks, which are left alone where there are any."""
    known = gdb.execute("show user", to_string=True)
    for word in ("run", "start", "starti"):
        if f"hook-{word}" not in known:
            action = "import gdbcuda.live.preload as preload; preload.before_run()"
            gdb.execute(f"define hook-{word}\npython {action}\nend", to_string=True)


def before_run() -> None:
    """An inferior that was added after cuda-load has an environment of its own."""
    if uses_environment() and (STATE.files or gdb.selected_inferior().num in STATE.user_values):
        apply()


def leave_shell_out() -> None:
    """The shell that a gdbserver would start the program with; back as soon as nothing is preloaded there."""
    STATE.is_remote = target.connection() == "extended-remote"
    if STATE.is_remote and STATE.files and gdb.parameter("startup-with-shell"):
        STATE.user_shell = True
        gdb.execute("set startup-with-shell off", to_string=True)
    elif STATE.user_shell and not (STATE.is_remote and STATE.files):
        STATE.user_shell = False
        gdb.execute("set startup-with-shell on", to_string=True)


def on_prompt(event: object = None) -> None:
    """After ``target extended-remote``, or after the end of one: gdb has no event for it."""
    if not STATE.files or (target.connection() == "extended-remote") == STATE.is_remote:
        return
    if STATE.is_remote:
        gdb.execute(f"set environment LD_PRELOAD={user_value()}" if user_value()
                    else "unset environment LD_PRELOAD", to_string=True)  # fmt: skip
    else:
        set_wrapper(STATE.user_wrapper)
    apply()


def uses_environment() -> bool:
    """gdbserver ignores a wrapper, without a shell it never starts, and one that is not ``env`` cannot be joined."""
    words = wrapper_words()
    if target.connection() == "extended-remote" or not gdb.parameter("startup-with-shell"):
        return True
    return bool(words) and os.path.basename(words[0]) != "env"


def reach() -> str:
    """What else is touched, if anything: "" where only the program preloads the library."""
    if STATE.user_shell:
        return "startup-with-shell is off now, so that gdbserver preloads it into the program alone"
    if gdb.parameter("startup-with-shell") and uses_environment():
        return f"your exec-wrapper ({STATE.user_wrapper}) stays, so it and the start-up shell preload the library too"
    return ""


def set_wrapper(wrapper: str) -> None:
    gdb.execute(f"set exec-wrapper {wrapper}" if wrapper else "unset exec-wrapper", to_string=True)


def wrapper_words() -> list[str]:
    try:
        return shlex.split(STATE.user_wrapper)
    except ValueError:
        raise UserError(f"'show exec-wrapper' has unbalanced quotes: {STATE.user_wrapper}") from None


def wrapper_value(words: list[str]) -> str:
    """The LD_PRELOAD that the user's own ``env`` wrapper sets."""
    return next((word.partition("=")[2] for word in words if word.startswith("LD_PRELOAD=")), "")


def remote_advice(path: str) -> str:
    """What to type where the target is remote: gdb's own settings do not reach a gdbserver that runs already."""
    from gdbcuda.remote import plan  # loaded when first used

    program = target.strip_prefix(target.program()) or "PROGRAM"
    server = link.gdbserver()
    line = plan.plan(plan.Request(hook=path, program=program, gdbserver=server)).server
    return (
        f"The process is started by {server}, so the preload is set there (cuda-remote tells how, in containers too):\n"
        f"  {line}\n"
        f"or gdb starts it, as often as you like:  target extended-remote  to a  {server} --multi,  cuda-load,  run"
    )


def verify() -> str:
    """One line per named hook library: is it really there, and first? "" while the loader has not mapped anything."""
    return "\n".join(verdict(path) for path in layers.named_hooks()) if is_settled() else ""


def is_settled() -> bool:
    """The loader has its list, or there is none in a static program."""
    return bool(target.search_order()) or target.auxiliary().get("AT_BASE") == 0


def verdict(path: str) -> str:
    order, name = target.search_order(), os.path.basename(path)
    place = next((i for i, loaded in enumerate(order) if layers.is_same_file(loaded, path)), None)
    if place is None:
        return lost_line(path, why_not(path))
    if place == 0:
        return f"cuda-load: hook {name} is loaded, first in the search order"
    others = [os.path.basename(n) for n in order[:place] if not layers.is_named(n)]
    if not others:
        return f"cuda-load: hook {name} is loaded, behind {', '.join(map(os.path.basename, order[:place]))}"
    return f"cuda-load: hook {name} is loaded, but behind {', '.join(others)}: what they define too is theirs"


def why_not(path: str) -> str:
    """Why the selected process does not have the library, as far as it tells."""
    vector, value = target.auxiliary(), environments.initial("LD_PRELOAD")
    if vector.get("AT_SECURE"):
        return "it runs setuid or with capabilities, and ld.so ignores LD_PRELOAD"
    if vector.get("AT_BASE") == 0:
        return "the program is static, without ld.so there is no LD_PRELOAD"
    if is_preloaded(path) and STATE.is_remote and not SEEN().is_exec:
        return f"is it {STATE.there[path]} there? Else say where:  cuda-load {path} --there PATH"
    if value and os.path.basename(path) in value:
        return "LD_PRELOAD names it, but ld.so has refused it (see its message; cuda-check)"
    if is_preloaded(path) and not SEEN().is_exec:
        if target.connection() == "extended-remote":
            return "gdbserver ignores exec-wrapper; now that it is connected, type the cuda-load again and run"
        if target.is_remote():
            return "the process was started elsewhere; see 'help cuda-load'"
    if SEEN().is_exec:
        return "the environment that it was started with has no LD_PRELOAD" + (f" but {value}" if value else "")
    return "it was started without it, and LD_PRELOAD works at a start only"


def on_objfile(event: gdb.NewObjFileEvent) -> None:
    """Also notices, as soon as the loader has its list, that a library is missing: a program may run to its end."""
    if gdb.selected_inferior() not in inferiors.in_space(event.new_objfile.progspace):
        return  # of a child that gdb is about to follow
    seen, name = SEEN(), target.strip_prefix(event.new_objfile.filename or "")
    seen.appeared.update(path for path in layers.named_hooks() if layers.is_same_file(name, path))
    missing = [path for path in layers.named_hooks() if path not in seen.appeared and path not in seen.lost]
    if missing and is_settled():
        seen.lost.update({path: why_not(path) for path in missing if not is_here(path)})
        if seen.is_exec and seen.lost and not seen.is_told:
            seen.is_told = True
            console.write("".join(f"{lost_line(path, why)}\n" for path, why in seen.lost.items()))


def is_here(path: str) -> bool:
    return any(layers.is_same_file(loaded, path) for loaded in target.search_order())


def lost_line(path: str, why: str) -> str:
    return f"cuda-load: hook {os.path.basename(path)} is NOT in {where()}: {why}"


def where() -> str:
    return "this core file" if target.connection() == "core" else inferiors.label()


def nothing_there() -> str:
    """No hook library is named, and none was noticed: what to do."""
    if not target.is_alive():
        return "no hook library; name one: cuda-check ./libhook.so, or cuda-load ./libhook.so"
    if target.connection() == "core":
        return "; ".join(["no hook library is known in this core file", *cores.advice()])
    pid = gdb.selected_inferior().pid
    return f"no hook library in process {pid}; LD_PRELOAD works at a start only: cuda-load ./libhook.so, run"


def on_exec(inferior: gdb.Inferior) -> None:
    SEEN.of(inferior).is_exec = True


def on_stop(event: object) -> None:
    if SEEN().is_told or not layers.named_hooks() or not target.is_alive():
        return
    text = verify()
    if text:
        SEEN().is_told = True
        console.write(text + "\n")


def on_exit(event: gdb.ExitedEvent) -> None:
    """A program that never stopped still tells whether the hook was there. (No exit code: detached, or killed.)"""
    seen = SEEN.of(event.inferior)
    if hasattr(event, "exit_code") and not seen.is_told:
        for path in layers.named_hooks():
            what = "was loaded" if path in seen.appeared else f"was never loaded: {seen.lost.get(path, UNKNOWN)}"
            console.write(f"cuda-load: hook {os.path.basename(path)} {what}\n")

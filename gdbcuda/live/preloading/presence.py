"""Is the hook library that cuda-load names really in the process, and first in the search order? If not, why?"""

from __future__ import annotations

import os

import gdb

from gdbcuda.api import vendor
from gdbcuda.live import layers, process
from gdbcuda.live.host import console, inferiors
from gdbcuda.live.host.inferiors import PerInferior
from gdbcuda.live.preloading import preload
from gdbcuda.live.process import environment_variables
from gdbcuda.live.process.objects import core_files
from gdbcuda.text.printable import visible


class Checked:
    """Of one process."""

    def __init__(self) -> None:
        self.is_told = False  # the user knows whether the hook is there
        self.is_warned = False  # and that it cannot come, before the loader has begun
        self.is_exec = False  # in the place of another program: what that one had may be lost
        self.appeared: set[str] = set()  # named hook libraries that were loaded
        self.lost: dict[str, str] = {}  # those that were not, and why


UNKNOWN = "the program has not got as far as loading its libraries"
GAVE_UP = "ld.so has ended the program while it loaded the libraries (see its message; cuda-check)"
STATUS_OF_LOADER = 127  # ld.so's own exit status, before the program begins (glibc: _dl_fatal_printf)
SEEN: PerInferior[Checked] = PerInferior(Checked, kept=True)
ARE_MANY: list[bool] = []  # gdb stays with all that the program starts: what holds for the next one too is said once
SAID_ONCE: set[str] = set()


def verify() -> str:
    """One line per named hook library: is it really there, and first? "" while the loader has not mapped anything."""
    return "\n".join(visible(verdict(path)) for path in layers.named_hooks()) if is_settled() else ""


def is_settled() -> bool:
    """The loader has its list, or there is none in a static program."""
    return bool(process.search_order()) or process.auxiliary().get("AT_BASE") == 0


def verdict(path: str) -> str:
    objects = process.search_order()
    order, name = [one for one in objects if not vendor.is_sanitizer(one)], os.path.basename(path)
    place = next((i for i, loaded in enumerate(order) if layers.is_same_file(loaded, path)), None)
    if place is None:
        return lost_line(path, why_not(path))
    if place == 0:
        ahead = sanitizers_ahead(objects, order[0])
        return f"cuda-load: hook {name} is loaded, first in the search order{ahead}"
    others = [os.path.basename(n) for n in order[:place] if not layers.is_named(n)]
    if not others:
        return f"cuda-load: hook {name} is loaded, behind {', '.join(map(os.path.basename, order[:place]))}"
    return f"cuda-load: hook {name} is loaded, but behind {', '.join(others)}: what they define too is theirs"


def sanitizers_ahead(objects: list[str], hook: str) -> str:
    ahead = [os.path.basename(one) for one in objects[: objects.index(hook)]]
    return f" behind {', '.join(ahead)}" if ahead else ""


def why_not(path: str) -> str:
    """Why the selected process does not have the library, as far as it tells."""
    vector = process.auxiliary()
    if vector.get("AT_SECURE"):
        return "it runs setuid or with capabilities, and ld.so ignores LD_PRELOAD"
    if vector.get("AT_BASE") == 0:
        return "the program is static, without ld.so there is no LD_PRELOAD"
    if not preload.is_preloaded(path) or SEEN().is_exec:
        return why_refused(path) or why_not_inherited()
    return why_not_there(path) or why_refused(path) or why_not_by_gdbserver(path) or why_not_inherited()


def why_not_there(path: str) -> str:
    if not preload.STATE.is_remote:
        return ""
    return f"is it {preload.STATE.there[path]} there? Else say where:  cuda-load {path} --there PATH"


def why_refused(path: str) -> str:
    if os.path.basename(path) not in (environment_variables.initial("LD_PRELOAD") or ""):
        return ""
    return "LD_PRELOAD names it, but ld.so has refused it (see its message; cuda-check)"


def why_not_by_gdbserver(path: str) -> str:
    if not process.is_remote():
        return ""
    preloaded = environment_variables.initial("LD_PRELOAD") or ""
    return f"its LD_PRELOAD is {preloaded or 'not set'}; {how_by_gdbserver(path, preloaded)}"


def how_by_gdbserver(path: str, preloaded: str) -> str:
    if process.connection() == "extended-remote":
        return "gdbserver ignores exec-wrapper; now that it is connected, type the cuda-load again and run"
    named = preload.STATE.there.get(path, path)
    value = ":".join(filter(None, [named, preloaded]))
    return f"start it there with  gdbserver --wrapper env LD_PRELOAD={value} -- …"


def why_not_inherited() -> str:
    if not SEEN().is_exec:
        return "it was started without it, and LD_PRELOAD works at a start only"
    value = environment_variables.initial("LD_PRELOAD")
    return "the environment that it was started with has no LD_PRELOAD" + (f" but {value}" if value else "")


def on_objfile(event: gdb.NewObjFileEvent) -> None:
    """Also notices, as soon as the loader has its list, that a library is missing: a program may run to its end."""
    if gdb.selected_inferior() not in inferiors.in_space(event.new_objfile.progspace):
        return  # of a child that gdb is about to follow
    seen, name = SEEN(), process.strip_prefix(event.new_objfile.filename or "")
    seen.appeared.update(path for path in layers.named_hooks() if layers.is_same_file(name, path))
    missing = [path for path in layers.named_hooks() if path not in seen.appeared and path not in seen.lost]
    if missing and is_settled():
        seen.lost.update({path: why_not(path) for path in missing if not is_here(path)})
        if seen.is_exec and seen.lost and not seen.is_told:
            seen.is_told = True
            console.write("".join(f"{lost_line(path, why)}\n" for path, why in seen.lost.items()))


def is_here(path: str) -> bool:
    return any(layers.is_same_file(loaded, path) for loaded in process.search_order())


def lost_line(path: str, why: str) -> str:
    return visible(f"cuda-load: hook {os.path.basename(path)} is NOT in {where()}: {why} (cuda-help processes)")


def where() -> str:
    return "this core file" if process.connection() == "core" else inferiors.label()


def nothing_there() -> str:
    """No hook library is named, and none was noticed: what to do."""
    if not process.is_alive():
        return "no hook library; name one: cuda-check ./libhook.so, or cuda-load ./libhook.so"
    if process.connection() == "core":
        return "; ".join(["no hook library is known in this core file", *core_files.advice()])
    pid = gdb.selected_inferior().pid
    return f"no hook library in process {pid}; LD_PRELOAD works at a start only: cuda-load ./libhook.so, run"


def on_exec(inferior: gdb.Inferior) -> None:
    SEEN.of(inferior).is_exec = True


def on_stop(event: object) -> None:
    if SEEN().is_told or not layers.named_hooks() or not process.is_alive():
        return
    text = verify()
    if text:
        SEEN().is_told = True
    elif not SEEN().is_warned:
        SEEN().is_warned = True
        text = "\n".join(map(visible, filter(None, map(not_coming, layers.named_hooks()))))
    if text:
        console.write(text + "\n")


def not_coming(path: str) -> str:
    """What a process of a gdbserver tells at the connection, before its first instruction; "" where all is well."""
    named = preload.STATE.there.get(path, path)
    vector, preloaded = process.auxiliary(), environment_variables.initial("LD_PRELOAD") or ""
    is_unknown = not vector.get("AT_EXECFN") or not vector.get("AT_BASE")  # or static
    if not process.is_remote() or is_unknown or os.path.basename(named) in preloaded:
        return ""
    return f"cuda-load: hook {os.path.basename(path)} is not preloaded into {where()}: {why_not_by_gdbserver(path)} " \
           "(cuda-remote)"  # fmt: skip


def on_exit(event: gdb.ExitedEvent) -> None:
    """A program that never stopped still tells whether the hook was there. (No exit code: detached, or killed.) A child
    without a program of its own has its parent's libraries: nothing was loaded into it."""
    seen = SEEN.of(event.inferior)
    if hasattr(event, "exit_code") and not seen.is_told and not inferiors.is_forked(event.inferior):
        for path in layers.named_hooks():
            why = GAVE_UP if event.exit_code == STATUS_OF_LOADER else UNKNOWN
            what = "was loaded" if path in seen.appeared else f"was never loaded: {seen.lost.get(path, why)}"
            line = visible(f"cuda-load: hook {os.path.basename(path)} {what}")
            if line not in SAID_ONCE:
                console.write(f"{line}\n")
            if ARE_MANY:
                SAID_ONCE.add(line)

"""What cuda-load says beside what it has done: what comes with the library, and whom else it reaches."""

from __future__ import annotations

import os

import gdb

from gdbcuda.api import vendor
from gdbcuda.linkage.hook_library import AUDIT, INJECTION, NAMED_IN
from gdbcuda.live import process
from gdbcuda.live.layers import library_files, names
from gdbcuda.live.placing import link
from gdbcuda.live.preloading import preload
from gdbcuda.text.printable import visible
from gdbcuda.text.sentences import some

NO_LEAKS = "detect_leaks=0"
RESOLVERS = frozenset(("dlsym", "dlvsym"))
WHO_CALLS = {INJECTION: "the driver calls it at cuInit", AUDIT: "ld.so asks it, from the start of the program on,"}


def in_front(path: str) -> str:
    """What is preloaded with the library, "" for most."""
    found = [os.path.basename(one) for one in preload.runtimes(path)]
    are = "is" if len(found) == 1 else "are"
    return f"{some(found)} {are} preloaded in front of it: the library is built with -fsanitize" if found else ""


def leaks(path: str) -> str:
    """What ends the program with an error of its own under any debugger: leaks are looked for by ptrace."""
    variable = next(filter(None, map(vendor.leak_options, preload.runtimes(path))), "")
    options = (preload.environment(variable) or "") if variable else NO_LEAKS
    wanted = ":".join(filter(None, [options, NO_LEAKS]))
    if NO_LEAKS in options:
        return ""
    return f"LeakSanitizer fails under a debugger, when the program ends: cuda-env {variable}={wanted}"


def other_door(path: str) -> str:
    """Of an injection or an audit library that offers nothing by name: preloaded, nobody calls it."""
    exported = library_files.exported(path)
    if RESOLVERS & exported or any(map(names.function_named, exported)):
        return ""
    symbol = next((one for one in NAMED_IN if one in exported), "")
    named, variable = preload.STATE.there.get(path, path), NAMED_IN.get(symbol, "")
    if not symbol or named in (preload.environment(variable) or ""):
        return ""
    return f"{WHO_CALLS[symbol]} where {variable} names it, preloaded or not: cuda-env {variable}={named}"


def reach() -> str:
    """What else is touched, if anything: "" where only the program preloads the library."""
    if preload.STATE.user_shell:
        return "startup-with-shell is off now, so that gdbserver preloads it into the program alone"
    if gdb.parameter("startup-with-shell") and preload.uses_environment():
        wrapper = preload.STATE.user_wrapper
        return f"your exec-wrapper ({wrapper}) stays, so it and the start-up shell preload the library too"
    return ""


def remote_advice(path: str) -> str:
    """What to type where the target is remote: gdb's own settings do not reach a gdbserver that runs already."""
    from gdbcuda.remote import remote_plan  # loaded when first used

    program = process.strip_prefix(process.program()) or "PROGRAM"
    server = link.gdbserver()
    line = remote_plan.plan(remote_plan.RemoteRequest(hook=path, program=program, gdbserver=server)).server
    return (
        f"The process is started by {server}, so the preload is set there (cuda-remote tells how, in containers too):\n"
        f"  {visible(line)}\n"
        f"or gdb starts it, as often as you like:  target extended-remote  to a  {server} --multi,  cuda-load,  run"
    )

"""A hook library that nobody has named: noticed when it is loaded, said in one line, and the hook layer from then on.

Each object that is neither the vendor's nor the system's is asked once, whether the process has CUDA yet or not: by its
file here, 0.1 ms; where gdb has only the other machine's, by a few blocks of its memory, when somebody asks for layers,
at the next stop at the latest. The table is loaded for names that look like the API's.
(gdb manual: "Events In Python".)
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Set
from contextlib import suppress
from typing import TYPE_CHECKING

import gdb

from gdbcuda.api import vendor
from gdbcuda.errors import Unreadable, UserError
from gdbcuda.linkage.hook_library import NAMED_IN, OTHER_WAYS, SomeNames
from gdbcuda.linkage.image import Image
from gdbcuda.live import layers, process
from gdbcuda.live.host import console, inferiors
from gdbcuda.live.layers.noticed import LOOKS, SEEN, STATE, NoticedObjects
from gdbcuda.live.process import environment_variables
from gdbcuda.live.prompt import settings
from gdbcuda.text.printable import visible

if TYPE_CHECKING:
    from gdbcuda import api  # a session without CUDA does not wait for the table
    from gdbcuda.routes.answering import Answering

KINDS = (("driver", "driver"), ("nvml", "NVML"), ("runtime", "runtime"))
_told: set[str] = set()  # once a session is enough


def on_objfile(event: gdb.NewObjFileEvent) -> None:
    objfile, space = event.new_objfile, event.new_objfile.progspace
    name = objfile.filename or ""
    if objfile.owner is not None or space is None or name == space.filename or vendor.layer_of(name):
        return
    for inferior in inferiors.in_space(space):
        if inferior.pid:
            arrived(STATE.of(inferior), name)


def arrived(state: NoticedObjects, name: str) -> None:
    if name.startswith(process.REMOTE_PREFIX):
        state.is_left = True
    elif name not in state.asked:
        keep(state, name, exported_by_file(name))


def look(state: NoticedObjects) -> None:
    """Whoever asks for layers, as the log does at the first object that gdb tells of, has to know them all: the loader
    has mapped those of the start before that."""
    state.is_left = False
    with suppress(gdb.error):  # in an exec behind gdbserver the thread is taken for running
        if state.images is (listed := process.images()):
            return
        left = {one.name: one for one in [*here(listed), *elsewhere()] if one.name not in state.asked}
        for name in filter(is_readable, left):
            keep(state, name, exported_here(name, left[name]))
        state.images = listed


def here(listed: list[Image]) -> Iterator[Image]:
    order = set(process.search_order())
    return (one for one in listed if one.name in order)


def elsewhere() -> Iterator[Image]:
    """An audit library is in a namespace of its own. (Before gdb 13 gdb knows the first one alone.)"""
    return (one for some in process.images_elsewhere() for one in some if gdb.solib_name(one.dynamic))


LOOKS.append(look)


def is_readable(name: str) -> bool:
    """Of a core file's objects gdb may lack the files: what is said of those is what to do about it."""
    return process.connection() != "core" or process.objfile_of(name) is not None


def on_stop(event: object) -> None:
    state = STATE()
    if state.is_left:
        look(state)


def keep(state: NoticedObjects, name: str, exported: frozenset[str]) -> None:
    state.asked.add(name)
    exported = type(exported)(one for one in exported if one not in NAMED_IN or is_in_variable(name, NAMED_IN[one]))
    if exported:
        state.hooks[name] = exported
        SEEN().append(name)
        if not process.is_remote():  # there what was read costs packets, and `look` comes before layers are asked
            process.forget()
        tell(name, exported)


def is_in_variable(name: str, variable: str) -> bool:
    """Is the library named there, as the process was started or has set it since?"""
    values = [environment_variables.initial(variable)]
    with suppress(UserError, Unreadable):  # it has no ``environ`` yet
        values.append(environment_variables.get(variable))
    return any(os.path.basename(one) == os.path.basename(name) for value in values for one in (value or "").split(":"))


def exported_here(name: str, image: Image | None) -> frozenset[str]:
    """By the file that gdb takes for it, unless that is on another machine; none of the vendor's and the system's."""
    if vendor.layer_of(name):
        return frozenset()
    root = str(gdb.parameter("sysroot") or "")
    file = "" if root.startswith(process.REMOTE_PREFIX) and process.is_remote() else file_below(root, name)
    return exported_by_file(file) if os.path.isfile(file) else exported_by_memory(image)


def file_below(root: str, name: str) -> str:
    return name if root.startswith(process.REMOTE_PREFIX) else root.rstrip("/") + name


def exported_by_file(name: str) -> frozenset[str]:
    from gdbcuda.linkage import hook_library

    return hook_library.exported_by_file(name, api_names())


def exported_by_memory(image: Image | None) -> frozenset[str]:
    from gdbcuda.linkage import hook_library

    try:
        return hook_library.exported(image, api_names()) if image else frozenset()
    except Unreadable:
        return frozenset()


def api_names() -> Set[str]:
    from gdbcuda import api

    return api.load().functions.keys()


def replacing(answers: Iterable[Answering]) -> bool:
    """Libraries that were put into slots or entries are hook libraries, whatever they export. Are there new ones?"""
    state, program = STATE(), process.strip_prefix(process.program())
    places = {one.reached.file: one for one in answers if one.reached.layer == "app" and one.reached.file != program}
    new = {name: one for name, one in places.items() if name not in state.hooks}
    found = {name: one for name, one in new.items() if is_readable(name)}  # else nobody knows its names
    for name, answer in found.items():
        state.asked.add(name)
        state.hooks[name] = frozenset()
        tell(name, how=f"{answer.how} for {answer.function}")
    if found:
        process.forget()
    return bool(found)


def tell(name: str, found: frozenset[str] = frozenset(), how: str = "") -> None:
    """Not what cuda-load has named: that tells by itself."""
    if name in _told or layers.is_named(name) or not settings.value("cuda-notice"):
        return
    _told.add(name)
    from gdbcuda import api

    # the table of the newest version: which one it is would cost a remote target packets
    what = how or described(found, api.load())
    which = "another hook library" if layers.named_hooks() else "a hook library"
    is_second = any(one != name and os.path.basename(one) == os.path.basename(name) for one in _told)
    shown = name if is_second else os.path.basename(name)
    console.write(visible(f"gdbcuda: {shown} is {which}: {what}; see  cuda-check") + "\n")


def described(exported: frozenset[str], table: api.Table) -> str:
    """ "203 driver and 247 NVML functions, dlsym"; without counts where not all names were looked for."""
    found, is_some = [f.api for f in map(table.function, exported) if f is not None], isinstance(exported, SomeNames)
    counts = [word if is_some else f"{found.count(kind)} {word}" for kind, word in KINDS if kind in found]
    said = " and ".join(filter(None, [", ".join(counts[:-1]), *counts[-1:]]))
    plural = "" if len(found) == 1 and not is_some else "s"
    functions = f"{said} function{plural}" if counts else "no API function by name"
    resolvers = [name for name in ("dlsym", "dlvsym") if name in exported]
    return ", ".join([functions, *resolvers, *(text for name, text in OTHER_WAYS.items() if name in exported)])

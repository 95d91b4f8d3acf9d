"""A hook library that nobody has named: noticed when it is loaded, said in one line, and the hook layer from then on.

Each object that is neither the vendor's nor the system's is asked once, whether the process has CUDA yet or not: by its
file here, 0.1 ms; where gdb has only the other machine's, by a few blocks of its memory, at the next stop. The table is
loaded for names that look like the API's. (gdb manual: "Events In Python".)
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import gdb

from gdbcuda.api import vendor
from gdbcuda.errors import Unreadable
from gdbcuda.linkage.image import Image
from gdbcuda.live import layers, process
from gdbcuda.live.host import console, inferiors
from gdbcuda.live.layers.noticed import STATE, NoticedObjects
from gdbcuda.live.prompt import settings
from gdbcuda.text.printable import visible

if TYPE_CHECKING:
    from gdbcuda import api  # a session without CUDA does not wait for the table

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
    if gdb.selected_inferior() in inferiors.in_space(space):
        look_ahead(STATE())


def look_ahead(state: NoticedObjects) -> None:
    """The loader has mapped all libraries of the start before gdb tells of the first: whoever asks for layers at that
    one, as the log does, has to know the others."""
    for name in process.search_order() if not process.is_remote() else ():
        if name not in state.asked and not vendor.layer_of(name):
            state.asked.add(name)
            arrived(state, name)


def arrived(state: NoticedObjects, name: str) -> None:
    if name.startswith(process.REMOTE_PREFIX):
        state.unasked.append(name)
    else:
        keep(state, {name: exported_by_file(name)})


def on_stop(event: object) -> None:
    state = STATE()
    if state.unasked:
        images = {one.name: one for one in process.images()}
        keep(state, {name: exported_by_memory(images.get(process.strip_prefix(name))) for name in state.unasked})


def keep(state: NoticedObjects, asked: dict[str, frozenset[str]]) -> None:
    state.unasked = [name for name in state.unasked if name not in asked]
    for name, exported in asked.items():
        if exported:
            state.hooks[process.strip_prefix(name)] = exported
            if not process.is_remote():  # there it is done at a stop, when what was read costs packets
                process.forget()
            tell(process.strip_prefix(name), exported)


def exported_by_file(name: str) -> frozenset[str]:
    from gdbcuda.linkage import hook_library

    return hook_library.exported_by_file(name, is_api)


def exported_by_memory(image: Image | None) -> frozenset[str]:
    from gdbcuda.linkage import hook_library

    try:
        return hook_library.exported(image, is_api) if image else frozenset()
    except Unreadable:
        return frozenset()


def is_api(name: str) -> bool:
    from gdbcuda import api

    return name in api.load().functions


def tell(name: str, found: frozenset[str]) -> None:
    """Not what cuda-load has named: that tells by itself."""
    if name in _told or layers.is_named(name) or not settings.value("cuda-notice"):
        return
    _told.add(name)
    from gdbcuda import api

    what = described(found, api.load())  # of the newest version: which one it is would cost a remote target packets
    which = "another hook library" if layers.named_hooks() else "a hook library"
    console.write(visible(f"gdbcuda: {os.path.basename(name)} is {which}: {what}; see  cuda-check") + "\n")


def described(exported: frozenset[str], table: api.Table) -> str:
    """ "203 driver and 247 NVML functions, dlsym"."""
    found = [f.api for f in map(table.function, exported) if f is not None]
    counts = [f"{found.count(kind)} {word}" for kind, word in KINDS if kind in found]
    said = " and ".join(filter(None, [", ".join(counts[:-1]), *counts[-1:]]))
    functions = f"{said} function{'' if len(found) == 1 else 's'}" if counts else "no API function by name"
    return ", ".join([functions, *(name for name in ("dlsym", "dlvsym") if name in exported)])

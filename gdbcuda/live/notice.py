"""A hook library that nobody has named: noticed when it is loaded, said in one line, and the hook layer from then on.

Nothing is looked at before a library of the vendor's is loaded, so a program without CUDA pays for a look at file
names. Then each object that is neither the vendor's nor the system's is asked once: by its file here; where gdb has
only the other machine's, by a few blocks of its memory, at the next stop. (gdb manual: "Events In Python".)
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field

import gdb

from gdbcuda import vendor
from gdbcuda.errors import Unreadable
from gdbcuda.image import Image
from gdbcuda.live import console, inferiors, layers, settings, target
from gdbcuda.live.inferiors import PerInferior

VENDOR = ("driver", "runtime")


@dataclass
class Objects:
    """Of one process. ``hooks`` are file name and what it exports."""

    is_cuda: bool = False
    unasked: list[str] = field(default_factory=list)
    hooks: dict[str, frozenset[str]] = field(default_factory=dict)


STATE: PerInferior[Objects] = PerInferior(Objects)
_told: set[str] = set()  # once a session is enough


def on_objfile(event: gdb.NewObjFileEvent) -> None:
    objfile = event.new_objfile
    name, layer = objfile.filename or "", vendor.layer_of(objfile.filename or "")
    if objfile.owner is not None or layer == "system" or name == objfile.progspace.filename:
        return
    for inferior in inferiors.in_space(objfile.progspace):
        if inferior.pid:
            arrived(STATE.of(inferior), name, layer)


def arrived(state: Objects, name: str, layer: str) -> None:
    state.is_cuda |= layer in VENDOR
    if not layer:
        state.unasked.append(name)
    if state.is_cuda:
        here = [name for name in state.unasked if not name.startswith(target.REMOTE_PREFIX)]
        keep(state, {name: exported_by_file(name) for name in here})


def on_stop(event: object) -> None:
    state = STATE()
    if state.is_cuda and state.unasked:
        images = {one.name: one for one in target.images()}
        keep(state, {name: exported_by_memory(images.get(target.strip_prefix(name))) for name in state.unasked})


def keep(state: Objects, asked: dict[str, frozenset[str]]) -> None:
    state.unasked = [name for name in state.unasked if name not in asked]
    for name, exported in asked.items():
        if exported:
            state.hooks[target.strip_prefix(name)] = exported
            tell(target.strip_prefix(name), exported)


def exported_by_file(name: str) -> frozenset[str]:
    from gdbcuda import api, noticing

    return noticing.exported_by_file(name, api.load().functions)


def exported_by_memory(image: Image | None) -> frozenset[str]:
    from gdbcuda import api, noticing

    try:
        return noticing.exported(image, api.load().functions) if image else frozenset()
    except Unreadable:
        return frozenset()


def tell(name: str, found: frozenset[str]) -> None:
    """Not what cuda-load has named: that tells by itself."""
    if name in _told or layers.is_named(name) or not settings.value("cuda-notice"):
        return
    _told.add(name)
    from gdbcuda import api
    from gdbcuda.live.commands.load import described

    what = described(found, api.load())  # of the newest version: which one it is would cost a remote target packets
    which = "another hook library" if layers.named_hooks() else "a hook library"
    console.write(f"gdbcuda: {os.path.basename(name)} is {which}: {what}; see  cuda-check\n")


def hooks() -> list[str]:
    return list(STATE().hooks)

"""Our modules run when something of theirs is first asked for: a session waits for what it uses, and for no more.

``from gdbcuda.live.guarding import guards`` makes an empty module. ``guards.names()`` runs it, and so does an import
of a name out of it. Packages are modules like others, but what lies in their folder is imported without them. Who
imports a module for what it registers asks for something of it (`packages.load_all`).

(importlib's LazyLoader does the same for one module. It looks for each one's files in full, and runs the packages above
it: for 150 modules that is half of what loading them takes.)
"""

from __future__ import annotations

import os
import sys
from functools import cache
from importlib import import_module
from importlib.machinery import ModuleSpec, SourceFileLoader
from types import ModuleType
from typing import Any, Callable

OF_IMPORTS = frozenset(
    ("__class__", "__dict__", "__file__", "__loader__", "__name__", "__package__", "__path__", "__spec__")
)
PACKAGE = "__init__.py"


class WaitingModule(ModuleType):
    """A module that nobody has asked for anything yet."""

    def __getattribute__(self, name: str) -> Any:
        if name in OF_IMPORTS or is_module_of(object.__getattribute__(self, "__dict__"), name):
            return object.__getattribute__(self, name)
        run(self)
        return getattr(self, name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in OF_IMPORTS and not isinstance(value, ModuleType):
            run(self)
        object.__setattr__(self, name, value)


def is_module_of(package: dict[str, Any], name: str) -> bool:
    """Python's import asks a package whether it has the name before it looks for a module that is called so."""
    return any(name in within(folder) for folder in package.get("__path__", ()))


@cache
def within(folder: str) -> dict[str, str]:
    """By name of a module, its file. (To ask for each file takes longer.)"""
    found = {}
    for one in os.listdir(folder):
        name, kind = os.path.splitext(one)
        path = os.path.join(folder, one) if kind else os.path.join(folder, one, PACKAGE)
        if kind == ".py" or (not kind and os.path.isfile(path)):
            found[name] = path
    return found


_running: set[str] = set()  # an event may come meanwhile: what has a beginning only is not told of it


def run(module: ModuleType) -> None:
    spec = module.__spec__
    assert spec is not None and spec.origin is not None
    spec.loader = module.__loader__ = SourceFileLoader(spec.name, spec.origin)
    module.__class__ = ModuleType
    _running.add(spec.name)
    try:
        spec.loader.exec_module(module)
    except BaseException:  # it is tried again when it is next asked for something
        spec.loader = module.__loader__ = AT_FIRST_USE
        module.__class__ = WaitingModule
        raise
    finally:
        _running.discard(spec.name)


class AtFirstUse:
    """A loader of modules."""

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        assert module.__spec__ is not None
        module.__file__ = module.__spec__.origin
        module.__class__ = WaitingModule


AT_FIRST_USE: Any = AtFirstUse()


class OurFinder:
    """In sys.meta_path, before all that finds modules."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        if path is None or not name.startswith("gdbcuda."):
            return None
        folder = next(iter(path), "")
        file = within(folder).get(name.rpartition(".")[2])
        if file is None:
            return None
        spec = ModuleSpec(name, AT_FIRST_USE, origin=file, is_package=file.endswith(PACKAGE))
        if spec.submodule_search_locations is not None:
            spec.submodule_search_locations.append(os.path.dirname(file))
        return spec


def load_later() -> None:
    sys.meta_path.insert(0, OurFinder())


def is_loaded(name: str) -> bool:
    return type(sys.modules.get(name)) is ModuleType and name not in _running


def named(module: str, function: str) -> Callable[..., Any]:
    """A function of a module of `gdbcuda.live`, which runs now if it has not yet."""
    found: Callable[..., Any] = getattr(import_module(f"gdbcuda.live.{module}"), function)
    return found


def if_loaded(module: str, function: str) -> Callable[..., None]:
    """A handler of gdb's events that does nothing as long as nobody has used the module."""

    def handler(*event: Any) -> None:
        if is_loaded(f"gdbcuda.live.{module}"):
            getattr(sys.modules[f"gdbcuda.live.{module}"], function)(*event)

    handler.__module__, handler.__qualname__ = f"gdbcuda.live.{module}", function  # it is named where it fails
    return handler

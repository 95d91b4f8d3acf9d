"""What we need and find in the .venv beside the package is found for us alone: a ``import pygments`` of gdb's or the
user's ends as it did before. (Once we have loaded it, it is loaded.) A folder in sys.path would give them all of it."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from importlib import import_module
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Any

NEEDED = {"pygments": "pygments", "tabulate": "tabulate", "elftools": "pyelftools"}  # by module, what pip calls them
OURS = {"gdbcuda", *NEEDED}
INDISPENSABLE = "elftools"  # without the others tables and colours are plain


class Beside:
    """In sys.meta_path, behind all that finds modules."""

    def __init__(self, folder: str) -> None:
        self.folder = folder

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        if name not in NEEDED or path is not None or importing() not in OURS:
            return None
        return PathFinder.find_spec(name, [self.folder])

    def find_distributions(self, context: Any) -> Iterable[Any]:
        """For importlib.metadata, which cuda-version asks."""
        from importlib.metadata import DistributionFinder, MetadataPathFinder

        asked = DistributionFinder.Context(name=context.name, path=[self.folder])
        return MetadataPathFinder.find_distributions(asked) if importing() in OURS else ()


def importing() -> str:
    """The package whose code has the import."""
    depth = 1
    while True:
        try:
            name = str(sys._getframe(depth).f_globals.get("__name__", ""))
        except ValueError:
            return ""
        package = name.partition(".")[0]
        if package not in ("importlib", "_frozen_importlib", "_frozen_importlib_external") and name != __name__:
            return package
        depth += 1


def lacking(folders: list[str]) -> list[str]:
    """What pip has to install, [] where we can do without; where the first of the folders helps, it is where we look
    from now on."""
    gone = [module for module in NEEDED if PathFinder.find_spec(module) is None]
    if gone and folders:
        sys.meta_path.append(Beside(folders[0]))
        gone = [module for module in gone if PathFinder.find_spec(module, folders[:1]) is None]
    return [NEEDED[module] for module in gone] if INDISPENSABLE in gone else []


def load_all(package: ModuleType) -> None:
    """Modules that register what they have. (pkgutil imports inspect, which takes 3 ms; in gdb a module runs when it is
    asked for something.)"""
    for file in sorted(os.listdir(package.__path__[0])):
        name, kind = os.path.splitext(file)
        if kind == ".py" and name != "__init__":
            import_module(f"{package.__name__}.{name}").__doc__  # noqa: B018

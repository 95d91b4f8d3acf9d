"""Which object is which layer, and which address belongs to whom.

Layers, outermost first: app, runtime, hook, driver, system. A hook library is one that cuda-load was given, or that is
noticed: an object that is nobody's we know and exports API functions, or dlsym. To what it hides, or has in its PLT,
nobody can be bound.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Set
from functools import lru_cache, partial
from typing import Callable, NamedTuple

from gdbcuda.api import vendor
from gdbcuda.files import object_names
from gdbcuda.live import process
from gdbcuda.live.layers import noticed
from gdbcuda.text.printable import visible

LAYERS = ("app", "runtime", "hook", "driver", "system")
STATIC_RUNTIME = "libcudart_static_"  # what its functions are called inside
_hooks: list[str] = []


def remember_hook(path: str) -> None:
    """``cuda-load`` names the hook library; several can be stacked."""
    if path not in _hooks:
        _hooks.append(path)
    process.forget()


def forget_hook(path: str) -> None:
    _hooks.remove(path)
    process.forget()


def named_hooks() -> list[str]:
    return list(_hooks)


def hooks() -> list[str]:
    """The hook libraries that are meant: as named with cuda-load; else those noticed in the process."""
    return named_hooks() or noticed.hooks()


def hooks_here() -> list[str]:
    """Those of them that the process has."""
    return [name for name in process.shared_objects() if layer_of_object(name) == "hook"] if hooks() else []


@process.until_objects_change
def is_cuda_here() -> bool:
    """Has the process a library that is a part of CUDA, or a hook library?"""
    return bool(hooks_here()) or any(vendor.layer_of(one) in ("runtime", "driver") for one in process.shared_objects())


def other_hooks() -> list[str]:
    """Noticed beside those that were named."""
    return [one for one in noticed.hooks() if not is_named(one)] if _hooks else []


class MeantFile(NamedTuple):
    """A hook library's, as it was named or noticed. ``real``: what it links to; ``is_here``: the process has that very
    file, and another library of the same name is another one."""

    named: str
    real: str
    is_here: bool

    def covers(self, loaded: str) -> bool:
        return is_very(loaded, self) or (not self.is_here and is_same_base(loaded, self))


def is_named(loaded: str) -> bool:
    return any(meant(one).covers(loaded) for one in _hooks)


@process.until_objects_change
def meant(named: str) -> MeantFile:
    found = MeantFile(named, behind_links(named), False)
    return found._replace(is_here=any(is_very(loaded, found) for loaded in process.shared_objects()))


def is_very(loaded: str, file: MeantFile) -> bool:
    return loaded in (file.named, file.real)


@process.until_objects_change
def behind_links(path: str) -> str:
    return os.path.realpath(path)


def is_same_file(loaded: str, named: str) -> bool:
    """By name, a link's or its target's: the loaded file may be on another machine, so no inode is compared."""
    return is_same_base(loaded, MeantFile(named, behind_links(named), False))


def is_same_base(loaded: str, file: MeantFile) -> bool:
    return os.path.basename(loaded) in (os.path.basename(file.named), os.path.basename(file.real))


def layer_of_object(name: str) -> str:
    """Layer of a file name as gdb shows it; "" for the empty name (no object there)."""
    return layer_teller()(name) if name else ""


def layer_teller() -> Callable[[str], str]:
    """`layer_of_object`, for many names in one go."""
    return partial(layer_beside, hooks=meant_hooks(len(noticed.known())))


@process.until_objects_change
def meant_hooks(count: int) -> tuple[MeantFile, ...]:
    """``count``: of those that are noticed, as long as no more are."""
    return tuple(meant(one) for one in dict.fromkeys((*_hooks, *noticed.hooks())))


@lru_cache(maxsize=1 << 14)
def layer_beside(name: str, hooks: tuple[MeantFile, ...]) -> str:
    """Beside the same hook libraries a file stays what it is, whatever else is loaded."""
    return "hook" if any(one.covers(name) for one in hooks) else vendor.layer_of(name) or "app"


def layer_of(address: int, function: str = "") -> str:
    """Layer of a code address. A runtime function found inside the program is its static cudart."""
    return layer_within(process.object_of(address), address, function)


def layer_within(file: str, address: int, function: str) -> str:
    """The same where it is known in which object."""
    layer = layer_of_object(file)
    return "runtime" if layer == "app" and function and is_static_runtime(address, function) else layer


def is_static_runtime(address: int, function: str) -> bool:
    """An overload of C++ that CUDA's headers have put there is called as a function of the runtime, too: but not by its
    symbol."""
    from gdbcuda.live.layers import table_version

    known = table_version.function(function)
    is_named = known is not None and known.api == "runtime" and process.symbol_of(address)[0] == function
    return is_named or function.startswith(STATIC_RUNTIME)


def matches(wanted: str, layer: str, name: str) -> bool:
    """Does a layer or library ("hook", "libfoo.so", "libfoo*", a path) mean this object?"""
    return wanted == layer or object_names.is_meant(wanted, name)


def shown(layer: str, name: str) -> str:
    """ "hook libvgpu.so", "hook one/libvgpu.so" where another object is called the same; an unknown place says so."""
    return visible(f"{layer} {short(name)}") if name else "unknown code"


def short(name: str) -> str:
    base = os.path.basename(name)
    return name if base in shared_names() else base


@process.until_objects_change
def shared_names() -> Set[str]:
    """Names, without directory, that several loaded objects have."""
    counts = Counter(os.path.basename(one.name) for one in process.images()) if process.is_alive() else {}
    return {name for name, count in counts.items() if count > 1}

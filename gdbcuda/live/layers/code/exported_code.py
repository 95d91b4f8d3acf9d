"""Code of a hook library that has another name inside than the loader finds it by: an alias, a version of a symbol."""

from __future__ import annotations

from collections.abc import Mapping, Set

from gdbcuda.api.functions import base_name
from gdbcuda.errors import Unreadable, UserError
from gdbcuda.live import layers, process
from gdbcuda.live.layers import table_version, this_snapshot


def function_at(pc: int) -> str:
    """The API function that a hook library exports there; "" where it is none, or several with one body."""
    file = process.object_of(pc)
    start = process.function_start(pc) if file and layers.layer_of_object(file) == "hook" else None
    return meant(exported_from(file).get(start, ())) if start is not None else ""


@process.until_objects_change
def exported_from(file: str) -> Mapping[int, Set[str]]:
    """Address -> those of the API that the hook library exports there."""
    found: dict[int, set[str]] = {}
    try:
        hook = next((one for one in this_snapshot.objects().all if this_snapshot.file_of(one) == file), None)
        exported = hook.symbols.defined(table_version.table().symbols) if hook is not None else {}
    except (UserError, Unreadable):
        return found
    for definition in (one for several in exported.values() for one in several):
        found.setdefault(definition.address, set()).add(definition.name)
    return found


def meant(symbols: Set[str] | tuple[()]) -> str:
    """Of a function's symbols the one that the header leads to."""
    bases = {base_name(one) for one in symbols}
    if len(symbols) == 1 or len(bases) != 1:
        return next(iter(symbols)) if len(symbols) == 1 else ""
    current = table_version.table().source_symbol(next(iter(bases)))
    return current if current in symbols else ""

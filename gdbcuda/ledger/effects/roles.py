"""What a function does to memory, from the API's notes: hands a block out, takes one back, or reads and writes it."""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

from gdbcuda import api

ALLOC, FREE, MAP, UNMAP, TOUCH, INFO, RANGE, DEVICE = (
    "alloc", "free", "map", "unmap", "touch", "info", "range", "device")  # fmt: skip
CHANGES = (ALLOC, FREE, MAP, UNMAP, TOUCH, DEVICE)  # what calls inside such a call do is the call's own business
GRAPH_ALLOC, GRAPH_FREE, GRAPH_NODE = "AddMemAllocNode", "AddMemFreeNode", "GraphAddNode"
MAP_CALL, UNMAP_CALL = "cuMemMap", "cuMemUnmap"
# what says on which device the thread is
DEVICES = frozenset({"cudaSetDevice", "cuCtxCreate", "cuDevicePrimaryCtxRetain", "cuCtxSetCurrent", "cuCtxPushCurrent",
                     "cuCtxPopCurrent"})  # fmt: skip
RANGE_QUERY = "cuMemGetAddressRange"


class Role(NamedTuple):
    """``block`` is the parameter with the block. ``kind`` says what it is, and only equal kinds free each other."""

    what: str
    function: api.Function
    block: str = ""
    kind: str = ""


def matters(function: api.Function) -> bool:
    return role(function) is not None


def role(function: api.Function) -> Role | None:
    """None for a function that the ledger can ignore."""
    base = function.base
    if base.endswith((GRAPH_ALLOC, GRAPH_FREE, GRAPH_NODE)):
        is_free = base.endswith(GRAPH_FREE)
        return Role(FREE if is_free else ALLOC, function, "dptr" if is_free else "nodeParams", "graph")
    if function.role in (ALLOC, FREE):
        block = next((p.name for p in function.parameters if p.block), "")
        return Role(function.role, function, block, kind_of(function)) if block else None
    if base == MAP_CALL:
        return Role(MAP, function, "ptr", "mapping")
    if base == UNMAP_CALL:
        return Role(UNMAP, function, "ptr", "mapping")
    if function.role in ("copy", "set"):
        return Role(TOUCH, function)
    return asking(function)


def asking(function: api.Function) -> Role | None:
    """Calls that change nothing and tell something."""
    if function.role == "memory-info" and function.base.endswith(("MemGetInfo", "GetMemoryInfo")):
        return Role(INFO, function)
    if function.base == RANGE_QUERY:
        return Role(RANGE, function, "dptr")
    return Role(DEVICE, function) if function.base in DEVICES else None


# What the name of the release says about the block; the first that fits.
KINDS = (("HostUnregister", "registered"), ("Host", "host"), ("Address", "addresses"), ("Ipc", "imported"),
         ("Mipmapped", "mipmap"), ("Array", "array"), ("Release", "physical"))  # fmt: skip
IMPORTS = ("Import", "ExternalMemory")  # in the name of an allocator: what it hands out is counted elsewhere
ON_DEVICE = ("device", "managed", "array", "mipmap", "physical", "graph")  # takes the device's memory
# Known by a handle, or by an address that others may share: these never stand for each other.
SPACES = {"array": "handles", "mipmap": "handles", "physical": "handles", "addresses": "addresses"}
MEMORY = "memory"


def space_of(kind: str) -> str:
    return SPACES.get(kind, MEMORY)


@cache
def kind_of(function: api.Function) -> str:
    """ "device", "managed", "host", "array" …"""
    release = function.released_by[0] if function.released_by else function.base
    found = next((kind for part, kind in KINDS if part in release), "device")
    return "managed" if found == "device" and "Managed" in function.base else found


@cache
def is_import(function: api.Function) -> bool:
    """It makes memory usable that another process or another API has allocated."""
    return kind_of(function) == "imported" or any(part in function.base for part in IMPORTS)


HANDLES_ALONE = ("cuMulticastCreate", "cuMemRetainAllocationHandle")  # memory is bound to it, or has been made before


@cache
def takes_device_memory(function: api.Function) -> bool:
    """It is a way to get memory of the device that counts against a quota."""
    base = function.base
    if base.endswith((GRAPH_ALLOC, GRAPH_NODE)):
        return True
    is_allocator = function.role == ALLOC and kind_of(function) in ON_DEVICE
    return is_allocator and not is_import(function) and base not in HANDLES_ALONE


@cache
def hands_out_memory(function: api.Function) -> bool:
    """Of the device or the host. Reserving addresses does not, nor does naming memory that is there already."""
    if takes_device_memory(function):
        return True
    return function.role == ALLOC and kind_of(function) == "host"


@cache
def is_same_family(allocator: api.Function, release: api.Function) -> bool:
    """By the notes within an API. A block of the runtime may go back through the driver, and the other way round, if
    it is of the same kind, and in stream order only if its own API has such a release for it."""
    if release.base.endswith(GRAPH_FREE) or allocator.base.endswith((GRAPH_ALLOC, GRAPH_NODE)):
        return True  # such blocks also go to cuMemFreeAsync, in a stream that the graph was launched in
    if allocator.api == release.api:
        return allocator.base in release.releases
    if "Async" in release.base and not any("Async" in name for name in allocator.released_by):
        return False
    kinds = {kind_of(allocator), kind_of(release)}
    return len(kinds) == 1 or kinds == {"device", "managed"}


def number(data: Any) -> int:
    """An address, handle or count from a record's data; 0 for NULL and whatever is not known."""
    if data is None:
        return 0
    if isinstance(data, int):
        return int(data)
    if isinstance(data, str):
        try:
            return int(data, 0)
        except ValueError:
            return 0
    if isinstance(data, dict):
        return number(data.get("value") if "address" in data else next(iter(data.values()), None))
    return 0

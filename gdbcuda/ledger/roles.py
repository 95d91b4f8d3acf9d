"""What a function does to memory, from the API's notes: hands a block out, takes one back, or reads and writes it."""

from __future__ import annotations

from typing import Any, NamedTuple

from gdbcuda import api

ALLOC, FREE, TOUCH, INFO, DEVICE = "alloc", "free", "touch", "info", "device"
GRAPH_ALLOC, GRAPH_FREE = "AddMemAllocNode", "AddMemFreeNode"
SET_DEVICE = "cudaSetDevice"


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
    if function.base.endswith((GRAPH_ALLOC, GRAPH_FREE)):
        is_alloc = function.base.endswith(GRAPH_ALLOC)
        return Role(ALLOC if is_alloc else FREE, function, "nodeParams" if is_alloc else "dptr", "graph")
    if function.role in (ALLOC, FREE):
        block = next((p.name for p in function.parameters if p.block), "")
        return Role(function.role, function, block, kind_of(function)) if block else None
    if function.role in ("copy", "set"):
        return Role(TOUCH, function)
    if function.role == "memory-info" and function.base.endswith(("MemGetInfo", "GetMemoryInfo")):
        return Role(INFO, function)
    return Role(DEVICE, function) if function.base == SET_DEVICE else None


# What the name of the release says about the block; the first that fits.
KINDS = (("HostUnregister", "registered"), ("Host", "host"), ("Address", "addresses"), ("Ipc", "imported"),
         ("Mipmapped", "array"), ("Array", "array"), ("Release", "physical"))  # fmt: skip
ON_DEVICE = ("device", "managed", "array", "physical", "graph")  # takes the device's memory
BY_HANDLE = ("array", "physical")  # known by a handle, not by an address


def kind_of(function: api.Function) -> str:
    """ "device", "managed", "host", "array" …"""
    release = function.released_by[0] if function.released_by else function.base
    found = next((kind for part, kind in KINDS if part in release), "device")
    return "managed" if found == "device" and "Managed" in function.base else found


def is_same_family(allocator: api.Function, release: api.Function) -> bool:
    """By the notes within an API; a block of the runtime may go back through the driver if it is of the same kind."""
    if release.base.endswith(GRAPH_FREE) or allocator.base.endswith(GRAPH_ALLOC):
        return True  # such blocks also go to cuMemFreeAsync, in a stream that the graph was launched in
    if allocator.api == release.api:
        return allocator.base in release.releases
    kinds = {kind_of(allocator), kind_of(release)}
    return len(kinds) == 1 or kinds == {"device", "managed"}


def number(data: Any) -> int:
    """An address, handle or count from a record's data; 0 for NULL and whatever is not known."""
    if isinstance(data, bool) or data is None:
        return int(bool(data))
    if isinstance(data, int):
        return data
    if isinstance(data, str):
        try:
            return int(data, 0)
        except ValueError:
            return 0
    if isinstance(data, dict):
        return number(data.get("value") if "address" in data else next(iter(data.values()), None))
    return 0

"""How large an allocation is, from the arguments of the call. 0 where the call does not tell."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import Any

from gdbcuda import api
from gdbcuda.calls.record import Call
from gdbcuda.ledger.effects.roles import GRAPH_ALLOC, GRAPH_NODE, Role, number

Data = Mapping[str, Any]
SHAPES = frozenset({"extent", "desc", "pAllocateArray", "pMipmappedArrayDesc"})  # parameters
BYTES = "bytes"  # what a trace of somebody else's tells, instead of arguments
EXTERNAL = ("bufferDesc", "mipmapDesc")  # parameters that say which part of another API's memory is mapped
FORMATS = {"CU_AD_FORMAT_HALF": 2, "CU_AD_FORMAT_FLOAT": 4}  # bytes of a channel


def behind(data: Any) -> Data:
    """The struct that a pointer argument points to, or that is passed by value."""
    found = data.get("value") if isinstance(data, dict) and "address" in data else data
    return found if isinstance(found, dict) else {}


def size(function: api.Function, call: Call) -> int:
    """Bytes of what an allocator handed out; 0 where the call does not tell (another process's memory)."""
    arguments = call.arguments
    if GRAPH_ALLOC in function.symbol or GRAPH_NODE in function.symbol:  # the base name is worked out anew each time
        return number(graph_node(call).get("bytesize"))
    if not SHAPES.isdisjoint(arguments):
        return shaped(call)
    for name in EXTERNAL:
        if name in arguments:
            return external(behind(arguments[name]))
    pitch = number(call.out.get("pPitch", call.out.get("pitch")))
    if pitch:
        return pitch * number(arguments.get("Height", arguments.get("height")))
    return number(arguments.get(size_parameter(function), arguments.get(BYTES)))


@cache
def size_parameter(function: api.Function) -> str:
    return next((p.name for p in function.parameters if p.size_bytes and p.type.kind == "uint"), "")


def graph_node(call: Call) -> Data:
    """What a node allocates: its own parameters, or that part of the general ones."""
    node = behind(call.out.get("nodeParams"))
    return node if "dptr" in node else behind(node.get("alloc"))


def is_on_host(call: Call) -> bool:
    """cuMemCreate can also hand out the host's memory."""
    if "prop" not in call.arguments:
        return False
    location = behind(behind(call.arguments["prop"]).get("location"))
    return str(location.get("type", "")).startswith("CU_MEM_LOCATION_TYPE_HOST")


def shaped(call: Call) -> int:
    """Arrays, and cudaMalloc3D: width, height and depth, of elements or of bytes."""
    arguments = call.arguments
    driver = behind(arguments.get("pAllocateArray", arguments.get("pMipmappedArrayDesc")))
    extent = behind(arguments.get("extent")) or driver or arguments
    pitched = behind(call.out.get("pitchedDevPtr"))
    if pitched:
        _, height, depth = dimensions(extent)
        return number(pitched.get("pitch")) * max(height, 1) * max(depth, 1)
    return levels(extent, element(call), arguments.get("numLevels", arguments.get("numMipmapLevels", 1)))


def external(described: Data) -> int:
    """A buffer of another API, or its texture with all levels."""
    if "size" in described:
        return number(described["size"])
    driver = behind(described.get("arrayDesc"))
    each = driver_element(driver) if driver else runtime_element(behind(described.get("formatDesc")))
    return levels(driver or behind(described.get("extent")), each, described.get("numLevels", 1))


def levels(extent: Data, element_size: int, count: Any) -> int:
    width, height, depth = dimensions(extent)
    sizes = (max(width >> n, 1) * max(height >> n, 1) * max(depth >> n, 1) for n in range(min(number(count) or 1, 32)))
    return sum(sizes) * element_size


def dimensions(extent: Data) -> tuple[int, int, int]:
    """Of a struct of the runtime (width) or of the driver (Width)."""
    width, height, depth = (number(extent.get(name, extent.get(name.capitalize())))
                            for name in ("width", "height", "depth"))  # fmt: skip
    return width, height, depth


def element(call: Call) -> int:
    """Bytes of an element of the array that the call makes; 0 where it makes none."""
    driver = behind(call.arguments.get("pAllocateArray", call.arguments.get("pMipmappedArrayDesc")))
    return driver_element(driver) if driver else runtime_element(behind(call.arguments.get("desc")))


def handed_out(call: Call, role: Role) -> int:
    """The address or handle of the block that an allocator has made; 0 where the call does not tell."""
    if role.kind == "graph":
        return number(graph_node(call).get("dptr"))
    return number(call.out[role.block] if role.block in call.out else call.arguments.get(role.block))


def handles(call: Call) -> list[int]:
    """What the call has handed out."""
    return [found for found in map(number, call.out.values()) if found]


def driver_element(descriptor: Data) -> int:
    """CU_AD_FORMAT_UNSIGNED_INT16 with 4 channels has 8 bytes."""
    name = str(descriptor.get("Format"))
    bits = re.search(r"INT(\d+)", name)
    width = int(bits[1]) // 8 if bits else FORMATS.get(name, 0)
    return width * number(descriptor.get("NumChannels"))


def runtime_element(description: Data) -> int:
    return sum(number(description.get(channel)) for channel in "xyzw") // 8

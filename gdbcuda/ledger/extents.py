"""How large an allocation is, and which bytes a copy or fill touches, from the arguments of the call."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from gdbcuda import api
from gdbcuda.ledger.roles import GRAPH_ALLOC, number
from gdbcuda.log.record import Call

Data = Mapping[str, Any]
SHAPES = frozenset({"extent", "desc", "pAllocateArray", "pMipmappedArrayDesc"})  # parameters


class Touch(NamedTuple):
    """``size`` bytes from ``address`` on, through this parameter."""

    parameter: str
    address: int
    size: int


def behind(data: Any) -> Data:
    """The struct that a pointer argument points to, or that is passed by value."""
    found = data.get("value") if isinstance(data, dict) and "address" in data else data
    return found if isinstance(found, dict) else {}


def size(function: api.Function, call: Call) -> int:
    """Bytes of what an allocator handed out; 0 where the call does not tell (another process's memory)."""
    arguments = call.arguments
    if GRAPH_ALLOC in function.symbol:  # the base name is worked out anew each time
        return number(behind(call.out.get("nodeParams")).get("bytesize"))
    if not SHAPES.isdisjoint(arguments):
        return shaped(call)
    pitch = number(call.out.get("pPitch", call.out.get("pitch")))
    if pitch:
        return pitch * number(arguments.get("Height", arguments.get("height")))
    names = [p.name for p in function.parameters if p.size_bytes and p.type.kind == "uint"]
    return number(arguments[names[0]]) if names and names[0] in arguments else 0


def shaped(call: Call) -> int:
    """Arrays, and cudaMalloc3D: width, height and depth, of elements or of bytes."""
    arguments = call.arguments
    driver = behind(arguments.get("pAllocateArray", arguments.get("pMipmappedArrayDesc")))
    extent = behind(arguments.get("extent")) or driver or arguments
    width, height, depth = (number(extent.get(n, extent.get(n.capitalize()))) for n in ("width", "height", "depth"))
    pitched = behind(call.out.get("pitchedDevPtr"))
    if pitched:
        return number(pitched.get("pitch")) * max(height, 1) * max(depth, 1)
    element = driver_element(driver) if driver else runtime_element(behind(arguments.get("desc")))
    levels = number(arguments.get("numLevels", arguments.get("numMipmapLevels", 1))) or 1
    return sum(max(width >> n, 1) * max(height >> n, 1) * max(depth >> n, 1) for n in range(min(levels, 32))) * element


def driver_element(descriptor: Data) -> int:
    """CU_AD_FORMAT_UNSIGNED_INT16 with 4 channels has 8 bytes."""
    name = str(descriptor.get("Format"))
    bits = re.search(r"INT(\d+)", name)
    width = int(bits[1]) // 8 if bits else {"CU_AD_FORMAT_HALF": 2, "CU_AD_FORMAT_FLOAT": 4}.get(name, 0)
    return width * number(descriptor.get("NumChannels"))


def runtime_element(description: Data) -> int:
    return sum(number(description.get(channel)) for channel in "xyzw") // 8


def touches(function: api.Function, call: Call) -> Iterator[Touch]:
    """What of memory the call reads and writes, as far as it is given by plain pointers and sizes."""
    if function.role == "set":
        yield from filled(function, call)
    elif "pCopy" in call.arguments:
        yield from described(behind(call.arguments["pCopy"]))
    else:
        yield from copied(function, call)


def filled(function: api.Function, call: Call) -> Iterator[Touch]:
    first = function.parameters[0].name
    if function.parameters[0].handle or behind(call.arguments.get(first)):
        return  # cudaMemset3D
    get = call.arguments.get
    pitch = number(get("pitch", get("dstPitch")))
    counts_bytes = "value" in call.arguments
    element = 1 if counts_bytes else next((p.type.size for p in function.parameters if p.name in ("uc", "us", "ui")), 1)
    if pitch:
        width, height = number(get("width", get("Width"))) * element, number(get("height", get("Height")))
        yield Touch(first, number(get(first)), pitch * max(height - 1, 0) + width if height else 0)
    else:
        yield Touch(first, number(get(first)), number(get("count", get("N"))) * element)


def copied(function: api.Function, call: Call) -> Iterator[Touch]:
    get = call.arguments.get
    count = number(get("count", get("ByteCount")))
    width, height = number(get("width")), number(get("height"))
    for parameter in function.parameters:
        side = parameter.name[:3]
        if side not in ("dst", "src") or not is_plain(parameter):
            continue
        pitch = number(get(f"{side[0]}pitch"))
        length = count if not pitch else pitch * (height - 1) + width if height else 0
        if length:
            yield Touch(parameter.name, number(get(parameter.name)), length)


def is_plain(parameter: api.Parameter) -> bool:
    """An address; not an array's handle, a context or an offset."""
    return (parameter.type.kind == "pointer" and not parameter.handle) or parameter.type.name.startswith("CUdeviceptr")


def described(copy: Data) -> Iterator[Touch]:
    """cuMemcpy2D's struct; a volume's slices are not looked at."""
    if "Depth" in copy:
        return
    for side in ("src", "dst"):
        if copy.get(f"{side}MemoryType") in ("CU_MEMORYTYPE_DEVICE", "CU_MEMORYTYPE_UNIFIED"):
            pitch, height = number(copy.get(f"{side}Pitch")), number(copy.get("Height"))
            start = number(copy.get(f"{side}Y")) * pitch + number(copy.get(f"{side}XInBytes"))
            length = pitch * max(height - 1, 0) + number(copy.get("WidthInBytes"))
            yield Touch(f"{side}Device", number(copy.get(f"{side}Device")) + start, length)

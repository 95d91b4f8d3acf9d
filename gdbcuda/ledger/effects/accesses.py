"""Which bytes a copy or a fill reads and writes, from the arguments of the call.

(CUDA driver and runtime API references: cuMemcpy2D, cuMemcpy3D, cudaMemcpy3D.)
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any, Callable, NamedTuple

from gdbcuda import api
from gdbcuda.calls.record import Call
from gdbcuda.ledger.effects.extents import Data, behind, dimensions
from gdbcuda.ledger.effects.roles import number

UNIFIED = "CU_MEMORYTYPE_UNIFIED"
LINEAR = {"CU_MEMORYTYPE_DEVICE": "Device", UNIFIED: "Device", "CU_MEMORYTYPE_HOST": "Host"}
VALUES = ("uc", "us", "ui")  # parameters
ElementOf = Callable[[int], int]  # bytes of an element of the array with that handle, 0 if it is not known


class Touch(NamedTuple):
    """``size`` bytes from ``address`` on, through this parameter; or an array, by its handle."""

    parameter: str
    address: int
    size: int
    is_array: bool = False
    is_host: bool = False  # the call says that this side is the host's memory
    is_either: bool = False  # it does not say whose this side is


def accesses(function: api.Function, call: Call, element_of: ElementOf = lambda array: 0) -> Iterator[Touch]:
    arguments = call.arguments
    if function.role == "set":
        yield from filled(function, call)
    elif "pCopy" in arguments:
        yield from by_driver(behind(arguments["pCopy"]))
    elif "p" in arguments:
        yield from by_runtime(behind(arguments["p"]), element_of)
    elif "sizes" in arguments:
        yield from batch(arguments)
    else:
        yield from copied(function, call)


def span(width: int, height: int, depth: int, pitch: int, slice_height: int) -> int:
    """From the first byte of a box to the last, in memory with that many bytes a row and rows a slice."""
    if not width or not height or not depth:
        return 0
    return ((depth - 1) * slice_height + height - 1) * pitch + width


def filled(function: api.Function, call: Call) -> Iterator[Touch]:
    first, is_handle, width_of_value = filling(function)
    get = call.arguments.get
    if is_handle:
        return
    box = behind(get(first))
    if box:  # cudaMemset3D
        size = span(*dimensions(behind(get("extent"))), number(box.get("pitch")), number(box.get("ysize")))
        yield Touch(first, number(box.get("ptr")), size)
        return
    pitch = number(get("pitch", get("dstPitch")))
    element = 1 if "value" in call.arguments else width_of_value
    if pitch:
        width, height = number(get("width", get("Width"))) * element, number(get("height", get("Height")))
        yield Touch(first, number(get(first)), span(width, height, 1, pitch, 0))
    else:
        yield Touch(first, number(get(first)), number(get("count", get("N"))) * element)


@cache
def filling(function: api.Function) -> tuple[str, bool, int]:
    """What is filled, whether it is a handle, and how many bytes the value has."""
    first = function.parameters[0]
    return first.name, first.handle, next((p.type.size for p in function.parameters if p.name in VALUES), 1)


def copied(function: api.Function, call: Call) -> Iterator[Touch]:
    get = call.arguments.get
    count = number(get("count", get("ByteCount")))
    width, height = number(get("width")), number(get("height"))
    for name, in_array in sides(function):
        address, pitch = number(get(name)), number(get(f"{name[0]}pitch"))
        if in_array:
            yield Touch(name, address, 0, is_array=True)
        else:
            size = span(width, height, 1, pitch, 0) if pitch else count
            kind = get("kind")
            yield Touch(name, address, size, is_host=is_host(name, kind), is_either=is_either(call.base, name, kind))


def is_either(base: str, side: str, direction: Any) -> bool:
    """Of src in cuMemcpy, and in a cudaMemcpyDefault."""
    return side in ("src", "dst") and "Peer" not in base and str(direction or "Default").endswith("Default")


def is_host(side: str, direction: Any) -> bool:
    """Of srcHost, and of src in a cudaMemcpyHostToDevice."""
    if side.endswith("Host"):
        return True
    there = str(direction).rpartition("cudaMemcpy")[2]
    return there.startswith("HostTo") if side.startswith("src") else there.endswith("ToHost")


@cache
def sides(function: api.Function) -> tuple[tuple[str, bool], ...]:
    """The parameters that say from where and to where, and whether that is an array."""
    named = [p for p in function.parameters if p.name[:3] in ("dst", "src")]
    return tuple((p.name, is_array(p)) for p in named if is_array(p) or is_plain(p))


def is_plain(parameter: api.Parameter) -> bool:
    """An address; not an array's handle, a context or an offset."""
    return (parameter.type.kind == "pointer" and not parameter.handle) or parameter.type.name.startswith("CUdeviceptr")


def is_array(parameter: api.Parameter) -> bool:
    return parameter.handle and "rray" in parameter.type.name


def by_driver(copy: Data) -> Iterator[Touch]:
    """The structs of cuMemcpy2D and cuMemcpy3D: widths and offsets in bytes."""
    width, height = number(copy.get("WidthInBytes")), number(copy.get("Height"))
    depth = number(copy.get("Depth")) if "Depth" in copy else 1
    for side in ("src", "dst"):
        kind = str(copy.get(f"{side}MemoryType"))
        if kind == "CU_MEMORYTYPE_ARRAY":
            yield Touch(f"{side}Array", number(copy.get(f"{side}Array")), 0, is_array=True)
        if kind not in LINEAR:
            continue
        name = side + LINEAR[kind]
        pitch, rows = number(copy.get(f"{side}Pitch")), number(copy.get(f"{side}Height"))
        x, y, z = (number(copy.get(f"{side}{axis}")) for axis in ("XInBytes", "Y", "Z"))
        start = number(copy.get(name)) + (z * rows + y) * pitch + x
        size = span(width, height, depth, pitch, rows)
        yield Touch(name, start, size, is_host=is_host(name, None), is_either=kind == UNIFIED)


def by_runtime(copy: Data, element_of: ElementOf) -> Iterator[Touch]:
    """The struct of cudaMemcpy3D: widths and offsets in elements of the array, if any takes part, else in bytes."""
    arrays = [number(copy.get(f"{side}Array")) for side in ("src", "dst")]
    width, height, depth = dimensions(behind(copy.get("extent")))
    if any(arrays):
        width *= next((size for size in map(element_of, filter(None, arrays)) if size), 0)
    for side, array in zip(("src", "dst"), arrays):
        if array:
            yield Touch(f"{side}Array", array, 0, is_array=True)
            continue
        box, at = behind(copy.get(f"{side}Ptr")), behind(copy.get(f"{side}Pos"))
        pitch, rows = number(box.get("pitch")), number(box.get("ysize"))
        x, y, z = (number(at.get(axis)) for axis in "xyz")
        start = number(box.get("ptr")) + (z * rows + y) * pitch + x
        size = span(width, height, depth, pitch, rows)
        kind = copy.get("kind")
        yield Touch(f"{side}Ptr", start, size, is_host=is_host(side, kind), is_either=is_either("", side, str(kind)))


def batch(arguments: Data) -> Iterator[Touch]:
    """cudaMemcpyBatchAsync: as many copies as the record has kept."""
    rows: dict[str, list[Any]] = {name: elements(arguments.get(name)) for name in ("dsts", "srcs", "sizes")}
    for index, (dst, src, size) in enumerate(zip(*rows.values())):
        yield Touch(f"dsts[{index}]", number(dst), number(size), is_either=True)
        yield Touch(f"srcs[{index}]", number(src), number(size), is_either=True)


def elements(data: Any) -> list[Any]:
    found = data.get("value") if isinstance(data, dict) else data
    return found if isinstance(found, list) else []

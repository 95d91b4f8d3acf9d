"""How many bytes a copy moves, and from where to where, from the arguments of the call.

(CUDA driver and runtime API references: cuMemcpy2D, cuMemcpy3D, cudaMemcpy3D, cuMemcpyBatchAsync.)
"""

from __future__ import annotations

import re
from functools import cache

from gdbcuda.calls.record import Call
from gdbcuda.ledger.effects.accesses import ElementOf, elements
from gdbcuda.ledger.effects.extents import Data, behind, dimensions
from gdbcuda.ledger.effects.roles import number

DIRECTIONS = {"H": "host", "D": "device", "A": "array"}
NOT_GIVEN = "direction not given"
SIDES = {"CU_MEMORYTYPE_HOST": "host", "CU_MEMORYTYPE_DEVICE": "device", "CU_MEMORYTYPE_ARRAY": "array"}


def direction_and_size(call: Call, element_of: ElementOf) -> tuple[str, int]:
    """ "host to device" and how many bytes; of a batch as many as the record has kept."""
    arguments = call.arguments
    if "pCopy" in arguments:
        return by_driver(behind(arguments["pCopy"]))
    if "p" in arguments:
        return by_runtime(behind(arguments["p"]), call.base, element_of)
    way = direction(call.base, str(arguments.get("kind", "")))
    if "sizes" in arguments:  # count says how many
        return way, sum(map(number, elements(arguments["sizes"])))
    count = number(arguments.get("count", arguments.get("ByteCount")))
    return way, count or number(arguments.get("width")) * number(arguments.get("height"))


def by_driver(copy: Data) -> tuple[str, int]:
    source, target = (SIDES.get(str(copy.get(f"{side}MemoryType")), "") for side in ("src", "dst"))
    depth = number(copy.get("Depth")) if "Depth" in copy else 1
    size = number(copy.get("WidthInBytes")) * number(copy.get("Height")) * depth
    return f"{source} to {target}" if source and target else NOT_GIVEN, size


def by_runtime(copy: Data, base: str, element_of: ElementOf) -> tuple[str, int]:
    """Widths are in elements of the array, if any takes part; of one that nobody knows they are not counted."""
    width, height, depth = dimensions(behind(copy.get("extent")))
    arrays = [array for side in ("src", "dst") if (array := number(copy.get(f"{side}Array")))]
    each = next(filter(None, map(element_of, arrays)), 0) if arrays else 1
    return direction(base, str(copy.get("kind", ""))), width * height * depth * each


@cache
def direction(base: str, kind: str) -> str:
    """ "host to device" from cudaMemcpyHostToDevice or cuMemcpyHtoD."""
    found = re.search(r"(Host|Device)To(Host|Device)", kind)
    if found:
        return f"{found[1].lower()} to {found[2].lower()}"
    found = re.search(r"cpy([HDA])to([HDA])", base)
    if found:
        return f"{DIRECTIONS[found[1]]} to {DIRECTIONS[found[2]]}"
    return "device to device" if "Peer" in base else NOT_GIVEN

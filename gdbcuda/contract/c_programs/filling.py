"""C calls of allocators and releases, each argument chosen by its type and by what the notes say of it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from gdbcuda import api
from gdbcuda.api.table import Table
from gdbcuda.data_classes import dataclass, field

ELEMENT = 16  # bytes of an array's, four numbers each
ROW = 65536  # bytes of a row of an array, whose size is a number of rows
PITCH = 512  # bytes of which a row is a multiple: what is asked for is half of it
COUNTS = {"WidthInBytes": str(PITCH // 2), "Height": f"({{size}} + {PITCH - 1}) / {PITCH}", "ElementSizeBytes": "16",
          "numMipmapLevels": "1"}  # other numbers are 0


class Helper(NamedTuple):
    """C that an argument needs: ``call`` is the argument, ``text`` what is above the functions that have it."""

    call: str
    text: str


ON_DEVICE = """\
static const CUmemAllocationProp *on_device(void)
{
    static const CUmemAllocationProp prop = {
        .type = CU_MEM_ALLOCATION_TYPE_PINNED,
        .requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
        .location = {CU_MEM_LOCATION_TYPE_DEVICE, 0},
    };
    return &prop;
}
"""
POOL = """\
static CUmemoryPool default_pool(void)
{
    CUmemoryPool pool = NULL;
    cuDeviceGetDefaultMemPool(&pool, 0);
    return pool;
}
"""
ARRAY = """\
static const NAME *CALLED(size_t bytes)
{
    static _Thread_local NAME array;
    array = (NAME){.Width = WIDTH, .Height = bytes / ROW, .Format = CU_AD_FORMAT_FLOAT, .NumChannels = 4};
    return &array;
}
"""


def of_array(name: str, called: str) -> Helper:
    text = ARRAY.replace("NAME", name).replace("CALLED", called).replace("WIDTH", str(ROW // ELEMENT))
    text = text.replace("ROW", str(ROW))
    return Helper(f"{called}({{size}})", text)


HELPERS = {
    "const CUmemAllocationProp *": Helper("on_device()", ON_DEVICE),
    "CUmemoryPool": Helper("default_pool()", POOL),
    "const CUDA_ARRAY_DESCRIPTOR *": of_array("CUDA_ARRAY_DESCRIPTOR", "plane"),
    "const CUDA_ARRAY3D_DESCRIPTOR *": of_array("CUDA_ARRAY3D_DESCRIPTOR", "box"),
}


@dataclass
class Filled:
    """A call, and what the program has to have for it."""

    function: api.Function
    text: str
    helpers: list[Helper] = field(default_factory=list)


def filled(table: Table, function: api.Function, block: str, size: str) -> Filled | None:
    """``block`` is the C variable that is handed out or given back, ``size`` a C expression of bytes; None where an
    argument is of a kind that nobody here can make."""
    helpers: list[Helper] = []
    arguments = []
    for parameter in function.parameters:
        text = argument(table, parameter, block, size, helpers)
        if text is None:
            return None
        arguments.append(text)
    return Filled(function, f"{function.symbol}({', '.join(arguments)})", helpers)


def argument(table: Table, parameter: api.Parameter, block: str, size: str, helpers: list[Helper]) -> str | None:
    ctype = parameter.type
    if parameter.block:
        return f"&{block}" if parameter.direction == "out" else block
    helper = HELPERS.get(ctype.spelling)
    if helper:
        helpers.append(helper)
        return helper.call.format(size=size)
    if parameter.direction == "out" and ctype.target is not None and ctype.target.kind == "uint":
        return f"&({ctype.target.spelling}){{0}}"  # a pitch
    if ctype.kind in ("uint", "int"):
        return number(table, parameter, size)
    return "NULL" if ctype.opaque else None


def number(table: Table, parameter: api.Parameter, size: str) -> str:
    if parameter.name in COUNTS:
        return COUNTS[parameter.name].format(size=size)
    if parameter.size_bytes:
        return size
    bits = table.flags(parameter.flags) if parameter.flags else None
    if bits:
        return str(min(value for value in bits.values.values() if value))
    return "0"


def block_type(function: api.Function) -> str:
    """Of the variable that holds what the allocator hands out."""
    target = next((p.type.target for p in function.parameters if p.block), None)
    return target.spelling if target is not None else "void *"


def texts(helpers: Iterable[Helper]) -> str:
    return "\n".join(dict.fromkeys(helper.text for helper in helpers))

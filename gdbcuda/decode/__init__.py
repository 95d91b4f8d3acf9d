"""Values of the API as text and as data: (type, bytes) over `Memory`, so that nothing can fault the program.

Whatever the memory holds, decoding does not fail: what cannot be read or makes no sense is shown as such. All
lengths are capped (`text`, `values.DEPTH`, `pointers.STRUCT_LIMIT`); a struct is read at once. To show a type in a
way of its own, add a function to `special`; what C cannot say about a parameter belongs into the API's notes.
"""

from __future__ import annotations

from collections.abc import Sequence

from gdbcuda import api
from gdbcuda.decode import calls, pointers, value_text, values
from gdbcuda.decode.calls import DecodedArgument
from gdbcuda.decode.pointers import Moment
from gdbcuda.decode.value_text import Decoded
from gdbcuda.memory import Memory

__all__ = ["Decoded", "DecodedArgument", "arguments", "call_text", "result", "some_arguments", "value"]


def arguments(
    function: api.Function,
    raws: Sequence[bytes | None],
    memory: Memory,
    table: api.Table,
    *,
    phase: str,
    succeeded: bool = True,
    live: bool = False,
) -> list[DecodedArgument]:
    """Every argument, from its bytes at the entry (`abi.Location.read`); None for one that is not known.

    ``phase`` is "enter" or "return": values behind out-pointers are only shown after a return, and only if the
    call ``succeeded``. Memory is read as it is now; ``live``: it is a process's, not a recording, and so an out-pointer
    to where nothing can be read is said to be one before the call has written to it.
    """
    moment = Moment(memory, phase == "return", succeeded, calls.lengths(function, raws, memory), live)
    return calls.decode(function, raws, table, moment)


def some_arguments(
    function: api.Function, raws: Sequence[bytes | None], memory: Memory, table: api.Table, positions: Sequence[int]
) -> list[DecodedArgument]:
    """Those at ``positions``, after a return that succeeded: what a recorder has not seen at the entry."""
    moment = Moment(memory, True, True, calls.lengths(function, raws, memory))
    steps = calls.steps(function, table)
    return [calls.argument(steps[i], raws[i], moment) for i in positions]


def string_addresses(function: api.Function, decoded: Sequence[DecodedArgument]) -> dict[str, int]:
    """Where the arguments were whose data is their text; of a buffer that is not written yet it is the address."""
    strings = calls.strings(function)
    return {one.name: one.raw for one in decoded if one.name in strings
            and one.raw and isinstance(one.data, str) and one.data != f"{one.raw:#x}"} if strings else {}  # fmt: skip


def result(function: api.Function, code: int, table: api.Table, memory: Memory | None = None) -> Decoded:
    """The result by name, CUDA_ERROR_OUT_OF_MEMORY (2), success without its number; others by their type.

    ``code`` is the result register. With ``memory`` a string or a struct is shown instead of its address.
    """
    kind = function.result
    if kind.kind in ("struct", "pointer"):
        return _result_at(kind, code & ((1 << 64) - 1), table, memory)
    raw = (code & ((1 << 8 * kind.size) - 1)).to_bytes(kind.size, "little")
    if kind.enum is not None and not any(raw):
        name = kind.enum.name_of(0)
        return Decoded(name or "0", name or 0)
    return values.shower(kind, table)(raw) if raw else Decoded("", None)


def _result_at(kind: api.Type, address: int, table: api.Table, memory: Memory | None) -> Decoded:
    is_string = kind.target is not None and kind.target.kind == "char"
    if memory is None or not (is_string or kind.kind == "struct"):
        return value_text.address(address)
    moment = Moment(memory, True, True, calls.given({}))
    if is_string:
        return pointers.string(address, moment)
    return pointers.behind(address, pointers.one(kind, table, values.NO_HINTS), moment)


def call_text(function: api.Function, arguments: Sequence[DecodedArgument]) -> str:
    """cuMemAlloc_v2(dptr=0x7ffe0c58 -> (not written yet), bytesize=1073741825 [1.00 GiB])"""
    return f"{function.symbol}({', '.join(f'{a.name}={a.text}' for a in arguments)})"

"""The API call of a frame: which function, where, who called it, and its arguments as bytes.

Argument registers hold only near the entry. Later they come from the debug info, from what was seen at the entry
of this very call, or they are unknown, and said to be unknown.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Callable, NamedTuple, Optional

import gdb

from gdbcuda import api
from gdbcuda.calls import header_code
from gdbcuda.errors import Unreadable, UserError
from gdbcuda.live import layers, process
from gdbcuda.live.layers import table_version
from gdbcuda.live.layers.code import answering_code, exported_code, indirect
from gdbcuda.machine import abi
from gdbcuda.text import cplusplus


class CodePlace(NamedTuple):
    """A code address as a person reads it; ``source`` is "test_alloc.c:30" or ""."""

    address: int
    function: str
    file: str
    layer: str
    source: str = ""


MOST_OF_HEADERS = 6  # frames: __cudaLaunchKernel_helper, two stubs, the kernel's, who launched it
# who knows a call that was shown at its entry, by a frame of it
REMEMBERED: list[Callable[[gdb.Frame], FrameCall | None]] = []


class FrameCall:
    """One execution of an API function, as much as is known of it; ``raws`` has None where an argument is unknown."""

    def __init__(
        self, function: api.Function, place: CodePlace, caller: CodePlace | None, thread: int,
        raws: list[bytes | None],
    ) -> None:  # fmt: skip
        self.function = function
        self.place = place
        self.caller = caller
        self.thread = thread
        self.raws = raws
        self.result: int | None = None  # once it has returned


def place_of(frame: gdb.Frame, is_caller: bool = False) -> CodePlace:
    pc = frame.pc()
    lookup = pc - 1 if is_caller and pc else pc  # a call can be the last instruction; 0 ends some stacks
    name = frame.name() or process.symbol_of(lookup)[0]
    source = source_of(frame.find_sal())
    return CodePlace(pc, name, process.object_of(lookup), layers.layer_of(lookup, name), source)


def source_of(line: gdb.Symtab_and_line) -> str:
    return f"{line.symtab.filename.rsplit('/', 1)[-1]}:{line.line}" if line.symtab and line.line else ""


Prototypes = Callable[[str], Optional[api.Function]]


def api_function(frame: gdb.Frame, known: Prototypes | None = None) -> api.Function | None:
    """The API function of the frame by its ELF symbol; look-alikes that are not in the table give None. ``known``:
    other functions count as well, where the code does not stand for one of the API's under a name of its own."""
    look_up = table_version.function
    name = cplusplus.without_arguments(frame.name() or "")
    found = look_up(name) or look_up(exported_name(name, frame.pc())) or look_up(indirect.name_of(frame))
    found = found or look_up(answering_code.function_at(frame.pc())) or look_up(exported_code.function_at(frame.pc()))
    return found or (known(name) if known is not None and name else None)


def exported_name(name: str, pc: int) -> str:
    """Of an extern "C" function in a namespace, or a #[no_mangle] one of Rust's, which gdb calls hook::cuMemAlloc_v2:
    what the loader calls it; "" for every other."""
    last = cplusplus.last_identifier(name) if "::" in name else ""
    is_known = bool(last) and table_version.function(last) is not None
    return last if is_known and process.exports(process.object_of(pc), last, pc) else ""


def is_at_entry(frame: gdb.Frame) -> bool:
    """At the first instruction, or where gdb's own breakpoint sits behind the prologue."""
    newer = frame.newer()
    while newer is not None and newer.type() == gdb.INLINE_FRAME:
        newer = newer.newer()
    return newer is None and is_entry(frame.pc())


def call_frame(frame: gdb.Frame) -> gdb.Frame:
    """The frame of the function that is entered here: at a breakpoint on a bare address gdb has frames for what the
    compiler has put at its first instruction, too. (gdb manual: "Inline Functions".)"""
    found: gdb.Frame | None = frame
    if frame.type() != gdb.INLINE_FRAME or not is_at_entry(frame):
        return frame
    while found is not None and found.type() == gdb.INLINE_FRAME:
        found = found.older()
    return found or frame


def is_entry(pc: int) -> bool:
    """The same of the address where a thread is."""
    if answering_code.is_start(pc):
        return True
    start = process.function_start(pc)
    if start is None or not process.may_be_in_prologue(start, pc):
        return False
    return pc == start or pc <= process.behind_prologue(start)


def registers_hold(frame: gdb.Frame) -> bool:
    """Before the prologue always; behind it where only the frame pointer was set up (no debug info to ask)."""
    return is_at_entry(frame) and (frame.pc() == process.function_start(frame.pc()) or not debug_parameters(frame))


def entry_sp(frame: gdb.Frame) -> int | None:
    """The stack pointer at the function's first instruction: x86-64 CFA - 8 (psABI 3.2.2), aarch64 the CFA."""
    older = frame.older()
    if older is None:
        return None
    if process.machine() == "x86-64":
        return int(older.read_register("rsp")) - 8 & (1 << 64) - 1
    return int(older.read_register("sp"))


def read_arguments(frame: gdb.Frame, function: api.Function) -> list[bytes | None]:
    if registers_hold(frame):
        return from_registers(function, entry_sp(frame) if needs_stack(function) else None)
    return from_debug_info(frame, function)


def needs_stack(function: api.Function) -> bool:
    return any(piece.stack is not None for place in abi.locate(function, process.machine()) for piece in place.pieces)


def from_registers(function: api.Function, stack: int | None) -> list[bytes | None]:
    memory = process.InferiorMemory()

    def read(place: abi.ValuePlace) -> bytes | None:
        try:
            return place.read(process.register, stack, memory)
        except Unreadable:
            return None

    return [read(place) for place in abi.locate(function, process.machine())]


def from_debug_info(frame: gdb.Frame, function: api.Function) -> list[bytes | None]:
    """By position, for the names in the hook's source may differ from the header's."""
    symbols = debug_parameters(frame)
    if len(symbols) != len(function.parameters):
        return [None] * len(function.parameters)
    return [value_bytes(symbol, frame) for symbol in symbols]


def debug_parameters(frame: gdb.Frame) -> list[gdb.Symbol]:
    try:
        block = process.block_of_function(frame.block())
    except RuntimeError:  # no debug info here
        return []
    return [s for s in block or () if s.is_argument]


def value_bytes(symbol: gdb.Symbol, frame: gdb.Frame) -> bytes | None:
    try:
        value = symbol.value(frame)
        if value.is_optimized_out:
            return None
        return process.bytes_of(value)
    except (gdb.error, RuntimeError):
        return None


def innermost(most: int) -> Iterator[gdb.Frame]:
    """The selected thread's frames from the newest on, at most so many."""
    frame: gdb.Frame | None = gdb.newest_frame()
    while frame is not None and most > 0:
        yield frame
        frame, most = older_frame(frame), most - 1


def older_frame(frame: gdb.Frame) -> gdb.Frame | None:
    """The caller's: our own code, which a recorded call goes through, has called nobody."""
    found = frame.older()
    while found is not None and process.in_own_code(found.pc()):
        found = found.older()
    return found


def caller_frame(frame: gdb.Frame) -> gdb.Frame | None:
    """Where the function of that frame returns to."""
    return older_frame(call_frame(frame))


def caller_of(frame: gdb.Frame) -> CodePlace | None:
    found = asking_frame(frame)
    return place_of(found, is_caller=True) if found is not None else None


def asking_frame(frame: gdb.Frame) -> gdb.Frame | None:
    """The caller's; not what CUDA's headers put in between, unless nothing is known beyond."""
    first = caller_frame(frame)
    found = header_code.asker(islice(outwards(first), MOST_OF_HEADERS), words_of)
    return found or first


def words_of(frame: gdb.Frame) -> tuple[str, str, str]:
    place = place_of(frame, is_caller=True)
    return place.layer, place.function, place.source


def outwards(frame: gdb.Frame | None) -> Iterator[gdb.Frame]:
    while frame is not None:
        yield frame
        frame = older_frame(frame)


def is_in_headers(place: CodePlace) -> bool:
    return header_code.is_header_code(place.layer, place.function, place.source)


def read_call(frame: gdb.Frame, known: Prototypes | None = None) -> FrameCall:
    """The call of this frame; UserError if the frame is in no API function, or none of ``known``."""
    frame = call_frame(frame)
    function = api_function(frame, known)
    if function is None:
        raise UserError(f"{frame.name() or hex(frame.pc())} is not an API function of the CUDA runtime, driver or NVML")
    known_calls = () if is_at_entry(frame) else (remembered(frame) for remembered in REMEMBERED)
    for shown in known_calls:
        if shown is not None and shown.function is function:
            return shown
    thread = gdb.selected_thread()
    return FrameCall(
        function,
        place_of(frame),
        caller_of(frame),
        thread.num if thread else 0,
        read_arguments(frame, function),
    )

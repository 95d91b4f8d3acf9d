"""Environment variables of the running process, changed by writing memory alone.

No inferior call: it could deadlock on a lock that the stopped thread holds, and some gdbs cannot make one. The new
string (and, for a new variable, a copy of the pointer array) goes into zero bytes behind an object's .bss, in the
tail of its last page, where nothing else lives. (environ(7); gdb manual: "Inferiors In Python".)
"""

from __future__ import annotations

import struct

import gdb

from gdbcuda.api import vendor
from gdbcuda.errors import Unreadable, UserError
from gdbcuda.live import process
from gdbcuda.live.host.expressions import quoted
from gdbcuda.live.host.inferiors import PerInferior
from gdbcuda.memory import PAGE, read_string
from gdbcuda.memory.pages import PagedMemory

POINTER = 8
MOST_VARIABLES = 65536
MOST_STRINGS = 4 << 20  # bytes of all, as the process was started
LONGEST_STRING = 128 << 10  # bytes: MAX_ARG_STRLEN (execve(2))

_used: PerInferior[dict[int, int]] = PerInferior(dict)  # end of a .bss -> bytes of the page's tail that are ours


class NoSpareBytes(UserError):
    """The spare bytes do not suffice."""


def variables() -> list[tuple[int, bytes]]:
    """The pointers of ``environ`` and the strings they point to; UserError where the process has none yet."""
    memory, found = PagedMemory(process.InferiorMemory()), []  # side by side as they are: a page or two
    start = array_address()
    for index in range(MOST_VARIABLES):
        pointer = struct.unpack("<Q", memory.read(start + index * POINTER, POINTER))[0]
        if pointer == 0:
            break
        found.append((pointer, read_string(memory, pointer, LONGEST_STRING)[0]))
    return found


def environ_address() -> int:
    """The variable that ld.so binds everyone's ``environ`` to: the program's copy, else libc's own."""
    for one in process.images():
        found = one.lookup("environ")
        if found is not None:
            return found.address
    raise UserError("libc's environ is not known here: has the program got as far as main, and is it dynamic?")


def array_address() -> int:
    address = struct.unpack("<Q", process.InferiorMemory().read(environ_address(), POINTER))[0]
    if not address:
        raise UserError("the process has no environment yet: has it got as far as main?")
    return int(address)


def get(name: str) -> str | None:
    prefix = name.encode() + b"="
    found = next((text for _, text in variables() if text.startswith(prefix)), None)
    return found[len(prefix) :].decode(errors="replace") if found is not None else None


def initial(name: str) -> str | None:
    """The value that the process was started with, as ld.so saw it; None if there was none, or it is not known.

    The kernel puts the strings of the environment behind those of the arguments, and the program's file name last
    (fs/exec.c; getauxval(3): AT_RANDOM lies below all of them, AT_EXECFN is that name)."""
    vector = process.auxiliary()
    start, end = vector.get("AT_RANDOM", 0), vector.get("AT_EXECFN", 0)
    if not 0 < end - start < MOST_STRINGS:
        return None
    try:
        strings = process.InferiorMemory().read(start, end - start).split(b"\0")
    except Unreadable:
        return None
    prefix = name.encode() + b"="
    found = next((text for text in reversed(strings) if text.startswith(prefix)), None)
    return found[len(prefix) :].decode(errors="replace") if found is not None else None


def put(name: str, value: str) -> None:
    """Sets NAME=VALUE for the process's next getenv; calls its setenv only where the spare bytes do not suffice."""
    try:
        put_by_memory(name, value)
    except NoSpareBytes as problem:
        if not call_setenv(name, value):
            raise UserError(f"{problem}, and setenv cannot be called; set the variable and run again") from None


def call_setenv(name: str, value: str) -> bool:
    """False where it cannot be called. (gdb calls malloc for the strings, and gdb 10 may know only 32 bits of its
    address, see ``target.whole``: the process would be left at a SIGSEGV.)"""
    try:
        if not process.object_of(int(gdb.parse_and_eval("(unsigned long)&malloc"))):
            return False
        gdb.parse_and_eval(f"((int(*)(char*,char*,int))setenv)({quoted(name)}, {quoted(value)}, 1)")
    except gdb.error:
        return False
    return True


def put_by_memory(name: str, value: str) -> None:
    known, prefix = variables(), name.encode() + b"="
    text = prefix + value.encode() + b"\0"
    index = next((i for i, (_, old) in enumerate(known) if old.startswith(prefix)), None)
    if index is not None:
        write(array_address() + index * POINTER, struct.pack("<Q", store(text)))
        return
    pointers = [pointer for pointer, _ in known]
    array = store(bytes(POINTER * (len(known) + 2)), keep=True)
    write(array, struct.pack(f"<{len(known) + 2}Q", *pointers, store(text), 0))
    write(environ_address(), struct.pack("<Q", array))


def write(address: int, data: bytes) -> None:
    try:
        gdb.selected_inferior().write_memory(address, data)
    except gdb.error:
        raise UserError(f"the process's memory at {address:#x} cannot be written") from None


def store(data: bytes, keep: bool = False, align: int = 16) -> int:
    """Address of ``data`` in spare zero bytes of the process; ``keep`` reserves the room without writing it.

    From the end of the page downwards: the loader's first allocations, if any, grow up from the .bss."""
    used = _used()
    for end in bss_ends():
        page_end = end + -end % PAGE
        address = page_end - used.get(end, 0) - len(data) & -align
        if address >= end and is_zero(address, len(data)):
            used[end] = page_end - address
            if not keep:
                write(address, data)
            return address
    raise NoSpareBytes(f"no spare {len(data)} bytes in the process")


def is_zero(address: int, size: int) -> bool:
    try:
        return not any(process.InferiorMemory().read(address, size))
    except Unreadable:
        return False


def bss_ends() -> list[int]:
    """Ends of the .bss of the objects that are never unloaded, ld.so's and the program's last. (The kernel begins the
    heap at a page of its own behind that one: fs/binfmt_elf.c, set_brk.)"""
    images = sorted(process.lasting_images(), key=lambda one: (not one.name, vendor.is_loader(one.name)))
    return [end for one in images for end in one.zero_tails]

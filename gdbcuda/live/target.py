"""The program under debug, wherever it runs: memory, registers, objects and their files.

The one place that knows whether the target is local; nothing else may open a file or a /proc entry of it.
(gdb manual: "Inferiors In Python", "Progspaces In Python", "Remote Debugging".)
"""

from __future__ import annotations

import functools
import os
import platform
import re
from typing import Any, Callable

import gdb

from gdbcuda import image, vendor
from gdbcuda.blocks import Blocks
from gdbcuda.errors import Unreadable, UserError
from gdbcuda.image import Image
from gdbcuda.live.inferiors import PerInferior

REMOTE_PREFIX = "target:"
CACHES: list[Callable[[], None]] = []


def until_objects_change(function: Callable[..., Any]) -> Callable[..., Any]:
    """A cache that holds until a process starts, ends, or loads or unloads an object (live/__init__.py).

    Each inferior has its own answers."""

    @functools.lru_cache(maxsize=4096)
    def cached(inferior: int, *arguments: Any) -> Any:
        return function(*arguments)

    @functools.wraps(function)
    def of_selected(*arguments: Any) -> Any:
        return cached(gdb.selected_inferior().num, *arguments)

    CACHES.append(cached.cache_clear)
    return of_selected


def forget(event: object = None) -> None:
    for clear in CACHES:
        clear()


def on_stop(event: object) -> None:
    """Where gdb has no file of ld.so's it does not tell that objects are loaded."""
    if is_remote() and not shared_objects():
        forget()


class InferiorMemory:
    """``read(address, size) -> bytes`` through gdb alone: it can fail, it can never fault the program."""

    def read(self, address: int, size: int) -> bytes:
        try:
            return bytes(gdb.selected_inferior().read_memory(address, size))
        except (gdb.error, OverflowError, ValueError):
            raise Unreadable(address, size) from None


def is_alive() -> bool:
    """There is a process (or a core file) to look at."""
    return gdb.selected_inferior().pid != 0


def connection() -> str:
    """"" without one, else gdb's name of the target: "native", "remote", "extended-remote", "core"."""
    found = getattr(gdb.selected_inferior(), "connection", None)  # gdb 12
    if found is not None:
        return str(found.type).partition(" ")[0]  # "remote + cuda" in cuda-gdb
    row = re.search(r"^\* .*", gdb.execute("info inferiors", to_string=True), re.MULTILINE)
    named = re.search(r" \d+ \(([a-z-]+)", row.group()) if row else None  # gdb 10: "1 (extended-remote HOST:PORT)"
    return named.group(1) if named else ""


def is_running() -> bool:
    """Some thread runs. A remote target that runs does not even tell its threads, and asking for them is a packet: in
    all-stop mode they run and stop together."""
    thread = gdb.selected_thread()
    if thread is not None and thread.is_valid() and not gdb.parameter("non-stop"):
        return bool(thread.is_running())
    try:
        return any(thread.is_running() for thread in gdb.selected_inferior().threads())
    except gdb.error:
        return True


def pause() -> str:
    """What to do about a thread that runs; in non-stop others may stand still."""
    how = "interrupt -a; or thread N, one that is stopped" if gdb.parameter("non-stop") else "interrupt, or Ctrl-C"
    return f"the program is running: pause it first ({how})"


def is_thread_running() -> bool:
    """The selected thread runs: it has no registers and no frame to look at."""
    thread = gdb.selected_thread() if is_alive() else None
    return thread is not None and thread.is_valid() and thread.is_running()


def require_stopped() -> None:
    """UserError while gdb cannot look: a remote target that runs answers nothing, and before gdb 11 no program that
    runs. For commands, not for events."""
    if is_thread_running() and (is_remote() or not has_readable_stack()):
        raise UserError(pause())


def has_readable_stack() -> bool:
    """Other memory gdb may have from the files."""
    try:
        InferiorMemory().read(auxiliary()["AT_RANDOM"], 1)
    except (Unreadable, KeyError):
        return False
    return True


def is_remote() -> bool:
    return "remote" in connection()


def machine() -> str:
    """ "x86-64" or "aarch64", as gdbcuda.abi names them; UserError for anything else. Without a program: gdb's own,
    for an IDE's commands may come before its program (gdb itself then assumes an i386)."""
    name = architecture().name() if program() or is_alive() else platform.machine().replace("x86_64", "i386:x86-64")
    if name.startswith("i386:x86-64"):
        return "x86-64"
    if name.startswith("aarch64"):
        return "aarch64"
    raise UserError(f"arguments are known on x86-64 and aarch64, this program is {name}")


def architecture() -> gdb.Architecture:
    try:
        return gdb.selected_frame().architecture()
    except gdb.error:
        inferior = gdb.selected_inferior()
        return inferior.architecture()


def program() -> str:
    """File name of the program, "" if there is none."""
    return gdb.current_progspace().filename or ""


@until_objects_change
def object_of(address: int) -> str:
    """File name of the object that holds the address ("" if none): the loader's, wherever gdb has found the file."""
    shared = gdb.solib_name(address)
    if shared:
        return loader_name(strip_prefix(shared))
    if in_program(address):
        return strip_prefix(program())
    if connection() != "core":
        return ""
    return next((one.name for one in images() if one.lacking and one.holds(address)), "")  # gdb has not its file


@until_objects_change
def loader_name(found: str) -> str:
    """Of a file that gdb has found: in the sysroot it has a longer name, by solib-search-path any other."""
    names = shared_objects()
    if found in names:
        return found
    same = [name for name in names if found.endswith(name)] or [name for name in names if is_file_of(found, name)]
    return same[0] if same else found


@until_objects_change
def objfile_of(file: str) -> gdb.Objfile | None:
    """gdb's own of an object, by the loader's name of it or by the program's."""
    known = [one for one in gdb.objfiles() if one.filename and one.owner is None]
    exact = [one for one in known if strip_prefix(one.filename) == file]
    return next(iter(exact or [one for one in known if loader_name(strip_prefix(one.filename)) == file]), None)


def is_file_of(found: str, name: str) -> bool:
    return os.path.basename(found) == os.path.basename(name)


def in_program(address: int) -> bool:
    return any(low <= address < high for low, high in program_ranges())


@until_objects_change
def program_ranges() -> list[tuple[int, int]]:
    """Address ranges of the program's own sections, as ``info files`` lists them (no "in FILE" behind the name)."""
    shown = gdb.execute("info files", to_string=True).partition("Local exec file:")[2]
    rows = re.findall(r"^\s*(0x[0-9a-f]+) - (0x[0-9a-f]+) is \S+$", shown, re.MULTILINE)
    if rows or not is_alive():
        return [(int(low, 16), int(high, 16)) for low, high in rows]
    return [(low, high) for one in images()[:1] for low, high, _ in one.segments]  # a forked child has no exec file


def symbol_text(address: int) -> str:
    """gdb's ``info symbol``: "cuMemAlloc_v2 + 4 in section .text of /lib/libcuda.so.1"."""
    return gdb.execute(f"info symbol {address:#x}", to_string=True).strip()


def symbol_of(address: int) -> tuple[str, int]:
    """ELF symbol at or before the address and the distance from it; ("", 0) where there is none."""
    found = re.match(r"(\S.*?)(?: \+ (\d+))? in section ", symbol_text(address))
    return (found.group(1), int(found.group(2) or 0)) if found else ("", 0)


def strip_prefix(name: str) -> str:
    return name[len(REMOTE_PREFIX) :] if name.startswith(REMOTE_PREFIX) else name


@until_objects_change
def images() -> list[Image]:
    """The loader's own list, in search order, the program first (its name is ""); [] without one."""
    values = auxiliary()
    if "AT_PHDR" not in values or "AT_PHNUM" not in values:
        return []
    found = image.images(Blocks(InferiorMemory()), values["AT_PHDR"], values["AT_PHNUM"])
    if connection() == "core":
        from gdbcuda.live import cores

        cores.mark(found)
    return found


@until_objects_change
def auxiliary() -> dict[str, int]:
    """AT_... entries of the auxiliary vector; {} where the target has none. (getauxval(3))"""
    try:
        shown = gdb.execute("info auxv", to_string=True)
    except gdb.error:
        return {}
    rows = re.findall(r'(AT_\w+).*?\s(0x[0-9a-f]+|\d+)(?: ".*")?$', shown, re.MULTILINE)
    return {name: int(value, 0) for name, value in rows}


def shared_objects() -> list[str]:
    """File names of the loaded shared objects in search order; the program, ld.so and the vdso are among the rest."""
    return [one.name for one in images() if one.name]


@until_objects_change
def exports(file: str, name: str, address: int) -> bool:
    """Is the address in the function that the object exports under that name?"""
    for one in images():
        if (one.name or strip_prefix(program())) == file:
            found = one.lookup(name)
            return found is not None and found.address <= address < found.address + max(found.size, 1)
    return False


def register(name: str) -> int:
    """An integer register of the selected thread's innermost frame, or the low 64 bits of a vector one."""
    value = gdb.parse_and_eval(f"${name}")
    if value.type.code in (gdb.TYPE_CODE_UNION, gdb.TYPE_CODE_STRUCT):
        value = value["v2_int64" if name.startswith("xmm") else "d"]
        value = value["u"] if name.startswith("v") else value[0]
    return int(value) & (1 << 64) - 1


def function_start(address: int) -> int | None:
    """Address of the ELF symbol that the address is in; None where there is no symbol."""
    name, distance = symbol_of(address)
    return address - distance if name else None


# What our detours have replaced: address -> the program's own bytes.
PATCHED: PerInferior[dict[int, bytes]] = PerInferior(dict)


def original_code(address: int, size: int) -> bytes:
    """The program's code as it was before our detours."""
    code = bytearray(InferiorMemory().read(address, size))
    for at, raw in PATCHED().items():
        for index in range(max(at, address), min(at + len(raw), address + size)):
            code[index - address] = raw[index - at]
    return bytes(code)


PROLOGUE = re.compile(rb"(\xf3\x0f\x1e\xfa)?(\x90{0,5}|\x0f\x1f\x44\x00\x00)(\x55(\x48\x89\xe5|\x48\x8b\xec)?)?")


@until_objects_change
def behind_prologue(start: int) -> int:
    """Where gdb puts a breakpoint on the function: behind the first line, or without lines behind push and mov."""
    line = gdb.current_progspace().find_pc_line(start)
    if line.symtab is not None and line.last:
        return int(line.last) + 1
    if machine() != "x86-64":
        return start + 16  # aarch64: behind stp and mov of x29, x30
    found = PROLOGUE.match(original_code(start, 16))
    return start + (found.end() if found else 0)


@until_objects_change
def decoded(function: str) -> tuple[int, ...]:
    """Every address where gdb would break on the function (its linespec), in all objects."""
    try:
        _, found = gdb.decode_line(function)
    except gdb.error:
        return ()
    addresses = tuple(line.pc for line in found or ())
    if len(gdb.progspaces()) == 1:
        return addresses
    return tuple(one for one in addresses if is_named(one, function))


def whole(address: int, function: str) -> int:
    """A location's address: where gdb's BFD is too old for the object's sections (.relr.dyn), gdb 10 shows 32 bits."""
    if object_of(address):
        return address
    return next((one for one in decoded(function) if one & 0xFFFFFFFF == address), address)


def is_named(address: int, function: str) -> bool:
    """Is the function there in the selected program? gdb finds it in all programs."""
    return symbol_of(address)[0] == function or bool(exports(object_of(address), function, address))


WHOLE_NUMBERS = (gdb.TYPE_CODE_INT, gdb.TYPE_CODE_PTR, gdb.TYPE_CODE_ENUM)


def bytes_of(value: gdb.Value) -> bytes:
    """The bytes of a value as they are in the program."""
    if hasattr(value, "bytes"):  # gdb 15
        return bytes(value.bytes)
    if value.type.strip_typedefs().code in WHOLE_NUMBERS:  # gdb has it from its cache of the stack
        return (int(value) & (1 << 8 * value.type.sizeof) - 1).to_bytes(value.type.sizeof, "little")
    if value.address is not None:
        return InferiorMemory().read(int(value.address), value.type.sizeof)
    return (int(value) & (1 << 8 * value.type.sizeof) - 1).to_bytes(value.type.sizeof, "little")


def search_order() -> list[str]:
    """The loaded objects in the order in which ld.so searches them (the program, ld.so and the vdso aside)."""
    return [name for name in shared_objects() if not vendor.is_loader(name) and not vendor.is_vdso(name)]

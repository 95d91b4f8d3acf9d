"""Runs in gdb: where the program under debug stands, as gdb and the kernel tell it. (driver.py plays the session.)"""

import re

import gdb

MOST_PLACES = 1000


def alive():
    return gdb.selected_inferior().pid != 0


def numbers():
    return {one.number for one in gdb.breakpoints()}


def moment():
    """The same for all that one call hits."""
    try:
        registers = [int(gdb.parse_and_eval(f"${name}")) for name in ("pc", "sp", "rax", "rcx", "rdx", "rsi", "rdi")]
    except gdb.error:
        return None
    return gdb.selected_thread().num, registers


def without_breakpoints(address, size):
    """Memory as gdb shows it, its breakpoints hidden."""
    return bytes(gdb.selected_inferior().read_memory(address, size))


def really_there(address, size):
    """Memory with them. Not of a process on another machine."""
    with open(f"/proc/{gdb.selected_inferior().pid}/mem", "rb", buffering=0) as memory:
        memory.seek(address)
        return memory.read(size)


def standing(with_newest=True):
    """Where threads are, and where what they have called returns to."""
    selected, found = gdb.selected_thread(), []
    for thread in gdb.selected_inferior().threads():
        thread.switch()
        frame = gdb.newest_frame() if with_newest else gdb.newest_frame().older()
        while frame is not None and len(found) < MOST_PLACES:
            found.append(frame.pc())
            frame = frame.older()
    selected.switch()
    return found


def in_table():
    """Where a breakpoint of ours waits for a prompt, which none comes of here."""
    table = gdb.execute("maintenance info breakpoints", to_string=True)
    return [int(at, 16) for at in re.findall(r"\b0x[0-9a-f]{8,}\b", table)]


def is_in_resolver():
    """Of an indirect function that has a breakpoint: where that is deleted now gdb alone, 10 to 16, aborts as soon as
    the resolver returns. (gdb's elfread.c: elf_gnu_ifunc_resolver_return_stop, its assertion.)"""
    return "IFUNC resolver return" in gdb.execute("maintenance info breakpoints", to_string=True)


def is_at_first_instruction():
    """Of the program, behind an exec: gdb takes the number of its arguments for the address that it returns to, and
    says "Cannot access memory at address 0x6". (gdb 13.1 alone: starti, finish.)"""
    return function_here() == "_start"


def comes_to_main(steps):
    """All that the program does is in there. Where that has no lines gdb would single-step to its end."""
    try:
        frame = gdb.newest_frame()
        for _ in range(steps):
            if frame is None or (frame.name() == "main" and not frame.find_sal().line):
                return True
            frame = frame.older()
    except gdb.error:  # somebody has killed the process
        pass
    return False


def function_here():
    try:
        return gdb.selected_frame().name()
    except gdb.error:
        return None

"""``cuda-save``."""

from __future__ import annotations

from collections.abc import Iterator

import gdb

from gdbcuda.command_line.argument_types import FILE
from gdbcuda.command_line.options import Options, word
from gdbcuda.errors import UserError
from gdbcuda.files import user_files
from gdbcuda.live import breakpoints
from gdbcuda.live.breaking import saving
from gdbcuda.live.breakpoints import locations, ours
from gdbcuda.live.prompt.command import command
from gdbcuda.text.printable import visible


class SaveOptions(Options):
    file: str = word(FILE, "the file to write; source FILE reads it")


@command("cuda-save", SaveOptions, purpose="stop")
def cuda_save(wanted: SaveOptions) -> str:
    """Write the breakpoints of cuda-break and cuda-dlsym break to a file.

    Their commands, ignore counts and whether they are disabled are written too. Conditions are written as you
    typed them: the file can be read and edited. 'source FILE' reads it back, also before the program runs.

    gdb's own 'save breakpoints' works too once the functions are found. Where a breakpoint is pending, gdb
    cannot keep what was asked.

    Examples:
      cuda-break cuMemAlloc if bytesize > 1G
      cuda-save breaks.gdb
      source breaks.gdb"""
    found = breakpoints.of_ours()
    if not found:
        raise UserError("there are no breakpoints of cuda-break to write")
    user_files.save(wanted.file, "".join(f"{line}\n" for one in found for line in lines_of(*one)))
    count = f"{len(found)} breakpoints" if len(found) > 1 else "1 breakpoint"
    return visible(f"{count} written to {wanted.file}; back with  source {wanted.file}")


def lines_of(one: gdb.Breakpoint, wish: ours.BreakWish) -> Iterator[str]:
    yield wish.words
    changed = saving.changed_condition(one, wish) if locations.of(one) else ""
    if changed:
        yield f"condition $bpnum {changed if changed != '1' else ''}".rstrip()
    if one.ignore_count:
        yield f"ignore $bpnum {one.ignore_count}"
    if one.commands:
        yield from ("commands", *one.commands.splitlines(), "end")
    if not one.enabled:
        yield "disable $bpnum"

"""Text, types and values of gdb expressions, in whatever language the program is written."""

from __future__ import annotations

import gdb

from gdbcuda.live.host import gdb_cli


def quoted(text: str) -> str:
    """A Python string as a gdb string literal."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def text_of(value: gdb.Value) -> str:
    """What stands in quotation marks; Rust's is a pointer and a length."""
    if value.type.code == gdb.TYPE_CODE_STRUCT:
        return value["data_ptr"].string(length=int(value["length"]))
    return value.string()


def address_of(value: gdb.Value) -> int:
    """A number as 64 bits of an address: -1 is the last one."""
    return int(value) & (1 << 64) - 1


def c_type(name: str) -> gdb.Type:
    """Of C, where the program's own language has no type of that name."""
    try:
        return gdb.lookup_type(name)
    except gdb.error:
        return gdb_cli.evaluated(f"({name} *)0").type.target()

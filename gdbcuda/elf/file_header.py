"""The ELF file header, and a clear word about files that are something else."""

from __future__ import annotations

from typing import NamedTuple

from gdbcuda.elf.records import Record, Records, text
from gdbcuda.errors import UserError
from gdbcuda.files.reading import Source

_MACHINES = {"EM_X86_64": "x86-64", "EM_AARCH64": "aarch64", "EM_386": "i386"}
_KINDS = {"ET_REL": "relocatable", "ET_EXEC": "executable", "ET_DYN": "shared", "ET_CORE": "core"}


class Header(NamedTuple):
    """``type`` is what e_type says alone; ``Elf.kind`` tells programs of type ET_DYN from libraries."""

    machine: str  # "x86-64", "aarch64", else by its ELF name
    bits: int
    little_endian: bool
    type: str  # "relocatable", "executable", "shared", "core", "unknown"
    entry: int
    flags: int
    segments_at: int
    segment_count: int
    sections_at: int
    section_count: int  # 0 may mean: ask section 0
    section_names: int  # index of the section that holds the names


def read_header(source: Source) -> tuple[Header, Records]:
    """UserError for what is no ELF file, or an ELF file cut off in its header."""
    begin = source.read(0, min(source.size, 64), "the beginning")
    if not begin.startswith(b"\x7fELF"):
        raise UserError(f"{source.name}: {_not_elf(begin)}")
    if len(begin) < 16:
        raise UserError(f"{source.name}: truncated: {source.size} bytes, not even an ELF identification")
    if begin[4] not in (1, 2) or begin[5] not in (1, 2):
        raise UserError(f"{source.name}: corrupt: no ELF class {begin[4]} or byte order {begin[5]}")
    records = Records(source, bits=32 * begin[4], little_endian=begin[5] == 1)
    raw = records.at("Elf_Ehdr", 0, "the ELF header")
    records.know_machine(raw)
    _require_entry_sizes(source, raw, records)
    return _header(raw, records), records


def _header(raw: Record, records: Records) -> Header:
    machine = str(raw.e_machine)
    return Header(
        machine=_MACHINES.get(machine, machine.replace("EM_", "").lower()),
        bits=records.bits,
        little_endian=records.endian == "<",
        type=_KINDS.get(str(raw.e_type), "unknown"),
        entry=raw.e_entry,
        flags=raw.e_flags,
        segments_at=raw.e_phoff,
        segment_count=raw.e_phnum,
        sections_at=raw.e_shoff,
        section_count=raw.e_shnum,
        section_names=raw.e_shstrndx,
    )


def _require_entry_sizes(source: Source, raw: Record, records: Records) -> None:
    for count, size, layout in (
        (raw.e_phnum, raw.e_phentsize, "Elf_Phdr"),
        (raw.e_shnum, raw.e_shentsize, "Elf_Shdr"),
    ):
        if count and size != records.size(layout):
            right = records.size(layout)
            raise UserError(f"{source.name}: corrupt: an {layout} of {size} bytes, not {right}")


_OTHERS = (
    (b"!<arch>\n", "is a static archive (.a); link its objects into a shared object with `gcc -shared`"),
    (b"!<thin>\n", "is a thin archive (.a); link its objects into a shared object with `gcc -shared`"),
    (b"/* GNU ld script", "is a linker script (text); name the library that it points to"),
    (b"INPUT", "is a linker script (text); name the library that it points to"),
    (b"GROUP", "is a linker script (text); name the library that it points to"),
    (b"BC\xc0\xde", "is LLVM bitcode; link it into a shared object first"),
    (b"#!", "is a script; name the program that it starts (for Python: the interpreter)"),
    (b"MZ", "is a Windows file"),
)


def _not_elf(begin: bytes) -> str:
    for magic, words in _OTHERS:
        if begin.startswith(magic):
            return words
    if b"\x7fELF".startswith(begin):
        return f"truncated: {len(begin)} bytes"
    return f"is not an ELF file (begins with '{text(begin[:8])}')"

"""Whatever a file holds: an answer or one UserError, in bounded time and memory."""

from __future__ import annotations

import contextlib
import os
import struct
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import pytest
from elf_build import compiled
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gdbcuda import elf
from gdbcuda.elf import build_ids
from gdbcuda.elf.dwarf.function_names import TooMuch, defined_functions
from gdbcuda.errors import UserError
from gdbcuda.files.reading import Source

SOURCE = """
#include <stdio.h>
static __thread int each;
__attribute__((constructor)) static void begin(void) { each = 1; }
__attribute__((visibility("hidden"))) int hidden(int a) { return a + each; }
int shown(int a) { printf("%d", a); return a > 3 ? -1 : hidden(a); }
"""


def read_everything(data: bytes) -> elf.Elf:
    """Each part that the checks use."""
    file = elf.open(data)
    assert file.kind and file.machine is not None and file.interpreter is not None
    list(file.dynamic_symbols)
    list(file.symtab)
    assert len(file.exported) + len(file.undefined) + len(file.hidden_functions) >= 0
    _ = file.build_id, file.debuglink, file.versions, file.needed
    for symbol in file.exported.values():
        file.code.called(symbol.value, symbol.size, {})
        file.code.returns_minus_one(symbol.value, symbol.size)
    list(file.dwarf.units())
    with contextlib.suppress(TooMuch):
        list(defined_functions(file.dwarf))
    return file


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    return compiled(tmp_path_factory.mktemp("plain"), SOURCE, "-g", "-O0").read_bytes()


@pytest.fixture(scope="module")
def packed(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    flags = ("-g", "-gz=zlib", "-O0", "-Wl,--hash-style=sysv")
    return compiled(tmp_path_factory.mktemp("packed"), SOURCE, *flags).read_bytes()


def refused(data: bytes) -> str:
    with pytest.raises(UserError) as caught:
        read_everything(data)
    message = str(caught.value)
    assert "\n" not in message
    return message


def test_cut_off_anywhere(library: bytes) -> None:
    for size in [*range(1, 200), *range(200, len(library) - 1, 97)]:
        assert refused(library[:size])


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"hello, world", "not an ELF file"),
        (b"INPUT(libhook.so.1)\n", "linker script"),
        (b"#!/bin/sh\n", "a script"),
        (b"!<arch>\nfoo", "static archive"),
        (b"/* GNU ld script\n*/ INPUT(x)", "linker script"),
        (b"\x7fEL", "truncated"),
        (b"\x7fELF\x02\x01", "truncated"),
        (b"\x7fELF\x07\x01" + bytes(60), "no ELF class"),
        (b"\x00" * 64, "not an ELF file"),
        (b"\xff\xfe\n\x1b[31m" + bytes(60), "not an ELF file"),
    ],
)
def test_other_files(data: bytes, words: str) -> None:
    message = refused(data)
    assert words in message
    assert message.isprintable()


def patched(data: bytes, at: int, layout: str, value: int) -> bytes:
    changed = bytearray(data)
    struct.pack_into(layout, changed, at, value)
    return bytes(changed)


@pytest.mark.parametrize(
    ("at", "layout", "value"),
    [
        (0x20, "<Q", 1 << 60),  # e_phoff
        (0x28, "<Q", (1 << 64) - 1),  # e_shoff
        (0x36, "<H", 1),  # e_phentsize
        (0x38, "<H", 0xFFFE),  # e_phnum
        (0x3A, "<H", 12),  # e_shentsize
        (0x3C, "<H", 0xFFFF),  # e_shnum
        (0x3E, "<H", 0xFFF0),  # e_shstrndx
    ],
)
def test_a_header_that_lies(library: bytes, at: int, layout: str, value: int) -> None:
    assert refused(patched(library, at, layout, value))


def section_header(file: elf.Elf, name: str) -> int:
    section = file.section(name)
    assert section
    return file.header.sections_at + 64 * section.number


@pytest.mark.parametrize("name", [".dynsym", ".dynstr", ".symtab", ".strtab", ".shstrtab", ".debug_info"])
def test_a_section_size_that_lies(library: bytes, name: str) -> None:
    at = section_header(elf.open(library), name) + 0x20
    for size in (1, 1 << 50):
        if name == ".dynstr":  # the loader has its own size of it
            read_everything(patched(library, at, "<Q", size))
        else:
            assert refused(patched(library, at, "<Q", size))


def test_symbol_names_outside_the_strings(library: bytes) -> None:
    symtab = elf.open(library).section(".symtab")
    assert symtab
    assert ".symtab" in refused(patched(library, symtab.offset + 24 * 5, "<I", 1 << 30))


def test_version_chain_in_a_circle(tmp_path: Path) -> None:
    data = compiled(tmp_path, SOURCE).read_bytes()
    needs = elf.open(data).section(".gnu.version_r")
    assert needs
    circle = patched(data, needs.offset + 12, "<I", 0xFFFFFFFF)  # vn_next of the first
    assert refused(circle)
    counts = patched(data, section_header(elf.open(data), ".gnu.version_r") + 0x2C, "<I", 0xFFFFFFFF)
    read_everything(counts)


def test_a_bomb_is_not_unpacked(packed: bytes) -> None:
    file = elf.open(packed)
    info = file.section(".debug_info")
    assert info
    claims = patched(packed, info.offset + 8, "<Q", 1 << 62)  # ch_size
    tracemalloc.start()
    read_everything(claims)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 20 << 20
    assert "unpacked" in refused(patched(packed, info.offset + 24, "<Q", 0))


def test_a_sparse_giant_claims_a_giant_table() -> None:
    data = bytearray(64)
    data[:16] = b"\x7fELF\x02\x01\x01" + bytes(9)
    struct.pack_into("<HHI", data, 16, 3, 62, 1)
    struct.pack_into("<QHHHHHH", data, 0x28, 64, 0, 64, 56, 0, 64, 0)
    header = struct.pack("<IIQQQQIIQQ", 0, 1, 0, 0, 0, 1 << 40, 0, 0, 0, 0)
    whole = bytes(data[:0x34]) + struct.pack("<HHHHHH", 64, 56, 0, 64, 0, 0) + header

    def read_at(offset: int, size: int) -> bytes:
        assert size < 1 << 28
        return whole[offset : offset + size].ljust(size, b"\0")

    with pytest.raises(UserError, match="claims"):
        elf.Elf(Source("giant", 1 << 50, read_at))


def test_no_regular_files(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "empty").write_bytes(b"")
    (tmp_path / "dangling").symlink_to("nowhere")
    cases = {
        "fifo": "a FIFO",
        "empty": "empty",
        "missing": "no such file",
        "dangling": "a link to nowhere: no such file or directory",
        ".": "a directory",
        "a\0b": "null",
    }
    for name, words in cases.items():
        with pytest.raises(UserError, match=words):
            elf.open(f"{tmp_path}/{name}")
    with pytest.raises(UserError, match="a device"):
        elf.open("/dev/zero")


@pytest.fixture
def secret(tmp_path: Path, library: bytes) -> Path:
    path = tmp_path / "secret.so"
    path.write_bytes(library)
    path.chmod(0)
    return path


@pytest.fixture
def nobody() -> Iterator[None]:
    """Root reads everything: become somebody else for a while."""
    user = os.geteuid()
    if user == 0:
        os.seteuid(65534)
    yield
    os.seteuid(user)


def test_unreadable(secret: Path, nobody: None) -> None:
    with pytest.raises(UserError, match="permission denied"):
        elf.open(secret)


def test_a_file_that_shrinks_while_it_is_read(tmp_path: Path, library: bytes) -> None:
    path = tmp_path / "libx.so"
    path.write_bytes(library)
    file = elf.open(path)
    with open(path, "r+b") as again:
        again.truncate(100)
    with pytest.raises(UserError, match="shorter"):
        list(file.symtab)


def test_a_file_is_read_again_when_it_has_changed(tmp_path: Path, library: bytes) -> None:
    path = tmp_path / "libx.so"
    path.write_bytes(library)
    file = elf.open(path)
    assert elf.open(path) is file and elf.open(str(path)) is file
    state = path.stat()
    path.write_bytes(library[:4] + b"\x03" + library[5:])  # as long, and as old as it says
    os.utime(path, ns=(state.st_atime_ns, state.st_mtime_ns))
    with pytest.raises(UserError, match="no ELF class 3"):
        elf.open(path)
    path.unlink()
    with pytest.raises(UserError, match="no such file"):
        elf.open(path)


def test_a_core_file_is_said_to_be_one(tmp_path: Path) -> None:
    header = bytearray(64)
    header[:16] = b"\x7fELF\x02\x01\x01" + bytes(9)
    struct.pack_into("<HHI", header, 16, 4, 62, 1)
    struct.pack_into("<H", header, 0x34, 64)
    assert elf.open(bytes(header)).kind == "core"


_REGIONS = (
    ".dynsym", ".dynstr", ".dynamic", ".gnu.version", ".gnu.version_r", ".gnu.hash", ".hash", ".symtab",
    ".note.gnu.build-id", ".rela.dyn", ".rela.plt", ".debug_info", ".debug_abbrev", ".debug_str",
)  # fmt: skip


@st.composite
def damage(draw: st.DrawFn) -> list[tuple[str, float, bytes]]:
    """(region, place in it, new bytes), a few of them."""
    regions = st.sampled_from(("header", "segments", "sections", "file", *_REGIONS))
    interesting = st.sampled_from([b"\xff" * 8, bytes(8), b"\xff\xff\xff\x7f", b"\x01", b"\x80" * 12])
    place = st.floats(0, 1, exclude_max=True)
    return draw(
        st.lists(st.tuples(regions, place, interesting | st.binary(min_size=1, max_size=8)), min_size=1, max_size=5)
    )


def damaged(data: bytes, changes: list[tuple[str, float, bytes]]) -> bytes:
    file, result = elf.open(data), bytearray(data)
    spans = {section.name: (section.offset, section.size) for section in file.sections if section.in_file}
    spans["header"] = (0, 64)
    spans["segments"] = (file.header.segments_at, 56 * len(file.segments))
    spans["sections"] = (file.header.sections_at, 64 * len(file.sections))
    spans["file"] = (0, len(data))
    for region, place, content in changes:
        start, size = spans.get(region, spans["file"])
        at = start + int(size * place)
        result[at : at + len(content)] = content
    return bytes(result[: len(data)])


FUZZ = settings(
    max_examples=int(os.environ.get("GDBCUDA_FUZZ_EXAMPLES", "250")), deadline=3000,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)  # fmt: skip


@FUZZ
@given(changes=damage())
def test_fuzz(library: bytes, changes: list[tuple[str, float, bytes]]) -> None:
    try:
        read_everything(damaged(library, changes))
    except UserError as error:
        assert "\n" not in str(error)


@FUZZ
@given(changes=damage())
def test_fuzz_packed(packed: bytes, changes: list[tuple[str, float, bytes]]) -> None:
    try:
        read_everything(damaged(packed, changes))
    except UserError as error:
        assert "\n" not in str(error)


@pytest.mark.parametrize(("owner", "content"), [(b"GNUX", b""), (b"GNU\0", b"\2\0\0\xc0\4\0\0\0"), (b"", b"x")])
def test_a_note_that_is_odd_hides_no_build_id(owner: bytes, content: bytes) -> None:
    """An owner without an end, a property without its value, no owner."""

    def note(owner: bytes, kind: int, data: bytes) -> bytes:
        return struct.pack("<III", len(owner), len(data), kind) + owner + data + bytes(-len(data) % 4)

    data = note(owner, 5, content) + note(b"GNU\0", 3, b"\xab" * 20)
    assert build_ids.build_id(build_ids.split_notes(data, "<")) == "ab" * 20
    assert build_ids.build_id(build_ids.split_notes(data[:-30], "<")) is None

"""Machine code read and written, against objdump."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from typing import Callable

import pytest

from gdbcuda.elf.code import x86_read
from gdbcuda.errors import UserError
from gdbcuda.machine.x86.x86_write import R10, RAX, RSI, RSP, At, Code, CodeConstant, jump

LINE = re.compile(r"\s+[0-9a-f]+:\t((?:[0-9a-f]{2} )+)\s*\t?(.*)")
BRANCH = re.compile(r"(?:(?:bnd|notrack|\w+) )*(?:j\w+|call|loop\w*)\s+[0-9a-f]+ ")
def disassembled(*arguments: str) -> str:
    """binutils before 2.36 write callq, jmpq and retq, and so pushq and popq of registers."""
    text = subprocess.run(["objdump", *arguments], capture_output=True, text=True, check=True).stdout
    return re.sub(r"\t(call|jmp|ret|leave|push|pop)q(?=\s)", r"\t\1", text)


needs_objdump = pytest.mark.skipif(shutil.which("objdump") is None, reason="objdump is not installed")


@needs_objdump
@pytest.mark.parametrize("name", ["libgdbcuda-hook.so", "standin/libcuda.so.1"])
def test_every_instruction_of_a_library(shim: Path, name: str) -> None:
    """Lengths, and whether an operand counts from the instruction's end."""
    text = disassembled("-dwz", str(shim / name))
    rows = [match.groups() for match in map(LINE.match, text.splitlines()) if match]
    assert len(rows) > 20000
    wrong = []
    for raw, shown in rows:
        found = x86_read.decode(bytes.fromhex(raw) + bytes(16))
        is_relative = "(%rip)" in shown or BRANCH.match(shown) is not None
        if len(found.raw) != len(bytes.fromhex(raw)) or (found.relative is not None) != is_relative:
            wrong.append((raw, shown, found))
    assert not wrong, wrong[:5]


@pytest.mark.parametrize(
    ("raw", "kind", "distance"),
    [("e801000000", "call", 1), ("ebfe", "jump", -2), ("0f8400010000", "branch", 256), ("7405", "branch", 5),
     ("c3", "return", None), ("ff25ffffffff", "jump", -1), ("ffd0", "call", None), ("cc", "stop", None),
     ("488b0510000000", "", 16), ("c70510000000ffffffff", "", 16), ("f30f1efa", "", None),
     ("67a144332211", "", None), ("e405", "", None), ("e705", "", None), ("e305", "branch", 5),
     ("a18877665544332211", "", None)],
)  # fmt: skip
def test_kinds(raw: str, kind: str, distance: int | None) -> None:
    found = x86_read.decode(bytes.fromhex(raw))
    assert (found.kind, found.distance, found.raw.hex()) == (kind, distance, raw)


@pytest.mark.parametrize("raw", ["06", "c7f800000000", "0f0a", "48", "e80000", "8fe8", "66" * 16 + "90"])
def test_unknown(raw: str) -> None:
    with pytest.raises(x86_read.UnknownInstruction):
        x86_read.decode(bytes.fromhex(raw))


@needs_objdump
def test_what_is_remembered_by_its_first_bytes_reads_as_without(shim: Path) -> None:
    """At each offset, also within instructions; and where the bytes end too soon."""
    alike = bytes.fromhex("660f1f440000 660f1f840000000000 488b042544332211 488b0424")
    raw = alike + (shim / "libgdbcuda.so").read_bytes()[0x1000:0x2000]
    for code in [raw[at : at + size] for at in range(len(raw) - 16) for size in (16, at % 9)]:
        assert told(x86_read.decode, code) == told(lambda raw: x86_read.Reader(raw, 0).instruction(), code), code.hex()


def told(read: Callable[[bytes], x86_read.Instruction], code: bytes) -> x86_read.Instruction | None:
    try:
        return read(code)
    except (x86_read.UnknownInstruction, IndexError):
        return None


def test_written_code_reads_as_meant(tmp_path: Path) -> None:
    code = Code()
    code.instruction(b"\x3b", RSI, CodeConstant(1 << 40))
    code.jump("a", "hit")
    code.instruction(b"\x8b", R10, At(RSP, 16))
    code.instruction(b"\x80", 7, At(R10, 3), wide=False, immediate=b"A")
    code.push(R10)
    code.jump("", 0x2000)
    code.label("hit")
    code.instruction(b"\x0f\x6e", 9, RAX, prefix=b"\x66")
    raw = code.assemble(0x1000)
    (tmp_path / "code").write_bytes(raw)
    shown = disassembled("-D", "-bbinary", "-mi386:x86-64", "--adjust-vma=0x1000", str(tmp_path / "code"))
    lines = [re.sub(r"\s+", " ", row.split("\t")[2]).strip() for row in shown.splitlines() if row.count("\t") == 2]
    place = 0x1000 + len(raw) - 8
    assert lines[:7] == [
        next(text for text in lines if text.startswith("cmp") and f"# 0x{place:x}" in text),
        "ja 0x1024", "mov 0x10(%rsp),%r10", "cmpb $0x41,0x3(%r10)", "push %r10", "jmp 0x2000", "movq %rax,%xmm9",
    ]  # fmt: skip


def test_jumps_to_what_follows_are_left_out() -> None:
    code = Code()
    code.jump("a", "yes")
    code.jump("", "no")
    code.label("yes")
    code.emit(b"\x90")
    code.label("no")
    assert code.assemble(0) == b"\x0f\x86\x01\0\0\0\x90"


def test_out_of_reach() -> None:
    with pytest.raises(UserError, match="2 GB"):
        jump(0, 1 << 32)

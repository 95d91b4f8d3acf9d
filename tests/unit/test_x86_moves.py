"""What a register is behind an instruction."""

from __future__ import annotations

import pytest

from gdbcuda.machine.x86 import x86_moves
from gdbcuda.machine.x86.x86_write import RAX, RDI

REGISTERS = [0x1111_0000_0000 + number for number in range(16)]


@pytest.mark.parametrize(
    ("instruction", "wanted", "value"),
    [
        ("4889df", RDI, REGISTERS[3]),  # mov %rbx,%rdi, as in Go's Syscall6
        ("89df", RDI, 3),
        ("488bfb", RDI, REGISTERS[3]),
        ("4d89ca", RAX, REGISTERS[0]),  # of another register
        ("4c89cf", RDI, REGISTERS[9]),
        ("b838000000", RAX, 56),
        ("31c0", RAX, 0),
        ("31d8", RAX, None),  # with another one
        ("488b442408", RAX, REGISTERS[4] + 8 + 1),  # mov 8(%rsp),%rax, as in older ones
        ("8b45f8", RAX, REGISTERS[5] - 8 + 1 & 0xFFFFFFFF),
        ("498b4724", RAX, REGISTERS[15] + 0x24 + 1),
        ("488b07", RAX, REGISTERS[7] + 1),
        ("488b0500000000", RAX, None),  # from beside the code
        ("488b44c408", RAX, None),  # with an index
        ("4a8b442408", RAX, None),
        ("5f", RDI, REGISTERS[4] + 1),
        ("4159", RAX, REGISTERS[0]),
        ("480527000000", RDI, REGISTERS[7]),
        ("4883c701", RDI, None),  # add
        ("488d7b08", RDI, None),  # lea
        ("0f45f9", RDI, None),  # cmovne %ecx,%edi
        ("0fb638", RDI, None),  # movzbl (%rax),%edi
        ("0fbec0", RAX, None),
        ("97", RDI, None),  # xchg %eax,%edi
        ("4190", RAX, None),  # with r8
        ("40b701", RDI, None),  # mov $1,%dil
        ("b001", RAX, None),
        ("0f94c0", RAX, None),  # sete
        ("4898", RAX, None),  # cltq
        ("480527000000", RAX, None),  # add
        ("48f7e1", RAX, None),  # mul
        ("f7d8", RAX, None),
        ("f00fb10f", RAX, None),  # cmpxchg
        ("f348ab", RDI, None),  # rep stos
        ("e800000000", RAX, None),
        ("0f05", RAX, None),
        ("0fa2", RAX, None),
        ("4080e67f", RAX, REGISTERS[0]),  # and $0x7f,%sil
        ("80cc01", RAX, None),  # or $1,%ah
        ("4180e77f", RDI, REGISTERS[7]),  # of r15
        ("f7d6", RAX, REGISTERS[0]),  # not
        ("490f46f0", RAX, REGISTERS[0]),  # cmovbe
        ("440fb6f8", RDI, REGISTERS[7]),  # movzbl %al,%r15d
        ("480fba342420", RAX, REGISTERS[0]),  # btr in memory
        ("480fbae820", RAX, None),
        ("400f95c6", RAX, REGISTERS[0]),  # setne %sil
        ("4839c7", RDI, REGISTERS[7]),
        ("4883ff01", RDI, REGISTERS[7]),  # cmp with a number
        ("85c0", RAX, REGISTERS[0]),
        ("57", RDI, REGISTERS[7]),
        ("90", RAX, REGISTERS[0]),
        ("660f1f440000", RAX, REGISTERS[0]),
        ("0f1007", RDI, REGISTERS[7]),  # movups
        ("c5fa6f07", RDI, REGISTERS[7]),
        ("c5f9d7f8", RDI, None),  # vpmovmskb
        ("c60701", RDI, REGISTERS[7]),
        ("488907", RDI, REGISTERS[7]),
        ("eb10", RAX, REGISTERS[0]),
        ("7510", RAX, REGISTERS[0]),
    ],
)
def test_what_a_register_is_behind_an_instruction(instruction: str, wanted: int, value: int | None) -> None:
    found = x86_moves.behind(bytes.fromhex(instruction), wanted, REGISTERS.__getitem__, lambda address: address + 1)
    assert found == value

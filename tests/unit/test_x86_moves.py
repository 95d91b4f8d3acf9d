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
    ],
)
def test_what_a_register_is_behind_an_instruction(instruction: str, wanted: int, value: int | None) -> None:
    found = x86_moves.behind(bytes.fromhex(instruction), wanted, REGISTERS.__getitem__, lambda address: address + 1)
    assert found == value

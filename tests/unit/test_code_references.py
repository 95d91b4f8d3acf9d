"""What code refers to other code by its distance."""

from __future__ import annotations

from gdbcuda.machine.x86.code_references import code_references, data_references

CALL, JUMP, LEA, NOTHING = b"\xe8", b"\xe9", b"\x48\x8d\x05", b"\x48\x8b\x05"


def code(opcode: bytes, start: int, target: int) -> bytes:
    return b"\x90" * 7 + opcode + (target - start - 7 - len(opcode) - 4).to_bytes(4, "little", signed=True)


def test_calls_jumps_and_addresses_are_seen_and_loads_are_not() -> None:
    for opcode, there in ((CALL, 7), (JUMP, 7), (LEA, 8)):
        for target in (0x401000, 0x3FF000):
            assert list(code_references(code(opcode, 0x400000, target), 0x400000, {target})) == [
                (0x400000 + there, target)]  # fmt: skip
    assert not list(code_references(code(NOTHING, 0x400000, 0x401000), 0x400000, {0x401000}))


def test_only_targets_count_and_a_cut_off_end_is_no_trouble() -> None:
    assert not list(code_references(code(CALL, 0x400000, 0x401000), 0x400000, {0x401001}))
    assert not list(code_references(code(CALL, 0x400000, 0x401000)[:-1], 0x400000, {0x401000}))


def test_an_opcode_inside_of_a_distance_hides_none() -> None:
    first = CALL + (0xE8E8).to_bytes(4, "little")
    second = code(CALL, 0x400005, 0x401000)
    assert list(code_references(first + second, 0x400000, {0x401000})) == [(0x40000C, 0x401000)]


def test_what_is_read_from_memory_is_seen() -> None:
    for opcode in (b"\x8b\x15", NOTHING, b"\xff\x15", b"\xff\x25"):
        found = list(data_references(code(opcode, 0x400000, 0x401000), 0x400000, {0x401000}))
        assert [target for _, target in found] == [0x401000]
    assert not list(data_references(code(LEA, 0x400000, 0x401000), 0x400000, {0x401000}))

import pytest

from gdbcuda.errors import Unreadable
from gdbcuda.memory import DictMemory, read_string


def test_segments_that_touch_read_as_one() -> None:
    memory = DictMemory({0x1003: b"def", 0x1000: b"abc"})
    assert memory.read(0x1001, 4) == b"bcde"
    assert memory.read(0x9999, 0) == b""


@pytest.mark.parametrize("address, size", [(0xFFF, 2), (0x1002, 5), (0x2000, 1), (0, 1)])
def test_outside_is_unreadable(address: int, size: int) -> None:
    with pytest.raises(Unreadable):
        DictMemory({0x1000: b"abcdef"}).read(address, size)


def test_string_that_ends_right_before_an_unmapped_page() -> None:
    memory = DictMemory({0x1FF0: b"A" * 15 + b"\0"})
    assert read_string(memory, 0x1FF0, 200) == (b"A" * 15, True)


def test_string_across_a_page_border() -> None:
    memory = DictMemory({0x1FF0: b"A" * 20 + b"\0" + b"B" * 300})
    assert read_string(memory, 0x1FF0, 200) == (b"A" * 20, True)


def test_string_cut_short() -> None:
    memory = DictMemory({0x1FF0: b"A" * 16})
    assert read_string(memory, 0x1FF0, 200) == (b"A" * 16, False)
    assert read_string(memory, 0x1FF0, 5) == (b"AAAAA", False)
    with pytest.raises(Unreadable):
        read_string(memory, 0x2000, 5)


@pytest.mark.parametrize("length", range(40))
def test_string_in_memory_that_has_no_pages(length: int) -> None:
    memory = DictMemory({0x1FF0: b"A" * length + b"\0"})
    assert read_string(memory, 0x1FF0, 200) == (b"A" * length, True)


def test_string_of_exactly_the_limit() -> None:
    assert read_string(DictMemory({0x10: b"abc\0"}), 0x10, 3) == (b"abc", True)


def test_string_at_the_end_of_all_addresses() -> None:
    end = 1 << 64
    assert read_string(DictMemory({end - 3: b"abc"}), end - 3, 200) == (b"abc", False)

"""Page-wise reading: few reads underneath, the same bytes above."""

from __future__ import annotations

import pytest

from gdbcuda.errors import Unreadable
from gdbcuda.memory import PAGE, DictMemory
from gdbcuda.memory.paged_memory import PagedMemory


class Counted:
    """Which reads reach the memory underneath."""

    def __init__(self, segments: dict[int, bytes]) -> None:
        self.memory, self.reads = DictMemory(segments), []

    def read(self, address: int, size: int) -> bytes:
        self.reads.append((address, size))
        return self.memory.read(address, size)


DATA = bytes(range(256)) * (3 * PAGE // 256)


@pytest.fixture
def counted() -> Counted:
    return Counted({PAGE: DATA})


def test_neighbours_cost_one_read(counted: Counted) -> None:
    blocks = PagedMemory(counted)
    assert [blocks.read(PAGE + at, 8) for at in (0, 100, 4000)] == [DATA[at : at + 8] for at in (0, 100, 4000)]
    assert counted.reads == [(PAGE, PAGE)]


def test_a_run_of_pages_is_one_read_and_known_pages_are_left_out(counted: Counted) -> None:
    blocks = PagedMemory(counted)
    blocks.read(2 * PAGE, 1)
    assert blocks.read(PAGE + 10, 2 * PAGE) == DATA[10 : 10 + 2 * PAGE]
    assert counted.reads == [(2 * PAGE, PAGE), (PAGE, PAGE), (3 * PAGE, PAGE)]


def test_where_the_page_is_not_whole_the_bytes_are_still_had(counted: Counted) -> None:
    odd = Counted({PAGE + 16: b"0123456789"})
    assert PagedMemory(odd).read(PAGE + 18, 4) == b"2345"


@pytest.mark.parametrize(("address", "size"), [(0, 8), (PAGE - 4, 8), (4 * PAGE - 4, 8), (-8, 8), (PAGE, 1 << 40)])
def test_unreadable(counted: Counted, address: int, size: int) -> None:
    with pytest.raises(Unreadable):
        PagedMemory(counted).read(address, size)


def test_nothing_is_read_for_nothing(counted: Counted) -> None:
    assert PagedMemory(counted).read(0, 0) == b""
    assert counted.reads == []

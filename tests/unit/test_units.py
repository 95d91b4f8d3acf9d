import pytest
from hypothesis import given
from hypothesis import strategies as st

from gdbcuda.errors import UserError
from gdbcuda.units import human, parse_size


@pytest.mark.parametrize(
    "text, size",
    [
        ("512", 512),
        ("0", 0),
        ("4g", 4 << 30),
        ("1K", 1024),
        ("1k", 1024),
        ("1MiB", 1 << 20),
        ("1MB", 1 << 20),
        ("2 TiB", 2 << 40),
        ("0x1000", 4096),
        ("1.5G", 3 << 29),
        (" 7B ", 7),
        ("010", 10),
    ],
)
def test_sizes(text: str, size: int) -> None:
    assert parse_size(text) == size


@pytest.mark.parametrize("text", ["", "g", "-1", "1X", "1.3", "4 gigs", "1e9", "1KiBB", "0x"])
def test_not_sizes(text: str) -> None:
    with pytest.raises(UserError, match="not a"):
        parse_size(text)


@pytest.mark.parametrize(
    "size, text",
    [
        (0, "0 B"),
        (1023, "1023 B"),
        (1024, "1.00 KiB"),
        (1073741825, "1.00 GiB"),
        ((1 << 20) - 1, "1.00 MiB"),
        (-2048, "-2.00 KiB"),
        ((1 << 64) - 1, "16.00 EiB"),
    ],
)
def test_human(size: int, text: str) -> None:
    assert human(size) == text


@given(st.integers(1024, 1 << 64))
def test_human_is_within_half_a_hundredth(size: int) -> None:
    number, unit = human(size).split()
    assert abs(float(number) - size / parse_size("1" + unit)) <= 0.00501
    assert float(number) < 1024 or unit == "EiB"

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gdbcuda.text.units import human, multiplier


@pytest.mark.parametrize(
    "suffix, factor",
    [("", 1), ("B", 1), ("k", 1024), ("K", 1024), ("MiB", 1 << 20), ("MB", 1 << 20), ("g", 1 << 30), ("TiB", 1 << 40)],
)
def test_multipliers(suffix: str, factor: int) -> None:
    assert multiplier(suffix) == factor


@pytest.mark.parametrize("suffix", ["X", "gigs", "KiBB", "iB", "e9"])
def test_no_multipliers(suffix: str) -> None:
    assert multiplier(suffix) is None


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
    assert abs(float(number) - size / (multiplier(unit) or 0)) <= 0.00501
    assert float(number) < 1024 or unit == "EiB"

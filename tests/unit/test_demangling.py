"""Names as their authors wrote them, of C++ and of Rust, whose names are C++'s with a hash behind."""

from __future__ import annotations

import pytest

from gdbcuda.text.demangling import demangled, runtime

HASH = "h6a5a2de803992af2"


@pytest.mark.parametrize(("symbol", "name"), [
    (f"r::pool::Pool$LT$u64$GT$::grow::{HASH}", "r::pool::Pool<u64>::grow"),
    (f"_$LT$r..Pool$LT$T$GT$$u20$as$u20$core..ops..Drop$GT$::drop::{HASH}", "<r::Pool<T> as core::ops::Drop>::drop"),
    (f"std::rt::lang_start::_$u7b$$u7b$closure$u7d$$u7d$::{HASH}", "std::rt::lang_start::{{closure}}"),
    (f"r::of::$RF$str::{HASH}", "r::of::&str"), ("main", "main"), ("a::b::h123", "a::b::h123"),
    ("odd$LT$name", "odd$LT$name"),
])  # fmt: skip
def test_rust(symbol: str, name: str) -> None:
    assert demangled(symbol) == name


@pytest.mark.skipif(runtime() is None, reason="no C++ runtime here")
def test_rust_in_the_mangled_name() -> None:
    assert demangled(f"_ZN1r4pool15Pool$LT$u64$GT$4grow17{HASH}E") == "r::pool::Pool<u64>::grow"
    assert demangled("_ZN4Pool4growEm") == "Pool::grow(unsigned long)"

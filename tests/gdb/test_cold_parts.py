"""Names of split functions of a file that gdb reads at the far end of a link: the same file here is asked."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from scenario import Scenario

SPLIT = """
__attribute__((cold, noinline)) int complain(unsigned long n) { return n & 1 ? 2 : 1; }
int cuMemAlloc_v2(unsigned long long *block, unsigned long n)
{
    if (n > 1ul << 40)
        return complain(n) + complain(n + 1);
    *block = n;
    return 0;
}
"""
NAMES = "python print('names', cold_parts.names_in({!r}), process.forget())"


@pytest.mark.parametrize("change, known", [
    ("true", True),
    ("strip --strip-unneeded -o {0}.new {0} && mv {0}.new {0}", False),  # of the same build, but without these names
    ("gcc -shared -o {0}.new {0}.c && mv {0}.new {0}", False),
])  # fmt: skip
def test_only_of_the_file_that_is_loaded(shim: Path, compile_c, tmp_path: Path, change: str, known: bool) -> None:
    if not shutil.which("gdbserver"):
        pytest.skip("gdbserver is not installed (apt-get install gdbserver)")
    hook = compile_c("libsplit.so", SPLIT, "-shared", "-O2", "-Wl,--build-id")
    shutil.copy(tmp_path / "libsplit_so.c", f"{hook}.c")
    load = "python from gdbcuda.live import process; from gdbcuda.live.process.objects import cold_parts"
    text = Scenario(shim, "gdbserver").run(
        "test_alloc", "break main", "RUN", load, NAMES.format(str(hook)), f"shell {change.format(hook)}",
        NAMES.format(str(hook)), hook=hook,
    )  # fmt: skip
    split = "frozenset({'cuMemAlloc_v2'}) None"
    assert re.findall(r"^names (.*)", text, re.MULTILINE) == [split, split if known else "None None"], text

"""A thread that loads a library on its way into a function finds every register as it was."""

from __future__ import annotations

import platform
import subprocess
from pathlib import Path

import pytest

from gdbcuda.machine import library_call

HERE = Path(__file__).parent
CODE = 0x10000000
SCRIBBLES = """
#include <errno.h>
__attribute__((constructor)) static void start(void) {
    errno = 5;
    __asm__ volatile("vpcmpeqd %%ymm0, %%ymm0, %%ymm0; vmovdqa %%ymm0, %%ymm7; vmovdqa %%ymm0, %%ymm15" : : :
                     "xmm0", "xmm7", "xmm15");
}
"""


def has_avx() -> bool:
    return platform.machine() == "x86_64" and " avx " in Path("/proc/cpuinfo").read_text()


@pytest.mark.skipif(not has_avx(), reason="the test reads the registers of AVX")
def test_nothing_of_the_thread_is_changed(tmp_path: Path) -> None:
    (tmp_path / "brought.c").write_text(SCRIBBLES)
    library, program = tmp_path / "brought.so", tmp_path / "caller"
    subprocess.run(["gcc", "-shared", "-fPIC", "-mavx2", "-o", library, tmp_path / "brought.c"], check=True)
    sources = [HERE / "library_caller.c", HERE / "library_caller.S"]
    subprocess.run(["gcc", "-o", program, *sources, "-ldl"], check=True)
    with subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as running:
        assert running.stdin is not None and running.stdout is not None
        dlopen, errno, onward = (int(word, 16) for word in running.stdout.readline().split())
        raw, arrived = library_call.code(str(library), dlopen, errno, library_call.RTLD_NOW, onward, CODE)
        assert CODE < arrived < CODE + len(raw) and raw[arrived - CODE] == 0x90
        out, _ = running.communicate(raw, timeout=60)
    same = "errno 99, flags {}, red zone 5a5a, stack 0, differ 0\n"
    assert out.decode() == same.format("ed7") + same.format("202") + "loaded\n"
    assert running.returncode == 0

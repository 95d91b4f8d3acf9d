"""The checks over damaged files: a report or one UserError, soon."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest
from elf_build import compiled
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gdbcuda.check.file import check
from gdbcuda.errors import UserError

SOURCE = """
#define _GNU_SOURCE
#include <dlfcn.h>
int cuMemAlloc_v2(void **p, unsigned long n) { *p = (void *)n; return n ? -1 : 0; }
static int cuMemFree_v2(void *p) { return p == 0; }
void *dlsym(void *h, const char *n) { return cuMemFree_v2(h) ? dlvsym(h, n, "X") : dlsym(RTLD_NEXT, n); }
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    return compiled(tmp_path_factory.mktemp("check"), SOURCE, "-g", "-O0").read_bytes()


def survives(path: Path, data: bytes) -> None:
    path.write_bytes(data)
    try:
        report = check(path)
    except UserError as error:
        assert "\n" not in str(error)
    else:
        assert "\n" not in report.verdict
        assert report.as_json()


@settings(
    max_examples=int(os.environ.get("GDBCUDA_FUZZ_EXAMPLES", "100")), deadline=5000,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)  # fmt: skip
@given(seed=st.integers(0, 1 << 32), changes=st.integers(1, 40))
def test_fuzz(library: bytes, tmp_path: Path, seed: int, changes: int) -> None:
    data, chance = bytearray(library), random.Random(seed)
    for _ in range(changes):
        at = chance.randrange(len(data))
        data[at] = chance.choice([0, 1, 0x7F, 0x80, 0xFF, chance.randrange(256)])
    survives(tmp_path / "fuzzed.so", bytes(data))


def test_cut_off_anywhere(library: bytes, tmp_path: Path) -> None:
    for size in range(0, len(library), 211):
        survives(tmp_path / "cut.so", library[:size])


def test_any_byte_of_the_headers(library: bytes, tmp_path: Path) -> None:
    for at in range(4, 64 + 56 * 4, 3):
        changed = bytearray(library)
        changed[at] ^= 0xFF
        survives(tmp_path / "header.so", bytes(changed))

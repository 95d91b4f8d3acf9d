"""Files that `--env` names: each case finds them as the first one did."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from gdbcuda.contract.bench import Bench
from gdbcuda.contract.named_files import SHARED_MEMORY, NamedFiles, paths
from gdbcuda.contract.registry import Broken, Case
from gdbcuda.contract.running import runs

SPOILT = b"a process that was killed has this lock\0"


def test_a_file_that_was_not_there_goes(tmp_path: Path) -> None:
    region = tmp_path / "region"
    files = NamedFiles([str(region)])
    assert not files.is_changed
    region.write_bytes(SPOILT)
    assert files.is_changed
    files.restore()
    assert not region.exists() and not files.is_changed


@pytest.mark.parametrize("left", [b"", b"short\0", SPOILT])
def test_a_file_that_was_there_is_the_same_file_again(tmp_path: Path, left: bytes) -> None:
    region = tmp_path / "region"
    region.write_bytes(b"as it was before")
    number = region.stat().st_ino
    files = NamedFiles([str(region)])
    region.write_bytes(left)
    assert files.is_changed
    files.restore()
    assert region.read_bytes() == b"as it was before" and region.stat().st_ino == number


@pytest.mark.parametrize("before", [None, b"yesterday\n"])
def test_a_log_is_kept(tmp_path: Path, before: bytes | None) -> None:
    log = tmp_path / "hook.log"
    if before:
        log.write_bytes(before)
    files = NamedFiles([str(log)])
    log.write_bytes((before or b"") + b"allocated 5 bytes\n")
    assert not files.is_changed
    files.restore()
    assert log.read_bytes().endswith(b"allocated 5 bytes\n")


def test_what_is_no_file_is_left_alone(tmp_path: Path) -> None:
    large = tmp_path / "large"
    with open(large, "wb") as file:
        file.truncate(1 << 30)
    files = NamedFiles([str(tmp_path), str(large), "/dev/null", "268435456/none", "", "a\0b", f"{tmp_path}/"])
    assert files.first == {}


def test_shared_memory_by_its_name() -> None:
    assert [*paths(["/gdbcuda-no-such-region"])][1:] == [f"{SHARED_MEMORY}/gdbcuda-no-such-region"]
    assert [*paths(["/tmp/region", "1024"])] == ["/tmp/region", "1024"]


@pytest.fixture
def bench(shim: Path, tmp_path: Path) -> Iterator[Bench]:
    (tmp_path / "programs").mkdir()
    hook, region = shim / "sample/quota_hook.so", tmp_path / "region"
    one = Bench(str(hook), str(shim), str(tmp_path / "programs"), (("QUOTA_REGION", str(region)),))
    yield one
    one.close()


def test_what_a_case_leaves_in_a_region_is_not_found_by_the_next(bench: Bench, tmp_path: Path) -> None:
    region, found = tmp_path / "region", []

    def spoils(bench: Bench) -> Iterator[Broken]:
        with bench.copy():
            found.append(region.read_bytes())
            region.write_bytes(SPOILT)
        yield from ()

    for number in range(3):
        assert runs.tried(bench, Case("books", str(number), spoils)) == []
    assert found[0] == found[1] == found[2] != SPOILT


def test_programs_go_on_where_a_case_leaves_all_as_it_was(bench: Bench) -> None:
    began = []

    def asks(bench: Bench) -> Iterator[Broken]:
        began.append(bench.program(bench.usual).process.pid)
        yield from ()

    for number in range(3):
        runs.tried(bench, Case("books", str(number), asks))
    assert began[1] == began[2], "the first one makes the region"

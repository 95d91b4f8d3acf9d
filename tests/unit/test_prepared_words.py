"""What the recorder knows of each function is found out where its library is built, and read where it starts."""

from __future__ import annotations

from pathlib import Path

import pytest

from gdbcuda import api
from gdbcuda.rings import prepared_words, ring_functions

TABLES = [api.load_all(), *(api.load(cuda=one) for one in api.CUDA_VERSIONS),
          *(api.load(nvml=one) for one in api.NVML_VERSIONS)]  # fmt: skip


def functions(table: api.Table) -> list[api.Function]:
    return [one for name in ring_functions.recorded_symbols(table) if (one := table.function(name)) is not None]


def test_it_is_what_would_be_found_out(shim: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    known = prepared_words.read(str(shim / prepared_words.FILE))
    monkeypatch.setattr(prepared_words, "prepared", lambda: known)
    for table in TABLES:
        all_of_them = functions(table)
        found = {one.symbol: words for one in all_of_them if (words := prepared_words.of(one)) is not None}
        assert found == {one.symbol: ring_functions.found_out(one) for one in all_of_them if one.symbol in found}
        assert len(found) > 0.97 * len(all_of_them)


def test_what_was_made_of_other_sources_is_not_taken(shim: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prepared_words, "fingerprint", lambda: 0)
    assert not prepared_words.read(str(shim / prepared_words.FILE))


@pytest.mark.parametrize("size", [0, 100, None])
def test_a_file_that_is_cut_or_gone_is_none(shim: Path, tmp_path: Path, size: int | None) -> None:
    path = tmp_path / "cut"
    if size is not None:
        path.write_bytes((shim / prepared_words.FILE).read_bytes()[:size])
    assert not prepared_words.read(str(path))


def test_the_build_knows_what_it_is_made_of() -> None:
    """Else make would leave a file as it is that nobody takes."""
    rule = (Path(__file__).parents[2] / "shim/agent/rules.mk").read_text()
    assert all(f"../gdbcuda/{one}" in rule for one in prepared_words.MADE_OF)
    assert all(Path(one).is_file() for one in prepared_words.sources())


def test_a_declaration_that_means_two_things_is_left_out() -> None:
    one = TABLES[0].functions["cuMemAlloc_v2"]
    assert one.symbol in prepared_words.text([(one, (1, 0))])
    assert one.symbol not in prepared_words.text([(one, (1, 0)), (one, (2, 0))])

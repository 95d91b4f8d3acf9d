"""PyTorch's snapshot of its memory beside a log: who made its segments, who holds what is in them."""

from __future__ import annotations

import os
import pickle
import random
from pathlib import Path
from typing import Any

import pytest
from ledger_calls import WRITER, alloc, free, ledger_of
from log_files import call

from gdbcuda.errors import UserError
from gdbcuda.ledger import torch_memory
from gdbcuda.ledger.torch_memory import TorchMemory
from gdbcuda.pytorch import memory_snapshot
from gdbcuda.pytorch.segments import TorchSegment

MIB = 1 << 20
STEP = [
    {"filename": "/usr/lib/python3/dist-packages/torch/nn/functional.py", "line": 5, "name": "linear"},
    {"filename": "/home/me/train.py", "line": 41, "name": "step"},
    {"filename": "c10/cuda/CUDACachingAllocator.cpp", "line": 0, "name": "malloc"},
]


def block(size: int, state: str = "inactive", frames: Any = (), **more: Any) -> dict[str, Any]:
    return {"size": size, "requested_size": size - 100, "state": state, "frames": list(frames), **more}


def segment(address: int, size: int, *blocks: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"device": 0, "address": address, "total_size": size, "segment_type": "large", "blocks": [*blocks], **more}


def read(path: Path, *segments: dict[str, Any]) -> list[TorchSegment]:
    (path / "one.pickle").write_bytes(pickle.dumps({"segments": list(segments), "device_traces": [[]]}))
    return memory_snapshot.read(str(path / "one.pickle"))


def test_what_is_held_by_whom(tmp_path: Path) -> None:
    segments = read(
        tmp_path,
        segment(0x10000000, 20 * MIB, block(12 * MIB, "active_allocated", STEP), block(2 * MIB, "active_awaiting_free"),
                block(6 * MIB)),
        segment(0x30000000, 2 * MIB, block(2 * MIB, "active_allocated", STEP)),
    )  # fmt: skip
    ledger = ledger_of(alloc(0, 0x10000000, 20 * MIB), alloc(1, 0x50000000, 3 * MIB), alloc(2, 0x30000000, 2 * MIB))
    lines = torch_memory.text(TorchMemory(segments, ledger), WRITER).splitlines()
    assert lines[0] == ("Device 0: PyTorch has 22.00 MiB in 2 segments. 14.00 MiB of it are in 2 tensors (which need "
                        "14.00 MiB), 2.00 MiB wait for another stream, 6.00 MiB are cached.")  # fmt: skip
    assert "all of them" in lines[1] and lines[1].endswith("Beside them 3.00 MiB were live, in 1 block.")
    assert lines[5].split() == ["0x10000000", "20.00", "MiB", "12.00", "MiB", "6.00", "MiB", "large", "#0",
                                "cuMemAlloc_v2", "load_model", "at", "model.c:7"]  # fmt: skip
    assert lines[-1].split() == ["train.py:41", "in", "step()", "14.00", "MiB", "2", "2"]


def test_a_segment_that_is_mapped_piece_by_piece(tmp_path: Path) -> None:
    made = call(0, "cuMemCreate", {"handle": {"address": "0x7ffe0"}, "size": 2 * MIB},
                out={"handle": {"address": "0x7ffe0", "value": 77}}, caller=0x400)  # fmt: skip
    maps = [call(1 + i, "cuMemMap", {"ptr": hex(0x10000000 + i * 2 * MIB), "size": 2 * MIB, "offset": 0, "handle": 77},
                 caller=0x400) for i in range(3)]  # fmt: skip
    (one,) = read(tmp_path, segment(0x10000000, 6 * MIB, block(6 * MIB), is_expandable=True))
    text = torch_memory.text(TorchMemory([one], ledger_of(made, *maps)), WRITER)
    assert "expandable" in text and "#1 cuMemMap and 2 more" in text
    assert "No tensor holds memory." in text


def test_the_latest_block_at_an_address_is_the_segment(tmp_path: Path) -> None:
    at = 0x10000000
    ledger = ledger_of(alloc(0, at, MIB), free(1, at), alloc(2, at, 2 * MIB), free(3, at))
    segments = read(tmp_path, segment(at, 2 * MIB, block(2 * MIB, "active_allocated")), segment(0x90000000, MIB))
    found = TorchMemory(segments, ledger)
    assert [one.call.number for one in found.made_by[at]] == [2] and found.known == 1
    text = torch_memory.text(found, WRITER)
    assert "1 of 2" in text and "not in the log" in text and "_record_memory_history" in text


def test_as_data(tmp_path: Path) -> None:
    segments = read(tmp_path, segment(0x10000000, 2 * MIB, block(2 * MIB, "active_allocated", STEP)))
    found = torch_memory.shown(segments, [ledger_of(), ledger_of(alloc(4, 0x10000000, 2 * MIB))], WRITER, as_json=True)
    assert isinstance(found, dict)
    (one,) = found["segments"]
    assert (one["in_tensors"], one["cached"], one["made_by"][0]["call"]) == (2 * MIB, 0, 4)
    assert [frame["file"] for frame in one["blocks"][0]["python"]] == [STEP[0]["filename"], STEP[1]["filename"]]


def test_blocks_without_addresses_and_a_list_alone(tmp_path: Path) -> None:
    raw = [segment(0x1000, 3000, {"size": 1000, "state": "inactive"}, {"size": 2000, "state": "active_pending_free",
                                                                       "history": [{"frames": STEP}]})]  # fmt: skip
    (tmp_path / "old").write_bytes(pickle.dumps(raw))
    (one,) = memory_snapshot.read(str(tmp_path / "old"))
    assert [(b.address, b.size) for b in one.blocks] == [(0x1000, 1000), (0x13E8, 2000)]
    assert one.waiting == 2000 and one.blocks[1].frames[1].function == "step"


class Runs:
    def __reduce__(self) -> Any:
        return os.system, ("touch RAN",)


def test_a_pickle_that_would_run_something_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("bad").write_bytes(pickle.dumps({"segments": [Runs()]}))
    with pytest.raises(UserError, match=r"bad: not read: it would make posix\.system, and a snapshot holds numbers"):
        memory_snapshot.read("bad")
    assert not Path("RAN").exists()


WRONG = ({"blocks": []}, segment(-1, 5), segment(1, 5, {"size": "x"}), 3)


@pytest.mark.parametrize("found", [7, {"segments": 3}, {}, *({"segments": [one]} for one in WRONG)])
def test_what_is_no_snapshot_is_one_line(tmp_path: Path, found: Any) -> None:
    (tmp_path / "one").write_bytes(pickle.dumps(found))
    with pytest.raises(UserError, match="is no snapshot of PyTorch's memory"):
        memory_snapshot.read(str(tmp_path / "one"))


def test_any_bytes_are_a_snapshot_or_one_line(tmp_path: Path) -> None:
    whole = pickle.dumps({"segments": [segment(0x1000, 3000, block(1000, "active_allocated", STEP))]})
    random.seed(7)
    for _ in range(2000):
        raw = bytearray(whole[: random.choice([len(whole), random.randrange(len(whole))])])
        for _ in range(random.randrange(4)):
            first, last = (random.randrange(len(raw) or 1) for _ in range(2))
            raw[first:last] = random.randbytes(random.randrange(3))
        (tmp_path / "one").write_bytes(raw)
        try:
            memory_snapshot.read(str(tmp_path / "one"))
        except UserError as error:
            assert "\n" not in str(error)


def test_a_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="is no snapshot"):
        memory_snapshot.read(str(tmp_path))

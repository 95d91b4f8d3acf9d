"""What PyTorch's caching allocator held: the file of ``torch.cuda.memory._dump_snapshot``.

It is a pickle, which may make any object and call any function while it is read: this one has numbers and texts alone,
and a file with anything else is refused. (PyTorch's documentation: "Understanding CUDA Memory Usage", "Snapshot API
Reference".)
"""

from __future__ import annotations

import io
import os
import pickle
from collections.abc import Iterator
from typing import Any, Callable, NoReturn

from gdbcuda.cpython.thread_frames import PythonFrame
from gdbcuda.errors import UserError
from gdbcuda.files import reading
from gdbcuda.pytorch.segments import TorchBlock, TorchSegment
from gdbcuda.text.printable import visible

MOST_FRAMES = 4096
PIECE = 1 << 20
NO_SNAPSHOT = "is no snapshot of PyTorch's memory, or a part of one (torch.cuda.memory._dump_snapshot)"
DAMAGE = (pickle.UnpicklingError, EOFError, ValueError, LookupError, AttributeError, TypeError, OverflowError,
          MemoryError)  # fmt: skip


class PlainUnpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> NoReturn:
        what = visible(f"{module}.{name}")
        raise UserError(f"not read: it would make {what}, and a snapshot holds numbers and texts alone")

    def persistent_load(self, pid: Any) -> NoReturn:
        raise UserError("not read: it refers to objects elsewhere, and a snapshot holds numbers and texts alone")


class PickleStream(io.RawIOBase):
    """``progress`` is told how many bytes have been read."""

    def __init__(self, source: reading.Source, progress: Callable[[int], None]) -> None:
        self.source, self.progress, self.at = source, progress, 0

    def readable(self) -> bool:
        return True

    def readinto(self, room: Any) -> int:
        size = min(len(room), self.source.size - self.at)
        room[:size] = self.source.read(self.at, size, "a piece of the snapshot")
        self.progress(size)
        self.at += size
        return size


def read(path: str, progress: Callable[[int], None] = lambda size: None) -> list[TorchSegment]:
    """`UserError` where the file is none."""
    if os.path.exists(path) and not os.path.isfile(path):
        raise UserError(f"{path} {NO_SNAPSHOT}")
    stream = io.BufferedReader(PickleStream(reading.open_source(path), progress), PIECE)
    try:
        found = PlainUnpickler(stream).load()
        segments = found["segments"] if isinstance(found, dict) else found
        if not isinstance(segments, list):
            raise ValueError
        return [segment(one) for one in segments]
    except UserError as error:
        raise UserError(f"{path}: {error}") from None
    except DAMAGE:
        raise UserError(f"{path} {NO_SNAPSHOT}") from None


def segment(found: dict[str, Any]) -> TorchSegment:
    blocks = tuple(in_order(found["blocks"], number(found, "address")))
    return TorchSegment(number(found, "device"), number(found, "address"), number(found, "total_size"),
                   str(found.get("segment_type", "")), bool(found.get("is_expandable", False)), blocks)  # fmt: skip


def in_order(blocks: list[dict[str, Any]], at: int) -> Iterator[TorchBlock]:
    """Blocks lie one behind the other; before PyTorch 2.1 they have no addresses."""
    for one in blocks:
        size = number(one, "size")
        at = number(one, "address") if "address" in one else at
        asked = number(one, "requested_size") if "requested_size" in one else size
        yield TorchBlock(at, size, asked, str(one["state"]), tuple(frames(one)))
        at += size


def frames(block: dict[str, Any]) -> Iterator[PythonFrame]:
    """Those of Python: where a history of C++ frames was kept they are among them."""
    history = block.get("history") or [{}]
    for one in (block.get("frames") or history[0].get("frames") or [])[:MOST_FRAMES]:
        if str(one["filename"]).endswith(".py") or str(one["filename"]).startswith("<"):
            yield PythonFrame(str(one["filename"]), number(one, "line"), str(one["name"]))


def number(found: dict[str, Any], name: str) -> int:
    value = found[name]
    if not isinstance(value, int) or not 0 <= value < 1 << 64:
        raise ValueError(name)
    return value

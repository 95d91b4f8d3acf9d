"""A snapshot of PyTorch's memory, read with a progress bar."""

from __future__ import annotations

import os

from gdbcuda.log.progress import Progress
from gdbcuda.pytorch import memory_snapshot
from gdbcuda.pytorch.segments import TorchSegment


def read(path: str) -> list[TorchSegment]:
    progress = Progress(os.path.getsize(path) if os.path.exists(path) else 0)
    try:
        return memory_snapshot.read(path, progress)
    finally:
        progress.close()

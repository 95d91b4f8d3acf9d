"""A snapshot of PyTorch's memory, read with a progress bar."""

from __future__ import annotations

import os

from gdbcuda.ledger import torch_snapshot
from gdbcuda.ledger.torch_snapshot import TorchSegment
from gdbcuda.log.progress import Progress


def read(path: str) -> list[TorchSegment]:
    progress = Progress(os.path.getsize(path) if os.path.exists(path) else 0)
    try:
        return torch_snapshot.read(path, progress)
    finally:
        progress.close()

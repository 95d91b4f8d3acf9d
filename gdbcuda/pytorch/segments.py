"""What PyTorch's caching allocator has from the driver, and which parts of it are handed out."""

from __future__ import annotations

from gdbcuda.cpython.thread_frames import PythonFrame
from gdbcuda.data_classes import dataclass

IN_TENSOR, AWAITS_FREE, PENDING_FREE, INACTIVE = ("active_allocated", "active_awaiting_free", "active_pending_free",
                                                  "inactive")  # fmt: skip
WAITS = (AWAITS_FREE, PENDING_FREE)


@dataclass(frozen=True)
class TorchBlock:
    """A part of a segment. ``size`` is what is handed out, ``asked`` what the tensor needs; ``state`` as PyTorch names
    it. ``frames``: innermost first, () without a recorded history."""

    address: int
    size: int
    asked: int
    state: str
    frames: tuple[PythonFrame, ...] = ()

    @property
    def is_in_tensor(self) -> bool:
        return self.state == IN_TENSOR


@dataclass(frozen=True)
class TorchSegment:
    """What PyTorch has from the driver in one piece, by cudaMalloc or by mapping."""

    device: int
    address: int
    size: int
    kind: str
    is_expandable: bool
    blocks: tuple[TorchBlock, ...]

    def bytes_of(self, *states: str) -> int:
        return sum(block.size for block in self.blocks if block.state in states)

    @property
    def in_tensors(self) -> int:
        return self.bytes_of(IN_TENSOR)

    @property
    def waiting(self) -> int:
        """Bytes that are free when another stream has finished with them."""
        return self.bytes_of(*WAITS)

    @property
    def cached(self) -> int:
        return max(self.size - self.in_tensors - self.waiting, 0)

"""PyTorch's caching allocator in the process under debug, or in its core file: read from memory, nothing is called."""

from __future__ import annotations

import os

from gdbcuda.errors import UserError
from gdbcuda.linkage.image import Image
from gdbcuda.live import process
from gdbcuda.pytorch import allocator, allocator_layouts
from gdbcuda.pytorch.segments import TorchSegment
from gdbcuda.text.printable import visible

LIBRARY, VERSION = "libc10_cuda.so", "../version.py"
ELSE = "torch.cuda.memory._dump_snapshot() in the program, and gdbcuda log memory --torch, show the same"


def segments() -> list[TorchSegment]:
    """`UserError` where there is no PyTorch, or not what is known of it."""
    library = next((one for one in process.images() if os.path.basename(one.name) == LIBRARY), None)
    found = pointer(library) if library is not None else None
    if library is None or found is None:
        raise UserError("PyTorch's CUDA library (libc10_cuda.so) is not loaded")
    version, layout = allocator_layouts.version_in(process.text_beside(library, VERSION) or "")
    if layout is None:
        raise UserError(unknown(version), page="python")
    try:
        return allocator.segments(process.in_pages(process.InferiorMemory()), found, layout)
    except UserError as problem:
        raise UserError(f"PyTorch {visible(version)}'s allocator is not read: {problem}", page="python") from None


def pointer(library: Image) -> int | None:
    """A program in C++ may have a copy of its own, which is the one then (R_X86_64_COPY)."""
    found = (one.lookup(allocator.OBJECT) for one in (process.images()[0], library))
    return next((one.address for one in found if one is not None), None)


def unknown(version: str) -> str:
    whose = f"PyTorch {visible(version)}'s" if version else "PyTorch's version is not told by torch/version.py: its"
    return f"{whose} allocator is not read: known are {allocator_layouts.names()}. {ELSE}"

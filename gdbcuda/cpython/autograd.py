"""PyTorch makes gradients in threads of its own, which run no Python: the line that asked for them waits in another.

(torch/autograd: until 2.2 its __init__.py calls the engine, since 2.3 graph.py.
shim/trace/python_frames.c has the same.)
"""

from __future__ import annotations

from collections.abc import Sequence

from gdbcuda.cpython.thread_frames import PythonFrame

CALL_THE_ENGINE = (
    ("_engine_run_backward", "/torch/autograd/graph.py"),
    ("backward", "/torch/autograd/__init__.py"),
    ("grad", "/torch/autograd/__init__.py"),
)


def is_waited_in(frames: Sequence[PythonFrame]) -> bool:
    """The thread with these frames waits for gradients."""
    return bool(frames) and any(
        frames[0].function == name and frames[0].file.endswith(file) for name, file in CALL_THE_ENGINE
    )

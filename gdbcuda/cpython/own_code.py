"""Whose code a Python frame is, and how it is named in a line."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from typing import Any

from gdbcuda.cpython.thread_frames import PythonFrame
from gdbcuda.text.patterns import pattern

NO_ADDRESS = 1 << 63  # x86-64 and aarch64 have none from here to the kernel's own half
INSTALLED = pattern(r".*/(?:site|dist)-packages/")
STANDARD = pattern(r".*/lib(?:64)?/python3\.\d+[a-z]?/|<frozen ")
# what PyTorch's compiler writes: by its folder, or by its file's name, where that is kept elsewhere, as of vLLM
GENERATED = pattern(r".*/(?:torchinductor_[^/]*/|([a-z2-7]{2})/c\1[a-z2-7]{49}\.py$)")
STARTS_WORKERS = pattern(r"multiprocessing/")  # by python -c, a line of Python's own
# packages that make calls as they are told
FOR_OTHERS = pattern(r"(?:torch|triton|cupy|cupyx|numba|numba_cuda|cuda|jax|jaxlib|numpy|pynvml)[/.]")


def is_own(frame: PythonFrame) -> bool:
    """The user's, by itself: neither an installed package's nor Python's own, nor one that cannot be read."""
    return frame.is_known and frame.file != "" and not any(
        others.match(frame.file) for others in (INSTALLED, STANDARD, GENERATED))  # fmt: skip


def site(frames: Sequence[PythonFrame]) -> PythonFrame | None:
    """The innermost frame of the user's own code. Where a program is installed, as vLLM is, there is none: then the
    innermost that is not of a package that asks for others; else the innermost."""
    own = (one for at, one in enumerate(frames) if is_own(one) and is_own_there(frames, at))
    asks = (one for one in frames if INSTALLED.match(one.file) and not FOR_OTHERS.match(short_file(one)))
    return next(own, None) or next(asks, frames[0] if frames else None)


def is_own_there(frames: Sequence[PythonFrame], at: int) -> bool:
    """Whose the script is that pip has made for an installed program, and code without a file, others tell."""
    file = frames[at].file
    if not file.startswith("<"):
        return not is_entry_of_installed(frames, at)
    if file.startswith("<ipython-input"):
        return True
    if at + 1 < len(frames):  # a dataclass makes such code, and PyTorch's compiler, for whoever they are called by
        return not INSTALLED.match(frames[at + 1].file)
    return not (at and STARTS_WORKERS.match(short_file(frames[at - 1])))


def is_entry_of_installed(frames: Sequence[PythonFrame], at: int) -> bool:
    """/opt/venv/bin/vllm, which does nothing but call what is in /opt/venv/lib/python3.12/site-packages."""
    folder, name = os.path.split(frames[at].file)
    called = next((one.file for one in reversed(frames[:at]) if INSTALLED.match(one.file)), "")
    inside = INSTALLED.sub("", called)
    if at + 1 < len(frames) or os.path.basename(folder) != "bin" or "." in name or not called:
        return False
    is_beside = called.startswith(os.path.dirname(folder) + "/lib") and not FOR_OTHERS.match(inside)
    return is_beside or re.split(r"[/.]", inside, maxsplit=1)[0] == name.replace("-", "_")


def short_file(frame: PythonFrame) -> str:
    """ "train.py", "torch/nn/modules/linear.py": what people call it."""
    installed = INSTALLED.match(frame.file) or STANDARD.match(frame.file)
    return frame.file[installed.end() :] if installed and installed.end() < len(frame.file) \
        else os.path.basename(frame.file)


def line_of(frame: PythonFrame) -> str:
    """ "train.py:41"."""
    return f"{short_file(frame)}:{frame.line}" if frame.line else short_file(frame)


def is_meant(frame: PythonFrame, word: str) -> bool:
    """"load_weights", "Model.load_weights", "train.py", "train.py:41", a path, "torch.nn"."""
    names = (frame.function, frame.function.rpartition(".")[2], frame.file, line_of(frame), short_file(frame),
             os.path.basename(frame.file), os.path.basename(line_of(frame)))  # fmt: skip
    return word in names or is_in_module(frame, word)


def is_in_module(frame: PythonFrame, word: str) -> bool:
    """ "torch.nn" means torch/nn.py and what is in torch/nn/. Where the user's own packages begin only sys.path knows:
    of those two names in a row are enough."""
    path = word.replace(".", "/")
    if f"{short_file(frame).removesuffix('.py')}/".startswith(f"{path}/"):
        return True
    return "." in word and is_own(frame) and f"/{path}/" in f"{frame.file.removesuffix('.py')}/"


def text(frame: PythonFrame) -> str:
    """ "train.py:41 in step()"."""
    if not frame.is_known:
        return "a frame that cannot be read"
    name = frame.function if frame.function.startswith("<") else f"{frame.function}()"
    return f"{line_of(frame)} in {name}"


def as_place(frame: PythonFrame, number: int) -> dict[str, Any]:
    """As a log describes a place, under a number that is no address."""
    return {"address": number, "script": True, "function": frame.function, "object": frame.file, "line": frame.line,
            "layer": "app", "source": line_of(frame)}  # fmt: skip


def callers_text(frames: Sequence[PythonFrame]) -> str:
    """The user's own frame, and the one that made the call where that is another; "" without any."""
    own = site(frames)
    if own is None:
        return ""
    return text(own) if own is frames[0] else f"{text(own)}, {text(frames[0])}"

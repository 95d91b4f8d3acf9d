"""Python's frames in ``bt``: each native frame of the interpreter is shown as the frames of Python that it runs.

(gdb manual, "Frame Decorator API": the frames behind the first of them are its elided ones, which gdb indents.)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import gdb
from gdb.FrameDecorator import FrameDecorator

from gdbcuda.cpython.thread_frames import PythonFrame, entered
from gdbcuda.live.pythons import thread_stacks
from gdbcuda.text.printable import visible

EVALUATES = "_PyEval_EvalFrameDefault"  # exported; a part of it that is seldom run is NAME.cold


class ScriptFrame(FrameDecorator):
    """One frame of Python, in the native frame that runs it."""

    def __init__(self, base: FrameDecorator, shown: PythonFrame, below: Sequence[PythonFrame]) -> None:
        super().__init__(base)
        self.base, self.shown, self.below = base, shown, below

    def function(self) -> str:
        return visible(f"[python] {self.shown.function}")

    def address(self) -> None:
        return None

    def filename(self) -> str | None:  # gdb leaves out "at FILE" where it is None
        return visible(self.shown.file) if self.shown.is_known else None

    def line(self) -> int | None:
        return self.shown.line

    def frame_args(self) -> None:
        return None

    def frame_locals(self) -> None:
        return None

    def elided(self) -> Iterator[FrameDecorator] | None:  # type: ignore[override]  # (stubs say frames)
        return iter([ScriptFrame(self.base, one, ()) for one in self.below]) if self.below else None


def with_python(shown: Iterator[FrameDecorator]) -> Iterator[FrameDecorator]:
    runs = entered(thread_stacks.own())
    for one in shown:
        yield scripted(one, runs.pop(0)) if runs and evaluates(one.inferior_frame(), runs[0]) else one


def evaluates(frame: gdb.Frame, run: Sequence[PythonFrame]) -> bool:
    """It is the interpreter, running these frames of Python: by its name, or since their mark lies in its part of the
    stack. (3.14 may be built of functions that call each other last, and have no name.)"""
    if (frame.name() or "").split(".")[0] == EVALUATES:
        return True
    try:
        older = frame.older()
        return older is not None and int(frame.read_register("sp")) <= run[0].entry < int(older.read_register("sp"))
    except gdb.error:  # gdb cannot unwind further
        return False


def scripted(base: FrameDecorator, run: Sequence[PythonFrame]) -> FrameDecorator:
    return ScriptFrame(base, run[0], run[1:])

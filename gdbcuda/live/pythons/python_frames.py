"""Python's frames in ``bt``: each native frame of the interpreter is shown as the frames of Python that it runs.

(gdb manual, "Frame Decorator API": the frames behind the first of them are its elided ones, which gdb indents.)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import gdb
from gdb.FrameDecorator import FrameDecorator

from gdbcuda.cpython.stacks import PythonFrame, entered
from gdbcuda.live.prompt import safely
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

    def filename(self) -> str:
        return visible(self.shown.file)

    def line(self) -> int | None:
        return self.shown.line

    def frame_args(self) -> None:
        return None

    def frame_locals(self) -> None:
        return None

    def elided(self) -> Iterator[FrameDecorator] | None:  # type: ignore[override]  # (stubs say frames)
        return iter([ScriptFrame(self.base, one, ()) for one in self.below]) if self.below else None


def with_python(shown: Iterator[FrameDecorator]) -> Iterator[FrameDecorator]:
    runs: list[list[PythonFrame]] | None = None
    for one in shown:
        if evaluates(one.inferior_frame()):
            runs = entered(thread_stacks.calling()) if runs is None else runs
            yield scripted(one, runs.pop(0)) if runs else one
        else:
            yield one


@safely.or_else(lambda one: False)
def evaluates(frame: gdb.Frame) -> bool:
    """It is the interpreter, running one or several frames of Python."""
    return (frame.name() or "").split(".")[0] == EVALUATES


def scripted(base: FrameDecorator, run: Sequence[PythonFrame]) -> FrameDecorator:
    return ScriptFrame(base, run[0], run[1:])

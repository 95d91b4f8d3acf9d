"""``bt`` names the layers: a frame filter, off with ``set cuda-backtrace off`` or ``bt -no-filters``.

It is there as soon as a part of CUDA is, or a hook library; in any other program gdb writes its frames itself.

(gdb manual: "Frame Filter API", "Frame Decorator API".)
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple, Union

import gdb
from gdb.FrameDecorator import FrameDecorator

from gdbcuda.api import vendor
from gdbcuda.live import layers, process
from gdbcuda.live.frames import frames
from gdbcuda.live.host import console
from gdbcuda.live.layers import noticed
from gdbcuda.live.prompt import safely, settings
from gdbcuda.live.pythons import python_frames
from gdbcuda.text.patterns import pattern
from gdbcuda.text.printable import visible

if TYPE_CHECKING:
    from gdb.FrameDecorator import DAPFrameDecorator, SymValueWrapper  # gdb 14

    Decorator = Union[FrameDecorator, DAPFrameDecorator]

NAMED = ("app", "runtime", "hook", "driver")
LARGEST_ARGUMENT, LARGEST_LOCAL = 64, 1 << 20  # bytes that are tried: gdb prints a larger argument as ... anyway
QUALIFIERS = pattern(r"\)(?: const| volatile| &&?)+$")  # of the object that a method is called on
OF_GDB = (gdb.SIGTRAMP_FRAME, gdb.DUMMY_FRAME)  # "<signal handler called>", "<function called from gdb>"


class LayerFrame(FrameDecorator):
    """A frame whose function is shown as "[hook libvgpu.so] cuMemAlloc_v2". All is found out before gdb asks, which is
    in the middle of its line."""

    def __init__(self, base: FrameDecorator) -> None:
        super().__init__(base)
        self.base = base
        self.is_gdbs_own = self.inferior_frame().type() in OF_GDB
        place = frames.place_of(self.inferior_frame(), is_caller=self.inferior_frame().newer() is not None)
        is_layered = place.layer in NAMED and not self.is_gdbs_own
        self.name = base.function()
        if isinstance(self.name, int):  # an address: no symbol there
            self.name = place.function or "??"
        if is_layered:
            self.name = visible(f"[{place.layer}{library(place)}] {without_parameters(self.name)}")
        file = base.filename() if place.source or not is_layered else None
        self.file = visible(file) if file and is_layered else file

    def function(self) -> str | None:
        return self.name

    def address(self) -> int | None:
        return None if self.is_gdbs_own else self.base.address()

    def line(self) -> int | None:
        return None if self.is_gdbs_own else self.base.line()

    def frame_args(self) -> Iterator[SymValueWrapper] | None:
        return self.told(self.base.frame_args(), LARGEST_ARGUMENT)

    def frame_locals(self) -> Iterator[SymValueWrapper] | None:
        return self.told(self.base.frame_locals(), LARGEST_LOCAL)

    def told(self, variables: Iterable[SymValueWrapper] | None, largest: int) -> Iterator[SymValueWrapper] | None:
        """As they are, or why one cannot be read: gdb leaves out the rest of the frame's line where a filter is."""
        frame = self.inferior_frame()
        return None if variables is None else iter([readable_or_why(one, frame, largest) for one in variables])

    def filename(self) -> str | None:
        """Only a source file: the library is named in front of the function."""
        return None if self.is_gdbs_own else self.file


def readable_or_why(variable: SymValueWrapper, frame: gdb.Frame, largest: int) -> SymValueWrapper:
    symbol = variable.symbol()
    if not isinstance(symbol, gdb.Symbol):
        return variable
    try:
        value = variable.value()
        value = symbol.value(frame) if value is None else value
        if isinstance(value, gdb.Value) and value.type.sizeof <= largest:
            value.fetch_lazy()
    except (gdb.error, TypeError) as problem:
        return UnreadableVariable(symbol.name, f"<error reading variable: {problem}>")
    return variable


class UnreadableVariable(NamedTuple):
    """A variable of a frame, as gdb asks for it: SymValueWrapper is made in two ways, by gdb's version."""

    name: str
    why: str

    def symbol(self) -> str:
        return self.name

    def value(self) -> gdb.Value:
        return gdb.Value(self.why)


def library(place: frames.CodePlace) -> str:
    """ " libvgpu.so"; of the layer "app" the program itself goes without saying."""
    is_program = place.layer == "app" and place.file == process.strip_prefix(process.program())
    return "" if is_program else f" {layers.short(place.file)}"


def without_parameters(name: str | None) -> str | None:
    """ "add(float*, int) const" -> "add": gdb prints the arguments behind the name itself."""
    bare = QUALIFIERS.sub(")", name or "")
    if not bare.endswith(")"):
        return name
    if bare.endswith("operator()"):
        return bare
    depth = 0
    for index in range(len(bare) - 1, -1, -1):
        depth += {")": 1, "(": -1}.get(bare[index], 0)
        if depth == 0:
            return bare[:index] or name
    return name


@safely.or_else(lambda base: base)
def layered(base: FrameDecorator) -> FrameDecorator:
    return LayerFrame(base)


class LayerFilter:
    """Does nothing while switched off."""

    name = "cuda-layers"
    priority = 50

    @property
    def enabled(self) -> bool:
        return bool(settings.value("cuda-backtrace"))

    @enabled.setter
    def enabled(self, on: bool) -> None:
        settings.SETTINGS["cuda-backtrace"].value = on

    def filter(self, iterator: Iterator[Decorator]) -> Iterator[Decorator]:
        return python_frames.with_python(map(layered, filter(is_shown, readable(iter(iterator)))))


def is_shown(decorator: Decorator) -> bool:
    """Not the recorder's frame between a function and its caller."""
    frame = decorator.inferior_frame()
    return frame.newer() is None or not process.in_own_code(frame.pc())


def readable(frames_in: Iterator[Decorator]) -> Iterator[Decorator]:
    """As far as gdb can unwind: of an error on the way it says more than its own words where a filter is."""
    while True:
        try:
            yield next(frames_in)
        except StopIteration:
            return
        except gdb.error as problem:
            console.write(f"{safely.plain(problem)}\n")
            return


def on_objfile(event: gdb.NewObjFileEvent) -> None:
    look_at(event.new_objfile)


def on_load() -> None:
    """What a process had loaded that gdb had before us: gdb -p PID -x gdbcuda.py."""
    for one in gdb.objfiles():
        look_at(one)


def look_at(objfile: gdb.Objfile) -> None:
    name = process.strip_prefix(objfile.filename or "")
    is_part = vendor.layer_of(name) in ("runtime", "driver") or layers.is_named(name) or name in noticed.hooks()
    if is_part and objfile.progspace is not None:
        register(objfile.progspace)


def on_stop(event: object) -> None:
    """A hook library that is noticed, or named, when it is loaded already."""
    space = process.program_space()
    if LayerFilter.name not in space.frame_filters and layers.hooks_here():
        register(space)


def register(space: gdb.Progspace) -> None:
    space.frame_filters[LayerFilter.name] = LayerFilter()


def on_clear_objfiles(event: gdb.ClearObjFilesEvent) -> None:
    """Another program."""
    event.progspace.frame_filters.pop(LayerFilter.name, None)

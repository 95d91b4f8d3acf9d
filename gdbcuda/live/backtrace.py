"""``bt`` names the layers: a frame filter, off with ``set cuda-backtrace off`` or ``bt -no-filters``.

(gdb manual: "Frame Filter API", "Frame Decorator API".)
"""

from __future__ import annotations

from typing import Iterable, Iterator, Optional

import gdb
from gdb.FrameDecorator import FrameDecorator

from gdbcuda.live import frames, settings

NAMED = ("app", "runtime", "hook", "driver")


class LayerFrame(FrameDecorator):
    """A frame whose function is shown as "[hook] cuMemAlloc_v2"."""

    def __init__(self, base: FrameDecorator) -> None:
        super().__init__(base)
        self.base = base

    def function(self) -> Optional[str]:
        name = self.base.function()
        place = frames.place_of(self.inferior_frame(), is_caller=self.inferior_frame().newer() is not None)
        if isinstance(name, int):  # an address: no symbol there
            name = place.function or hex(name)
        return f"[{place.layer}] {name}" if place.layer in NAMED else name


class LayerFilter:
    """Registered for all programs; does nothing while switched off."""

    name = "cuda-layers"
    priority = 50

    @property
    def enabled(self) -> bool:
        return bool(settings.value("cuda-backtrace"))

    @enabled.setter
    def enabled(self, on: bool) -> None:
        settings.SETTINGS["cuda-backtrace"].value = on

    def filter(self, frames_in: Iterable[FrameDecorator]) -> Iterator[FrameDecorator]:
        return map(LayerFrame, frames_in)


def register() -> None:
    gdb.frame_filters[LayerFilter.name] = LayerFilter()

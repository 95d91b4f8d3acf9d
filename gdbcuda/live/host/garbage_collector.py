"""Where thousands of objects are made that all stay, Python does not look for cycles among them.

It looks after every few hundred new ones, now and then through all that there are: of a million calls that takes longer
than to make them. They have none. (Python manual: gc.)
"""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator


@contextlib.contextmanager
def paused() -> Iterator[None]:
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()

"""cuda-log start --fast has no breakpoint in a library: it learns all the same that one has gone and come again."""

from __future__ import annotations

import platform
import re

import pytest
from scenario import Scenario
from test_fast_log import _new_enough as _new_enough
from test_fast_log import placed as placed
from test_unloading import AS_ALONE, ROUNDS, run
from test_unloading import reloading as reloading

pytestmark = pytest.mark.skipif(platform.machine() != "x86_64", reason="the recorder is made for x86-64")


def test_every_call_of_a_library_that_comes_again(placed: Scenario, reloading) -> None:
    """Where it was before, too."""
    said = run(placed, reloading, "cuda-log start --fast cuMemAlloc", "RUN", "cuda-log summary")
    assert AS_ALONE in said, said
    assert re.search(rf"cuMemAlloc_v2 +hook +{ROUNDS * 5} ", said), said

"""Which version of the API tables fits what is loaded. (The runtime's soname: CUDA Compatibility guide.)"""

from __future__ import annotations

import os
import re
from functools import lru_cache

from gdbcuda import api
from gdbcuda.live import process
from gdbcuda.live.prompt import settings


@process.until_objects_change
def table() -> api.Table:
    """The table for the loaded libcudart and libnvidia-ml, or what ``set cuda-version`` says."""
    chosen = settings.value("cuda-version")
    cuda = None if chosen == "auto" else chosen
    nvml = None
    for name in process.shared_objects():
        found = told_by(name)
        cuda, nvml = cuda or found[0], nvml if found[1] is None else found[1] or None
    return api.load(cuda=cuda, nvml=nvml)


def function(symbol: str) -> api.Function | None:
    """Of the version that fits, else of the newest one that has it: a driver is newer than the runtime, and what has
    been typed before the run is for any."""
    return table().function(symbol) or api.load_all().function(symbol)


@lru_cache(maxsize=1 << 14)
def told_by(file: str) -> tuple[str | None, str | None]:
    """Of CUDA and of NVML; None of a library that tells nothing, and "" for the newest one."""
    name = os.path.basename(file)
    runtime = re.match(r"libcudart\.so\.(\d+)(?:\.(\d+))?", name)
    if runtime:
        return f"{runtime.group(1)}.{runtime.group(2)}" if runtime.group(2) else newest_of(runtime.group(1)), None
    driver = re.match(r"libnvidia-ml\.so\.(\d{3})\.", name)
    return None, ("12.9" if int(driver.group(1)) <= 575 else "") if driver else None


def newest_of(major: str) -> str:
    return next((v for v in reversed(api.CUDA_VERSIONS) if v.split(".")[0] == major), f"{major}.0")

"""Which version of the API tables fits what is loaded. (The runtime's soname: CUDA Compatibility guide.)"""

from __future__ import annotations

import os
import re

from gdbcuda import api
from gdbcuda.live import process
from gdbcuda.live.prompt import settings


@process.until_objects_change
def table() -> api.Table:
    """The table for the loaded libcudart and libnvidia-ml, or what ``set cuda-version`` says."""
    chosen = settings.value("cuda-version")
    cuda = None if chosen == "auto" else chosen
    nvml = None
    for name in map(os.path.basename, process.shared_objects()):
        runtime = re.match(r"libcudart\.so\.(\d+)(?:\.(\d+))?", name)
        if runtime and cuda is None:
            cuda = f"{runtime.group(1)}.{runtime.group(2)}" if runtime.group(2) else newest_of(runtime.group(1))
        driver = re.match(r"libnvidia-ml\.so\.(\d{3})\.", name)
        if driver:  # 575 is CUDA 12.9's driver
            nvml = "12.9" if int(driver.group(1)) <= 575 else None
    return api.load(cuda=cuda, nvml=nvml)


def newest_of(major: str) -> str:
    return next((v for v in reversed(api.CUDA_VERSIONS) if v.split(".")[0] == major), f"{major}.0")

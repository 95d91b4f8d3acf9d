"""Which file is which part of CUDA, by its name alone."""

from __future__ import annotations

import pytest

from gdbcuda.api import vendor


@pytest.mark.parametrize(
    ("name", "api", "layer"),
    [
        ("libcuda.so.1", "driver", "driver"),
        ("/usr/lib/libnvidia-ml.so.580.1", "nvml", "driver"),
        ("libcudart.so.13", "runtime", "runtime"),
        ("libcudart-256e6409.so.12.9.79", "runtime", "runtime"),  # as auditwheel names it
        ("libcuda-0123abcd.so.1", "driver", "driver"),
        ("libcuda-hook.so", "", ""),
        ("libcudart_wrapper.so", "", ""),
        ("libc-2.31.so", "", "system"),
        ("libgcc_s-12-20220421.so.1", "", "system"),
        ("libgcc_s-a04fdf82.so.1", "", "system"),
        ("libcudart-proxy.so", "", ""),
        ("libdl-hook.so", "", ""),
    ],
)
def test_a_file_is_known_by_its_name(name: str, api: str, layer: str) -> None:
    assert (vendor.api_of(name), vendor.layer_of(name)) == (api, layer)

"""What CUDA and NVML are: every function, type and constant, from the vendor's headers, per version."""

from __future__ import annotations

from gdbcuda.api.functions import STREAM_SUFFIXES, Function, Parameter, base_name
from gdbcuda.api.table import ProcVersion, Table
from gdbcuda.api.types import Enum, Field, Type
from gdbcuda.api.versions import load, load_all, stored_versions

__all__ = [
    "CUDA_VERSIONS",
    "NVML_VERSIONS",
    "STREAM_SUFFIXES",
    "Enum",
    "Field",
    "Function",
    "Parameter",
    "ProcVersion",
    "Table",
    "Type",
    "base_name",
    "load",
    "load_all",
]

CUDA_VERSIONS: tuple[str, ...]  # those in the table, oldest first
NVML_VERSIONS: tuple[str, ...]


def __getattr__(name: str) -> tuple[str, ...]:
    # the table is the only list of versions, and is read when somebody asks
    if name in ("CUDA_VERSIONS", "NVML_VERSIONS"):
        return stored_versions(name.partition("_")[0].lower())
    raise AttributeError(name)

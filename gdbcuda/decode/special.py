"""Types that have a way of their own to be shown. A decoder is a function with a decorator, nothing else."""

from __future__ import annotations

from collections.abc import Callable
from fnmatch import fnmatchcase

from gdbcuda import api
from gdbcuda.decode.value_text import Decoded, address, binary

Special = Callable[[bytes, api.Table], Decoded]
_DECODERS: list[tuple[str, Special]] = []


def decoder(*patterns: str) -> Callable[[Special], Special]:
    """The decorated function shows every type whose name (without struct, const) matches one of the globs;
    pointers to such a type are not meant."""

    def register(action: Special) -> Special:
        _DECODERS.extend((pattern, action) for pattern in patterns)
        return action

    return register


def find(kind: api.Type) -> Special | None:
    if kind.name.endswith(("*", "]", ")")):
        return None
    return next((action for pattern, action in _DECODERS if fnmatchcase(kind.name, pattern)), None)


@decoder("CUdeviceptr*")
def device_pointer(raw: bytes, table: api.Table) -> Decoded:
    return address(int.from_bytes(raw, "little"))


@decoder("CUuuid*", "cudaUUID_t")
def uuid(raw: bytes, table: api.Table) -> Decoded:
    """8-4-4-4-12 digits, as nvidia-smi writes it behind "GPU-"."""
    digits = raw.hex()
    text = "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))
    return Decoded(text, text)


@decoder("CUipc*Handle*", "cudaIpc*Handle*", "*FabricHandle*", "*PtrExportData*")
def opaque_bytes(raw: bytes, table: api.Table) -> Decoded:
    return binary(raw)


@decoder("CUstream")
def driver_stream(raw: bytes, table: api.Table) -> Decoded:
    return stream(raw, table, ("CU_STREAM_LEGACY", "CU_STREAM_PER_THREAD"))


@decoder("cudaStream_t")
def runtime_stream(raw: bytes, table: api.Table) -> Decoded:
    return stream(raw, table, ("cudaStreamLegacy", "cudaStreamPerThread"))


def stream(raw: bytes, table: api.Table, names: tuple[str, ...]) -> Decoded:
    """A stream handle; two small numbers are no handles but mean a stream that needs none."""
    value = int.from_bytes(raw, "little")
    name = next((name for name in names if value and table.constant(name) == value), None)
    return Decoded(f"{name} ({value:#x})", name) if name else address(value)

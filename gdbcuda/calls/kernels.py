"""Kernel launches: which kernel, how large. A launch names a handle or a host function; other calls give its name."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from gdbcuda import api
from gdbcuda.calls.record import Call
from gdbcuda.calls.references import Process, References

NAMING = ("module", "library", "kernel")  # roles of the functions that say what a handle is
HOST_FUNCTION = ("func", "hostFun", "symbolPtr", "entryFuncAddr", "unnamed1", "kernel")  # parameters
MANGLED = re.compile(r"_Z[\w.$]+\Z")
WHAT = ("func", "kernel", "f")  # parameters of launches


class Launch(NamedTuple):
    kernel: str
    grid: str
    block: str
    shared: int


class Kernels:
    """Feed it with every call that is over; ``notes`` name the host functions that stand for kernels."""

    def __init__(self, notes: References) -> None:
        self.notes = notes
        self.names: dict[tuple[Process, str], str] = {}  # by handle or address, as in the record

    def learn(self, function: api.Function, call: Call) -> None:
        """From cuModuleGetFunction, __cudaRegisterFunction and their kin."""
        arguments = call.arguments
        name = arguments.get("deviceName") or arguments.get("name")
        host = next((arguments[p] for p in HOST_FUNCTION if isinstance(arguments.get(p), str)), None)
        if "deviceName" in arguments and host and isinstance(name, str):
            self.names[call.process, host] = name
        known = name if isinstance(name, str) else self.known(call.process, host)
        handle = next((behind(call.out[p.name]) for p in function.parameters if p.handle and p.name in call.out), None)
        if known and isinstance(handle, str):
            self.names[call.process, handle] = known

    def launch(self, call: Call) -> Launch | None:
        """None for a launch that is none: cudaLaunchHostFunc, a call configuration, an old style parameter."""
        arguments = call.arguments
        config = behind(arguments.get("config")) or arguments
        grid, block = extent(config, "grid"), extent(config, "block")
        what = next((arguments[p] for p in WHAT if p in arguments), None)
        if not grid or not isinstance(what, str):
            return None
        shared = next((config[n] for n in ("sharedMem", "sharedMemBytes", "dynamicSmemBytes") if n in config), 0)
        return Launch(self.name(call.process, what), grid, block, int(shared or 0))

    def name(self, process: Process, what: str) -> str:
        """As a person writes it, where the log knows; else what was launched."""
        known = self.known(process, what)
        return self.notes.kernels.get(known, known) or what

    def known(self, process: Process, address: str | None) -> str:
        """By what has been registered; else the host function that nvcc makes for a kernel has the kernel's name."""
        registered = self.names.get((process, address or ""))
        if registered:
            return registered
        place = self.notes.place(process, int(address, 16)) if address and address.startswith("0x") else {}
        return str(place.get("function") or "").replace("__device_stub__", "")


def behind(data: Any) -> Any:
    return data.get("value") if isinstance(data, dict) and "address" in data else data


def extent(config: Mapping[str, Any], what: str) -> str:
    """ "64x1x1" of gridDim or of gridDimX, gridDimY, gridDimZ."""
    whole = config.get(f"{what}Dim")
    if isinstance(whole, dict):
        return "x".join(str(whole.get(axis)) for axis in "xyz")
    parts = [config.get(f"{what}Dim{axis}") for axis in "XYZ"]
    return "" if None in parts else "x".join(map(str, parts))


def mangled_names(arguments: dict[str, Any]) -> Iterator[str]:
    """Mangled ones alone: others are readable as they are."""
    for name in (arguments.get("deviceName"), arguments.get("name")):
        if isinstance(name, str) and MANGLED.match(name):
            yield name

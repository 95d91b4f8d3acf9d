"""Values of two runs: what is a pointer, a handle, a time or a pid is compared by what it stands for."""

from __future__ import annotations

import re
from collections.abc import Set
from typing import Any

from gdbcuda import api
from gdbcuda.calls import text
from gdbcuda.log.views.pairs import is_address
from gdbcuda.text.units import human

# Of parameters and fields: what is another in each run, whoever is in between.
OF_THE_MOMENT = re.compile(
    r"(?i)ms$|.*(millisec|time|timestamp|util|temperature|energy|power|clock|fanspeed|throughput|samplevalue)"
)
MEASURES = re.compile(r"nvmlDeviceGet(\w*Utilization|Temperature|Power|TotalEnergy|\w*Clock|FanSpeed|PcieThroughput)")
OPAQUE = re.compile(r"Ipc\w*Handle")  # bytes that mean something to the driver alone
PID = "pid"
LONGEST = 60


class ValueReader:
    """``origins``: by address, the function that has handed it out; of either run one."""

    def __init__(self, table: api.Table, pids: tuple[Set[int], Set[int]]) -> None:
        self.table, self.pids = table, pids
        self.origins: tuple[dict[str, str], dict[str, str]] = {}, {}

    def learn(self, side: int, symbol: str, data: Any) -> None:
        """Of an out-value, anywhere in it."""
        if is_address(data):
            self.origins[side][data] = symbol
        elif isinstance(data, dict):
            for name in data.keys() - {"address"}:
                self.learn(side, symbol, data[name])
        elif isinstance(data, list):
            for one in data:
                self.learn(side, symbol, one)

    def learn_both(self, symbol: str, data: Any) -> None:
        """Of one run, which is compared with itself."""
        self.learn(0, symbol, data)
        self.learn(1, symbol, data)

    def is_steady(self, symbol: str, name: str) -> bool:
        function = self.table.function(symbol)
        parameter = function.parameter(name) if function is not None else None
        is_opaque = parameter is not None and OPAQUE.search(parameter.type.spelling)
        return not (OF_THE_MOMENT.match(name) or MEASURES.match(symbol) or is_opaque)

    def steady(self, data: Any, side: int) -> Any:
        """Without what is of the moment; a process of the run instead of its pid."""
        if isinstance(data, list):
            return [self.steady(one, side) for one in data]
        if not isinstance(data, dict):
            return data
        kept = {name: self.steady(one, side) for name, one in data.items() if not OF_THE_MOMENT.match(name)}
        if PID in kept:
            kept[PID] = "of this run" if kept[PID] in self.pids[side] else "another"
        return kept

    def shown(self, symbol: str, name: str, one: Any, other: Any) -> tuple[str, str]:
        """Both as texts that are the same in each run, and differ."""
        function = self.table.function(symbol)
        parameter = function.parameter(name) if function is not None else None
        if name == "result" and function is not None:
            return self.result(function, one), self.result(function, other)
        found = self.short(one, parameter, 0), self.short(other, parameter, 1)
        if found[0] != found[1]:
            return found
        if is_address(behind(one)):
            return found[0], another(found[1])
        return self.exactly(one, parameter), self.exactly(other, parameter)

    def result(self, function: api.Function, data: Any) -> str:
        if function.result.enum and isinstance(data, int):
            return text.nameless(data, function.result)
        return cut(text.value(data))

    def short(self, data: Any, parameter: api.Parameter | None, side: int) -> str:
        data = behind(data)
        if data is None:
            return "NULL"
        if is_address(data):
            origin = self.origins[side].get(data)
            return f"(what {origin} gave)" if origin else "(an address)"
        if isinstance(data, int) and not isinstance(data, bool) and parameter is not None and parameter.size_bytes:
            return human(data)
        return cut(text.value(data, parameter))

    def exactly(self, data: Any, parameter: api.Parameter | None) -> str:
        return cut(text.value(behind(data), parameter))


def another(shown: str) -> str:
    """Of an address that stands for something else, which is called the same."""
    return shown.replace("(what ", "(what another ", 1).replace("(an address)", "(another address)")


def behind(data: Any) -> Any:
    return data["value"] if isinstance(data, dict) and "address" in data and "value" in data else data


def cut(shown: str) -> str:
    return shown if len(shown) <= LONGEST else shown[: LONGEST - 1] + "…"

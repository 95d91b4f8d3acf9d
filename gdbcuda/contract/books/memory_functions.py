"""Which functions get memory, give it back and say how much there is, in a driver and through a hook library."""

from __future__ import annotations

from functools import cached_property

from gdbcuda import api
from gdbcuda.api.table import Table
from gdbcuda.contract.c_programs.filling import Filled, filled
from gdbcuda.ledger.effects import roles


class MemoryFunctions:
    """By the API's notes. ``hooked`` are the symbols that the hook library has; ``is_by_dlsym``: for those alone that
    ask for them by name."""

    def __init__(self, table: Table, hooked: frozenset[str], is_by_dlsym: bool = False) -> None:
        self.table, self.hooked, self.is_by_dlsym = table, hooked, is_by_dlsym

    @cached_property
    def of_driver(self) -> list[api.Function]:
        return [one for one in self.table.functions.values()
                if one.api == "driver" and not self.table.is_ancient(one.symbol)]  # fmt: skip

    @cached_property
    def allocators(self) -> list[api.Function]:
        """Each way to memory of the device that a program here can go."""
        return [one for one in self.of_driver if roles.takes_device_memory(one) and self.call(one, "block", "size")]

    @cached_property
    def of_host(self) -> list[api.Function]:
        """Ways to memory of the host that a driver knows of."""
        return [one for one in self.of_driver if roles.kind_of(one) == "host" and one.role == roles.ALLOC
                and self.releases(one) and self.call(one, "block", "size")]  # fmt: skip

    @cached_property
    def of_graphs(self) -> list[api.Function]:
        """What adds a node that allocates, and takes its parameters and no others."""
        return [one for one in self.of_driver if one.base.endswith(roles.GRAPH_ALLOC)]

    @cached_property
    def not_tried(self) -> list[api.Function]:
        tried = [*self.allocators, *self.of_graphs]
        return [one for one in self.of_driver if roles.takes_device_memory(one) and one not in tried]

    @cached_property
    def giving_back(self) -> list[api.Function]:
        return [one for one in self.of_driver if one.role == roles.FREE and self.call(one, "block", "size")]

    def releases(self, allocator: api.Function) -> list[api.Function]:
        return [one for one in self.giving_back if one.base in allocator.released_by]

    @cached_property
    def in_runs(self) -> list[api.Function]:
        """Of the allocators with a release those that the hook library has; one where it has none."""
        known = [one for one in self.allocators if self.releases(one)]
        return [one for one in known if one.symbol in self.hooked] or known[:1]

    @cached_property
    def numbers(self) -> list[api.Function]:
        """What tells how much memory there is, in the versions that the hook library defines; all where it has none."""
        known = [one for one in self.table.functions.values()
                 if one.api in ("driver", "nvml") and (found := roles.role(one)) and found.what == roles.INFO
                 and not self.table.is_ancient(one.symbol)]  # fmt: skip
        return [one for one in known if one.symbol in self.hooked] or known

    def call(self, function: api.Function, block: str, size: str) -> Filled | None:
        return filled(self.table, function, block, size)

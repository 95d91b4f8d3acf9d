"""What an export of nsys tells of memory, where ``--cuda-memory-usage=true`` was given: which block a call has handed
out or taken back, and its bytes. (Nsight Systems User Guide: "SQLite Schema Reference".)
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gdbcuda import api
from gdbcuda.calls.record import Call
from gdbcuda.ledger.effects import extents, roles

TABLE = "CUDA_GPU_MEMORY_USAGE_EVENTS"
WITHOUT = "an allocation without its size, which nsys has with --cuda-memory-usage=true"
VARIABLES = (5, 6)  # of modules: its table ENUM_CUDA_MEM_KIND
OPERATIONS = {0: roles.ALLOC, 1: roles.FREE}  # of its table ENUM_CUDA_DEV_MEM_EVENT_OPER


def tell(function: api.Function | None, call: Call, row: Mapping[str, Any]) -> bool:
    """Gives the call's arguments what is known of them. False where the call does no such thing."""
    role = role_of(function)
    address, size = row.get("address"), row.get("bytes")
    is_sound = all(type(one) is int and 0 <= one < 1 << 63 for one in (address, size))
    if role is None or not is_sound or OPERATIONS.get(row.get("memoryOperationType", -1)) != role.what:
        return False
    if role.what == roles.FREE:
        call.arguments = {**call.arguments, role.block: hex(address or 0)}
    else:
        where = {"device": row["deviceId"]} if type(row.get("deviceId")) is int else {}
        call.arguments = {**call.arguments, size_name(role.function): size, **where}
        call.out = {role.block: hex(address or 0)}
    return True


def is_allocation(function: api.Function | None) -> bool:
    role = role_of(function)
    return role is not None and role.what == roles.ALLOC


def role_of(function: api.Function | None) -> roles.Role | None:
    return roles.role(function) if function is not None else None


def size_name(function: api.Function) -> str:
    """Of an array the call has no size, and the width of a pitched block is not all of it."""
    is_pitched = any("pitch" in one.name.lower() for one in function.parameters)
    return (not is_pitched and extents.size_parameter(function)) or extents.BYTES

"""A jump of ours at a function's entry, among whose bytes somebody has put an int3, as the kernel does for a uprobe.

The kernel executes the instruction that the file has there, and goes on behind it: in the middle of our jump. And
where the int3 is behind the jump's first byte, the jump leads somewhere else. (Linux: kernel/events/uprobes.c.)
"""

from __future__ import annotations

INT3 = 0xCC


def is_int3_in_jump(there: bytes, jump: bytes, own: bytes) -> bool:
    """Or was: the kernel takes a probe away by putting the file's byte back. Something of the jump is still there."""
    bytes_of_each = list(zip(there, jump, own))
    changed = [(now, before) for now, ours, before in bytes_of_each if now != ours]
    is_left = any(now == ours not in (before, INT3) for now, ours, before in bytes_of_each)
    return bool(changed) and is_left and all(now in (INT3, before) for now, before in changed)


def without_jump(there: bytes, jump: bytes, own: bytes) -> bytes:
    """The function's own bytes, with the int3 that is not ours where it is."""
    return bytes(INT3 if now == INT3 != ours else before for now, ours, before in zip(there, jump, own))


def is_one_int3(there: bytes, own: bytes) -> bool:
    """Nothing else is changed: the function goes on as ever, whoever has put it there. (A guard has several, while its
    process is stopped: its jump is to come.)"""
    return [now for now, before in zip(there, own) if now != before] == [INT3]

"""Whether gdb stops all threads to look at one. (gdb manual: "Maintenance Commands", target-non-stop.)"""

from __future__ import annotations

from gdbcuda.live import gdb_cli, inferiors, target

NON_STOP = "maintenance show target-non-stop"
IS_NON_STOP: inferiors.PerInferior[list[bool]] = inferiors.PerInferior(list)  # it cannot be changed while one runs


def stands_still() -> bool:
    """All of the process does whenever gdb looks; else the other threads run on."""
    if target.raw_memory() is None:
        return True
    known = IS_NON_STOP()
    if not known and gdb_cli.is_possible():
        known.append("is off" not in gdb_cli.execute(NON_STOP))
    return known == [False]

"""A gdbserver that changes the program at each stop: said once, where it may be one.

(gdb manual: "Remote Configuration"; "Architectures In Python".)
"""

from __future__ import annotations

from contextlib import suppress

import gdb

from gdbcuda.live import process
from gdbcuda.live.host import console, gdb_cli
from gdbcuda.live.host.inferiors import PerInferior
from gdbcuda.live.process import environment_variables, packets, proc_files, thread_status
from gdbcuda.remote import vector_registers

CPUINFO = "/proc/cpuinfo"


class Looked:
    """At the selected process."""

    def __init__(self) -> None:
        self.is_done = False


SEEN: PerInferior[Looked] = PerInferior(Looked)
_told: set[str] = set()  # once a session is enough


def on_stop(event: object) -> None:
    if not SEEN().is_done and process.is_alive() and not _told:
        SEEN().is_done = True
        if process.is_remote() and has_avx512():
            look() if packets.CAN_SEND else gdb_cli.when_possible(look)


def look() -> None:
    """(The process may have gone on, or be gone, where gdb had to come to a prompt first.)"""
    with suppress(gdb.error):
        if process.is_alive() and process.is_remote() and are_zeroed():
            _told.add(vector_registers.ADVICE)
            console.write(vector_registers.ADVICE)


def are_zeroed() -> bool:
    return (
        not is_newer()
        and vector_registers.are_lost_on(cpuinfo())
        and not vector_registers.are_left_alone(environment_variables.initial(vector_registers.TUNABLES) or "")
    )


def has_avx512() -> bool:
    """As the far end describes its registers to gdb."""
    with suppress(gdb.error, AttributeError):
        return gdb.newest_frame().architecture().registers().find("zmm16") is not None
    return False


def is_newer() -> bool:
    """It has what gdbserver learned after 14. (gdb manual: "Host I/O Packets".)"""
    return packets.CAN_SEND and packets.send(f"vFile:stat:{b'/'.hex()}").startswith(b"F")


def cpuinfo() -> str:
    """The first processor's part, which is all that is read in packets."""
    if packets.CAN_SEND:
        return thread_status.by_packets(CPUINFO)
    return proc_files.text(CPUINFO) or ""

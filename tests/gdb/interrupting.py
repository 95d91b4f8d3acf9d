"""Loaded into gdb: interrupts the program when its first thread waits in futex, as Ctrl-C does."""

from __future__ import annotations

import os
import signal
import threading
import time

FUTEX = "202"


def when_it_sleeps(pid: int) -> None:
    threading.Thread(target=wait_and_interrupt, args=(pid,), daemon=True).start()


def wait_and_interrupt(pid: int) -> None:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        try:
            with open(f"/proc/{pid}/syscall") as file:
                if file.read().split()[0] == FUTEX and is_asleep(pid):
                    break
        except (OSError, IndexError):
            return
        time.sleep(0.05)
    os.kill(pid, signal.SIGINT)


def is_asleep(pid: int) -> bool:
    with open(f"/proc/{pid}/stat") as file:
        return file.read().rpartition(")")[2].split()[0] == "S"

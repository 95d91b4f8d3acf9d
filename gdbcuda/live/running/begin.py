"""What ``gdbcuda run`` has gdb do first. A mistake in it starts nothing."""

from __future__ import annotations

from collections.abc import Sequence

import gdb

from gdbcuda.errors import UserError
from gdbcuda.live.host import gdb_cli
from gdbcuda.live.prompt import safely
from gdbcuda.live.running import to_the_end, together

MISTAKE = 2


def begin(commands: Sequence[str], is_batch: bool) -> None:
    """``commands``: typed in front of ``run``."""
    try:
        together.begin()
        for line in commands:
            gdb_cli.execute_aloud(line)
    except (UserError, gdb.error, gdb.GdbError) as problem:
        gdb.write(f"gdbcuda: {safely.line(problem)}\n", gdb.STDERR)
        if is_batch:
            gdb_cli.execute_aloud(f"quit {MISTAKE}")
        return
    together.watch()
    if is_batch:
        to_the_end.play()
    else:
        together.execute("run")

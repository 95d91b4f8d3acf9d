"""What a program has not given back when it ends, in one line."""

from __future__ import annotations

from gdbcuda.ledger import Ledger, views
from gdbcuda.live.host import console, inferiors
from gdbcuda.text import render


def tell(ledger: Ledger | None, number: int) -> None:
    """``number``: of the inferior."""
    left = views.leaked(ledger) if ledger is not None else []
    if left:
        which = f" of inferior {number}" if inferiors.are_several() else ""
        totals = views.total(left)
        console.write(render.fold_to_screen(f"cuda-memory: not freed at exit{which}: {totals} (cuda-memory leaks)\n"))

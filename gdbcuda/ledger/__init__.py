"""The ledger: every block of memory that the API handed out, from the recorded calls alone."""

from __future__ import annotations

from gdbcuda.ledger.book import Ledger
from gdbcuda.ledger.effects.roles import matters
from gdbcuda.ledger.processes import Ledgers
from gdbcuda.ledger.unseen import left_out, releases_of

__all__ = ["Ledger", "Ledgers", "left_out", "matters", "releases_of"]

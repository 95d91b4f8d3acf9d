"""The ledger: every block of memory that the API handed out, from the recorded calls alone."""

from __future__ import annotations

from gdbcuda.ledger.book import Ledger
from gdbcuda.ledger.processes import Ledgers
from gdbcuda.ledger.roles import matters

__all__ = ["Ledger", "Ledgers", "matters"]

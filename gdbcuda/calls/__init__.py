"""Recorded calls: the record, its line in a log, what its numbers refer to, files written and read.

The log and the ledger stand on it."""

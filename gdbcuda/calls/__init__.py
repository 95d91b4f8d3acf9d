"""Recorded calls: the record, what its numbers refer to, files of them. The log and the ledger stand on it."""

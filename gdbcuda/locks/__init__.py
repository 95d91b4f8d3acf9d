"""Locks that threads wait for: the system calls, what glibc keeps in a lock, who has a file locked."""

"""The check: what readelf, nm and an hour of doubt tell about a hook library.

``file.check(path)`` gives a Report: findings, a verdict in one line, an exit status.
"""

"""Runs in gdb: writes where breakpoints have been, each address once. Those that gdb makes for itself, as for a step,
are not among them: its Python does not hear of these."""

import gdb


def write_places(path):
    """(The driver has the same namespace.)"""
    seen, file = set(), open(path, "a", buffering=1)  # noqa: SIM115 (until gdb ends)

    def note_places(breakpoint):
        for one in getattr(breakpoint, "locations", ()):  # from gdb 13 on
            if one.address not in seen:
                seen.add(one.address)
                file.write(f"{one.address:#x}\n")

    gdb.events.breakpoint_created.connect(note_places)
    gdb.events.breakpoint_modified.connect(note_places)


write_places(TORTURE_PLACES)  # noqa: F821 (set by the command line)

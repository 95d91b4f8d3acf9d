"""What a program inherits that we become, or that we start by fork: nothing that Python has set up for itself."""

from __future__ import annotations

import signal

OF_PYTHON = (signal.SIGPIPE, signal.SIGXFSZ)  # it ignores them, and a program that is executed goes on to


def signals_of_a_shell() -> None:
    """In front of exec. (`subprocess` does the same by itself: restore_signals.)"""
    for one in OF_PYTHON:
        signal.signal(one, signal.SIG_DFL)

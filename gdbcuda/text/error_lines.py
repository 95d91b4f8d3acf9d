"""What went wrong, in one line: a mistake of the user's, something that this machine lacks, or a fault of ours."""

from __future__ import annotations

import errno
import os
import sys
import traceback

from gdbcuda.errors import Unreadable, UserError
from gdbcuda.text.printable import visible

FOLDER_GONE = "the current folder is not there any more: cd to one that is"
HOME = "PYTHONHOME"
OTHER_HOME = (
    "PYTHONHOME={} is of another Python than gdbcuda's. For the program alone: "
    "env -u PYTHONHOME gdbcuda run -- env PYTHONHOME=... PROGRAM"
)
LONGEST = 200  # characters of an exception's own words
HERE = os.path.dirname(os.path.dirname(__file__))


def line(problem: BaseException, how: str, help_command: str) -> str:
    """``how`` the traceback of a fault of ours is to be had; ``help_command`` shows a page of the manual here."""
    if isinstance(problem, UserError):
        return visible(str(problem)) + (f" ({help_command} {problem.page})" if problem.page else "")
    if isinstance(problem, Unreadable):
        return visible(str(problem))
    if isinstance(problem, KeyboardInterrupt):
        return "interrupted"
    if isinstance(problem, MemoryError):
        return "there is not enough memory for this"
    if is_of_another_python(problem):
        return OTHER_HOME.format(os.environ[HOME])
    if isinstance(problem, OSError) and problem.strerror:
        return of_the_system(problem)
    return f"this is a fault of gdbcuda ({what(problem)}, {place(problem)}); {how}"


def is_of_another_python(problem: BaseException) -> bool:
    """Of the same version, else it would not have begun at all."""
    of_python = getattr(sys, "stdlib_module_names", sys.builtin_module_names)  # 3.10 has the former
    return isinstance(problem, ModuleNotFoundError) and HOME in os.environ and problem.name in of_python


def of_the_system(problem: OSError) -> str:
    """A file that has vanished, a disk that is full."""
    if problem.errno == errno.ENOENT and problem.filename is None and not has_folder():
        return FOLDER_GONE  # os.getcwd() names no file
    name = problem.filename
    named = f"{visible(os.fsdecode(name))}: " if isinstance(name, (str, bytes)) else ""
    return f"{named}{str(problem.strerror).lower()}"


def has_folder() -> bool:
    """False once the current folder was deleted."""
    try:
        return bool(os.getcwd())
    except OSError:
        return False


def what(problem: BaseException) -> str:
    said = visible(" ".join(str(problem).split()))
    shortened = said if len(said) <= LONGEST else said[:LONGEST] + "\u2026"
    return f"{type(problem).__name__}: {shortened}" if said else type(problem).__name__


def place(problem: BaseException) -> str:
    """ "live/stopping/stops.py:88", the innermost line of ours."""
    ours = [(frame.f_code.co_filename, number) for frame, number in traceback.walk_tb(problem.__traceback__)
            if frame.f_code.co_filename.startswith(HERE)]  # fmt: skip
    return f"{ours[-1][0][len(HERE) + 1 :]}:{ours[-1][1]}" if ours else "outside of it"


def history(problem: BaseException) -> str:
    """The traceback, as Python prints it."""
    return "".join(traceback.format_exception(type(problem), problem, problem.__traceback__))

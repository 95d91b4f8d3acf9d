"""Files of the user that we change: read as they are, written whole or not at all."""

from __future__ import annotations

import os
import tempfile

from gdbcuda.errors import UserError


def read(path: str) -> str:
    """The text with its line ends as they are; "" where there is no file."""
    try:
        with open(path, encoding="utf-8", newline="") as file:
            return file.read()
    except FileNotFoundError:
        return ""
    except OSError as problem:
        raise UserError(f"cannot read {path}: {problem.strerror}") from None
    except UnicodeDecodeError:
        raise UserError(f"{path} is not UTF-8 text") from None


def write(path: str, text: str) -> None:
    """Through a second file in the same directory that takes the place of the first; links and modes stay."""
    path = os.path.realpath(path)
    temporary = ""
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=os.path.dirname(path), prefix=os.path.basename(path))
        with open(handle, "w", encoding="utf-8", newline="") as file:
            file.write(text)
        os.chmod(temporary, mode_of(path))
        os.replace(temporary, path)
    except OSError as problem:
        if temporary and os.path.exists(temporary):
            os.unlink(temporary)
        raise UserError(f"cannot write {path}: {problem.strerror}") from None


def mode_of(path: str) -> int:
    """Of the file that is there; of a new one as the umask wants it."""
    try:
        return os.stat(path).st_mode & 0o7777
    except FileNotFoundError:
        mask = os.umask(0)
        os.umask(mask)
        return 0o666 & ~mask

"""The two kinds of failure that are not bugs of ours."""


class UserError(Exception):
    """A mistake of the user, or of the file or process they named: shown as one line, never a traceback.

    ``page``: the topic of the manual that explains it, where a line is not enough."""

    def __init__(self, text: str = "", page: str = "") -> None:
        super().__init__(text)
        self.page = page


def cannot(what: str, problem: OSError) -> UserError:
    """ "cannot read calls.jsonl: no such file or directory": what the system says of a file, the same of all files."""
    return UserError(f"cannot {what}: {(problem.strerror or str(problem)).lower()}")


class Unreadable(Exception):
    """Memory of the program that cannot be read. ``address`` is the first byte asked for."""

    def __init__(self, address: int, size: int = 0) -> None:
        super().__init__(f"cannot read {size} bytes at {address:#x}")
        self.address = address
        self.size = size


class NotRecorded(Unreadable):
    """A recording does not have it: whether the program could read it is not known."""

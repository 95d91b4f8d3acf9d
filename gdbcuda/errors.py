"""The two kinds of failure that are not bugs of ours."""


class UserError(Exception):
    """A mistake of the user, or of the file or process they named: shown as one line, never a traceback."""


class Unreadable(Exception):
    """Memory of the program that cannot be read. ``address`` is the first byte asked for."""

    def __init__(self, address: int, size: int = 0) -> None:
        super().__init__(f"cannot read {size} bytes at {address:#x}")
        self.address = address
        self.size = size

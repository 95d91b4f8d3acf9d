"""A condition for one function: every operand has a type, every conversion is a node, names are resolved.

This is the tree that back ends walk. Each node has a ``kind``: signed or unsigned 64-bit, or double; truth
values are the signed numbers 0 and 1. What a back end has no translation for it refuses by the node's class.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Union

from gdbcuda.condition.arithmetic import SIGNED, UNSIGNED, Number
from gdbcuda.data_classes import dataclass


@dataclass(frozen=True)
class Constant:
    value: Number
    kind: str


@dataclass(frozen=True)
class Argument:
    """A parameter of ``size`` bytes, signed or not (or a float), already widened to ``kind``; with an ``offset``
    the bytes there of a struct that is passed by value."""

    name: str
    index: int
    size: int
    is_signed: bool
    kind: str
    offset: int = 0


@dataclass(frozen=True)
class Convert:
    operand: Typed
    kind: str


@dataclass(frozen=True)
class Unary:
    """``-`` or ``~`` on an operand of the same kind."""

    op: str
    operand: Typed
    kind: str


@dataclass(frozen=True)
class Arithmetic:
    """Both operands are of ``kind``; only a shift count may be an integer of the other kind."""

    op: str
    left: Typed
    right: Typed
    kind: str


@dataclass(frozen=True)
class Compare:
    """Both operands are of the same kind."""

    op: str
    left: Typed
    right: Typed
    kind: str = SIGNED


@dataclass(frozen=True)
class Logic:
    """``&&`` or ``||``; an operand is true when it is not zero, as everywhere in C."""

    op: str
    left: Typed
    right: Typed
    kind: str = SIGNED


@dataclass(frozen=True)
class Not:
    operand: Typed
    kind: str = SIGNED


@dataclass(frozen=True)
class Matches:
    """The string that a ``const char *`` parameter points to is ``text``, or begins with it (``prefix``)."""

    name: str
    index: int
    text: bytes
    prefix: bool
    kind: str = SIGNED


@dataclass(frozen=True)
class Pointee:
    """``size`` bytes (an integer, signed or not, or a float) at ``offset`` of what a parameter points to.

    Whoever puts one into a tree has the pointer tested for NULL before."""

    pointer: Argument
    offset: int
    size: int
    is_signed: bool
    kind: str


@dataclass(frozen=True)
class CallerIn:
    """The call comes from one of these layers, objects or functions."""

    words: tuple[str, ...]
    kind: str = SIGNED


@dataclass(frozen=True)
class Thread:
    """The thread that calls has this number in gdb."""

    number: int
    kind: str = SIGNED


@dataclass(frozen=True)
class Ordinal:
    """The how-manieth call this is of those that the rest of the condition lets through; only inside a `Count`."""

    kind: str = UNSIGNED


@dataclass(frozen=True)
class Count:
    """Counts the call, then asks ``test`` about its `Ordinal`. At most one in a tree, and evaluated last.

    ``text``: the terms as they are shown, "nth == 3"."""

    test: Typed
    text: str
    kind: str = SIGNED


Typed = Union[
    Constant, Argument, Convert, Unary, Arithmetic, Compare, Logic, Not, Matches, Pointee, CallerIn, Thread, Ordinal,
    Count,
]  # fmt: skip


def nodes(tree: Typed) -> Iterator[Typed]:
    """The tree's nodes, the root first."""
    yield tree
    if isinstance(tree, (Convert, Unary, Not)):
        yield from nodes(tree.operand)
    elif isinstance(tree, (Arithmetic, Compare, Logic)):
        yield from nodes(tree.left)
        yield from nodes(tree.right)
    elif isinstance(tree, Pointee):
        yield tree.pointer
    elif isinstance(tree, Count):
        yield from nodes(tree.test)


def arguments(tree: Typed) -> dict[str, int]:
    """The parameters that occur in the tree, with their positions."""
    return {leaf.name: leaf.index for leaf in nodes(tree) if isinstance(leaf, (Argument, Matches))}


def split(tree: Typed) -> tuple[Typed | None, Count | None]:
    """What decides whether a call is counted (None: nothing, every call is), and what then asks for its number."""
    if isinstance(tree, Count):
        return None, tree
    if isinstance(tree, Logic) and isinstance(tree.right, Count):
        return tree.left, tree.right
    return tree, None

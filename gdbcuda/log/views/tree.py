"""Calls below the call that made them: what one call of the program became in runtime, hook and driver."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator

from gdbcuda.calls.reader import BEGIN, END, Event
from gdbcuda.calls.record import Call
from gdbcuda.calls.text import CallWriter
from gdbcuda.data_classes import dataclass, field


@dataclass
class CallNode:
    call: Call
    children: list[CallNode] = field(default_factory=list)

    def walk(self) -> Iterator[CallNode]:
        """The node and all below it, in the order of the calls. (No recursion: hooks recurse by mistake.)"""
        stack = [self]
        while stack:
            node = stack.pop()
            yield node
            stack.extend(reversed(node.children))


def roots(calls: Iterable[Call]) -> list[CallNode]:
    """The outermost calls, in order, with everything below them."""
    nodes = {call.number: CallNode(call) for call in sorted(calls, key=lambda call: call.number)}
    found: list[CallNode] = []
    for node in nodes.values():
        parent = nodes.get(node.call.parent) if node.call.parent is not None else None
        (parent.children if parent is not None else found).append(node)
    return found


def stream(events: Iterable[Event]) -> Iterator[CallNode]:
    """Each outermost call of a file once it is over; only what is open is held."""
    open_nodes: dict[int, CallNode] = {}
    for phase, call in events:
        if phase == BEGIN:
            node = open_nodes[call.number] = CallNode(call)
            parent = open_nodes.get(call.parent) if call.parent is not None else None
            if parent is not None:
                parent.children.append(node)
        else:
            node = open_nodes.pop(call.number)
            if call.parent is None or call.parent not in open_nodes:
                yield node


def some(events: Iterable[Event], takes: Callable[[Call], bool]) -> Iterator[Event]:
    """The events of some calls, which are chosen when they are over. An inner one stays inside the next outer one that
    is taken; for that it is a copy."""
    for root in stream(events):
        taken: list[Call] = []
        outer: dict[int, int | None] = {}  # the call itself if it is taken, else its next outer one that is
        for node in root.walk():
            above = outer.get(node.call.parent) if node.call.parent is not None else None
            outer[node.call.number] = above
            if takes(node.call):
                outer[node.call.number] = node.call.number
                taken.append(copy.copy(node.call))
                taken[-1].parent = above
        yield from ((BEGIN, call) for call in taken)
        yield from ((END, call) for call in reversed(taken))


def levels(root: CallNode) -> Iterator[tuple[int, CallNode]]:
    """The node and all below it, each with how far below."""
    depth = {root.call.number: 0}
    for node in root.walk():
        level = depth[node.call.number]
        depth.update((child.call.number, level + 1) for child in node.children)
        yield level, node


def text(root: CallNode, writer: CallWriter) -> str:
    return "\n".join(writer.line(node.call, "  " * level) for level, node in levels(root))

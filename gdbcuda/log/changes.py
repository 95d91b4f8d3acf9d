"""What the hook library changed, from the tree of calls: its own entry against what it asked of the next layer."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from gdbcuda.log.record import Call
from gdbcuda.log.text import Writer, parameters, value
from gdbcuda.log.tree import Node

HOOK = "hook"
RESOLVING = "proc-address"  # its answers differ because hooking is its job


def hook_calls(roots: Iterable[Node]) -> Iterator[Node]:
    """Calls that entered the hook from outside of it."""
    for root in roots:
        inside = {root.call.number: False}
        for node in root.walk():
            here = node.call.layer == HOOK
            if here and not inside[node.call.number]:
                yield node
            inside.update((child.call.number, here) for child in node.children)


def next_calls(node: Node) -> list[Node]:
    """What the hook asked of the layers behind it, through whatever calls of its own."""
    found, stack = [], list(reversed(node.children))
    while stack:
        child = stack.pop()
        if child.call.layer == HOOK:
            stack.extend(reversed(child.children))
        else:
            found.append(child)
    return found


def differences(node: Node, writer: Writer) -> list[str]:
    """What the hook did other than pass the call on; [] if that was all."""
    call, behind = node.call, [child.call for child in next_calls(node)]
    same = [one for one in behind if one.base == call.base]  # a hook may make such calls of its own, too
    forwarded = min(same, key=lambda one: len(list(changed(call, one, writer)))) if same else None
    found = [] if forwarded is None else list(changed(call, forwarded, writer))
    if forwarded is None:
        found.append("never forwarded")
    extra = [one for one in behind if one is not forwarded]
    return found + [f"extra call: {one.layer} {writer.call(one)}" for one in extra]


def changed(call: Call, forwarded: Call, writer: Writer) -> Iterator[str]:
    known = parameters(writer.table, call.name)
    for name, (asked, passed) in both(call.arguments, forwarded.arguments).items():
        if content(passed) != content(asked):
            yield f"argument {name}: {value(asked, known.get(name))}, passed on as {value(passed, known.get(name))}"
    for name, (told, got) in both(call.out, forwarded.out).items():
        seen, shown = content(got), content(told)
        if seen != shown:
            yield f"out {name}: got {value(seen, known.get(name))}, told {value(shown, known.get(name))}"
    if not call.ended and not forwarded.ended and call.result != forwarded.result:
        yield f"result: {value(forwarded.result)} became {value(call.result)}"


def both(ours: dict[str, Any], theirs: dict[str, Any]) -> dict[str, tuple[Any, Any]]:
    return {name: (ours[name], theirs[name]) for name in ours if name in theirs}


def content(data: Any) -> Any:
    """What a pointer points to: where that is, is the hook's own affair."""
    return data.get("value") if isinstance(data, dict) and "address" in data else data


def report(roots: Iterable[Node], writer: Writer, takes: Callable[[Call], bool] = lambda call: True) -> str:
    """Of the hook's calls that somebody wants to see."""
    lines, total, touched, answers = [], 0, 0, 0
    for node in hook_calls(roots):
        if not takes(node.call):
            continue
        function = writer.table.function(node.call.name)
        if function is not None and function.role == RESOLVING:
            answers += 1
            continue
        found = differences(node, writer)
        total += 1
        if found:
            touched += 1
            lines += [writer.line(node.call), *(f"         {one}" for one in found)]
    if not total + answers:
        return "No such call of a hook library is recorded."
    lines.append(f"{touched} of {total} calls of the hook library did more than pass the call on.")
    if answers:
        lines.append(f"{answers} requests for function addresses are left out; cuda-dlsym log is about those.")
    return "\n".join(lines)
